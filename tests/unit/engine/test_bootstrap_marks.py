"""What was bootstrapped once goes into the state while the phase still runs, and to the roles as a variable."""

import json
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner

from avadm.cli.main import cli
from avadm.errors import AvadmError
from avadm.inventory.render import render_inventory
from avadm.remote.events import Event, Kind
from avadm.remote.managed_resources import manages
from avadm.site.load import load
from avadm.state import bootstrap_marks
from avadm.state.site_state import PhaseState, SiteState
from tests.unit.engine.conftest import Bench, step
from tests.unit.fakes.cli import SITE
from tests.unit.fakes.errors import refused


@pytest.fixture
def site_state(tmp_path: Path) -> SiteState:
    return SiteState(tmp_path / "ledger.json", "t")


@pytest.fixture
def site_file(tmp_path):
    (tmp_path / "site.yml").write_text(SITE)
    return load(tmp_path / "site.yml")


def installed(site_state, phase, done, *others):
    """Have an installation without marks: a phase that ended well on one node, and was begun on others."""
    site_state.start(phase, dict.fromkeys((done, *others), "d"), "r")
    site_state.finish(phase, {done: PhaseState.DONE})


def test_a_result_that_tells_of_a_mark_is_an_item() -> None:
    res = {"invocation": {"module_args": {"data": "/d"}}, "bootstrapped": {"name": "mon", "identity": "F 1"}}
    assert list(manages("avadm_bootstrap_mark", "r : t", res)) == ["file /d", "founded mon F 1"]


@pytest.mark.parametrize("check", [False, True])
def test_a_mark_is_in_the_state_before_its_phase_has_ended(bench: Bench, check: bool) -> None:
    seen: list[dict[str, str]] = []
    run = bench.runner.run

    def tells(request, on_event, canceled):  # type: ignore[no-untyped-def]
        on_event(Event(0, request.phase, Kind.OK, host="a", manages=("file /x", "founded etcd c1")))
        seen.append(SiteState(bench.site_state.path, "t").bootstrapped("etcd"))
        return run(request, on_event, canceled)

    bench.runner.run = tells  # type: ignore[method-assign]
    bench.runner.script = {"etcd": {"a": "failed"}}
    bench.run([step("etcd", "a")], check=check)
    assert seen == [{} if check else {"a": "c1"}]


def test_marks_survive_the_file_its_copy_and_a_state_without_them(
    site_state: SiteState, tmp_path: Path
) -> None:
    site_state.found("mon", "stor1", "F")
    serial = site_state.serial
    site_state.found("mon", "stor1", "F")
    assert site_state.serial == serial
    other = SiteState(tmp_path / "other.json", "t")
    other.replace(json.loads(site_state.path.read_text()))
    assert SiteState(other.path, "t").bootstrapped("mon") == {"stor1": "F"}
    old = {k: v for k, v in site_state.as_dict().items() if k != "founded"}
    other.replace(old)
    assert other.bootstrapped("mon") == {}


def test_the_roles_are_reported_and_digests_are_not(tmp_path, site_state, site_file):
    site_state.found("mon", "stor1", "F")
    own = bootstrap_marks.replacing(site_file.site, ("ceph",), "stor2")
    known = bootstrap_marks.variables(site_state, site_file.site)
    rendered = render_inventory(site_file, tmp_path / "inventory", known, own)
    all_vars = yaml.safe_load((rendered.folder / "group_vars/all.yml").read_text())
    assert all_vars["ceph_mon_bootstrapped"] == {"stor1": "F"}
    assert yaml.safe_load((rendered.folder / "host_vars/stor2.yml").read_text())["ceph_mon_replace"] is True
    assert "ceph_mon_replace" not in (rendered.folder / "host_vars/stor1.yml").read_text()


def test_a_member_that_was_installed_without_marks_was_bootstrapped(site_state, site_file):
    installed(site_state, "etcd", "stor1", "stor2")
    assert bootstrap_marks.variables(site_state, site_file.site) == {
        "etcd_bootstrapped": {"stor1": bootstrap_marks.LEGACY}
    }
    site_state.found("etcd", "stor2", "c1")
    assert bootstrap_marks.variables(site_state, site_file.site) == {"etcd_bootstrapped": {"stor2": "c1"}}


@pytest.mark.parametrize(("node", "known"), [("stor1", True), ("c1", False)])
def test_monitors_that_were_installed_without_marks_were_bootstrapped_by_someone(
    site_state, site_file, node, known
):
    installed(site_state, "ceph", node)
    marks = {"ceph_mon_bootstrapped": {bootstrap_marks.EARLIER: bootstrap_marks.LEGACY}} if known else {}
    assert bootstrap_marks.variables(site_state, site_file.site) == marks
    site_state.found("mon", "stor1", "F")
    assert bootstrap_marks.variables(site_state, site_file.site) == {"ceph_mon_bootstrapped": {"stor1": "F"}}


@pytest.mark.parametrize(
    ("phases", "node"),
    [((), "stor1"), (("ceph", "base"), "stor1"), (("ceph",), "nobody"), (("base",), "stor1")],
)
def test_replacing_names_one_phase_and_one_of_its_nodes(site_file, phases, node):
    assert "ceph: stor1" in refused(bootstrap_marks.replacing, site_file.site, phases, node)[0].wanted


def test_the_verb_refuses_a_replacement_that_it_does_not_understand(site_file):
    asked = ["--site", str(site_file.path), "apply", "ceph", "--replace", "nobody"]
    done = CliRunner().invoke(cli, asked)
    assert isinstance(done.exception, AvadmError)
    assert done.exception.findings[0].check == "replace-what"
