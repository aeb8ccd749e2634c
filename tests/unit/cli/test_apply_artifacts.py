"""`avadm apply` refuses a phase whose artifacts are not in the cache, before anything is touched."""

import json

import pytest

from avadm.artifacts import requirements
from avadm.artifacts.manifest import named
from avadm.artifacts.requirements import missing
from avadm.artifacts.store import ArtifactStore
from avadm.components.model import Phase
from tests.unit.fakes.cli import refusals

INSTALLS = Phase("ceph", "", "", (), (), (), artifacts=("kubernetes", "pause"))


@pytest.fixture
def cache(tmp_path, monkeypatch):
    """Play that the phase ceph installs two artifacts; return the cache, which has none."""
    store = ArtifactStore(tmp_path / "cache")

    def found(site, phases, **how):
        names = {p.name for p in phases}
        return missing(site, [INSTALLS] if "ceph" in names else [], store, **how)

    monkeypatch.setattr(requirements, "missing", found)
    return store.root


def test_a_phase_without_its_artifacts_is_refused_with_all_of_them(avadm, playbooks, cache, tmp_path):
    reply = refusals(avadm("apply", "-q"))
    wanted = [
        f"{a.name} {a.version}, which ceph installs, is absent." for a in named(("kubernetes", "pause"))
    ]
    assert [f.what for f in reply] == wanted
    assert all("avadm artifacts build" in f.remedy for f in reply)
    assert playbooks.requests == []
    assert [p.name for p in (tmp_path / "runs").iterdir() if p.is_dir() and not p.is_symlink()] == []


def test_other_phases_do_not_need_them(avadm, playbooks, cache):
    assert avadm("apply", "base", "-q").exit_code == 0
    assert playbooks.phases == ["base"]


def test_a_plan_names_missing_artifacts_and_that_it_will_not_hold(avadm, cache, tmp_path):
    reply = avadm("plan", "--out", str(tmp_path / "plan.json"))
    assert reply.exit_code == 0
    for word in ("2 artifacts missing", "found    kubernetes 1.9.11, ", "The saved plan will not hold"):
        assert word in reply.output
    assert "will not hold" not in avadm("plan").output
    assert "artifacts missing" not in avadm("plan", "base").output
    found = json.loads(avadm("plan", "--json", "--out", str(tmp_path / "plan.json")).stdout)["findings"]
    assert [f["check"] for f in found] == ["artifact-missing", "artifact-missing", "plan-unstable"]
    assert {f["severity"] for f in found} == {"warning"}


def test_a_deep_plan_is_refused_before_it_is_saved(avadm, playbooks, cache, tmp_path):
    reply = refusals(avadm("plan", "--deep", "--out", str(tmp_path / "plan.json")))
    assert {f.remedy for f in reply} == {"Run `avadm artifacts build`."}
    assert playbooks.requests == []
    assert not (tmp_path / "plan.json").exists()
