"""A phase within an operation: on one node alone, under the lock that is held, and its failure ends the step."""

from types import SimpleNamespace

import pytest

from avadm.cluster.connection import Cluster
from avadm.errors import AvadmError
from avadm.operations import phase as module
from avadm.remote.events import Event, Kind
from avadm.site import profile as profiles
from avadm.site.load import SiteFile
from avadm.state.site_state import SiteState
from tests.unit.fakes import sites


@pytest.fixture
def cluster(tmp_path):
    nodes = [sites.node("a", 1, "mon", "mgr", "osd"), sites.node("b", 2, "mon", "osd")]
    site_file = SiteFile(tmp_path / "site.yml", sites.site(*nodes), profiles.load("lab-bookworm"))
    replica = SimpleNamespace(snapshots=object())
    return Cluster(site_file, None, SiteState.of(site_file.path, "demo"), replica)


def run(cluster, monkeypatch, result):
    ran, lines = [], []

    def execute(session, steps, verb, request, notes, show):
        with show(session.site_file.site, steps) as shown:
            shown(Event(0.0, "ceph", Kind.FAILED, host="a", message="no such device"))
        ran.append((session, steps, request))
        return {"result": result, "log": "/runs/x/log"}

    monkeypatch.setattr(module, "execute", execute)
    module.run_phase(cluster, cluster.site_file, "ceph", "a", {"x": 1}, lines.append, "avadm disk replace")
    return ran, lines


def test_it_runs_on_the_node_alone_with_its_own_variables(cluster, monkeypatch):
    [(session, steps, request)], lines = run(cluster, monkeypatch, "good")
    assert [(s.name, tuple(s.hosts)) for s in steps] == [("ceph", ("a",))]
    assert request.own == {"a": {"x": 1}}
    assert request.command == "avadm disk replace"
    assert session.replica is cluster.replica
    assert session.records.state is cluster.state
    assert lines == ["    ceph: a: no such device"]


@pytest.mark.parametrize(("result", "raised"), [("failed", AvadmError), ("canceled", KeyboardInterrupt)])
def test_a_phase_that_does_not_end_well_ends_the_step(cluster, monkeypatch, result, raised):
    with pytest.raises(raised) as error:
        run(cluster, monkeypatch, result)
    if raised is AvadmError:
        assert (error.value.findings[0].check, error.value.exit_code) == ("phase-failed", 1)


def test_without_the_sites_lock_nothing_runs(cluster, monkeypatch):
    bare = Cluster(cluster.site_file, None, cluster.state)
    with pytest.raises(RuntimeError):
        run(bare, monkeypatch, "good")
