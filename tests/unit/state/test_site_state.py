import json
from pathlib import Path

import pytest

from avadm.state.site_state import Entry, PhaseState, SiteState
from tests.unit.fakes.errors import refused


def test_a_state_survives_being_read_again(tmp_path: Path) -> None:
    site_state = SiteState(tmp_path / "x" / "ledger.json", "t")
    site_state.start("base", {"a": "d1", "b": "d1"}, "run1")
    site_state.finish("base", {"a": PhaseState.DONE, "b": PhaseState.FAILED})
    again = SiteState(site_state.path, "t")
    assert again.as_dict() == site_state.as_dict()
    assert again.entry("base", "a").digest == "d1"
    assert again.done("base", ["a"])
    assert not again.done("base", ["a", "b"])


def test_a_state_with_keys_of_another_release_is_read(tmp_path: Path) -> None:
    path = tmp_path / "ledger.json"
    entry = {
        "state": "done",
        "digest": "d1",
        "run": "r",
        "started": 1.0,
        "finished": 2.0,
        "done_digest": "d1",
    }
    path.write_text(json.dumps({"version": 1, "site": "t", "phases": {"base": {"a": entry}}}))
    assert SiteState(path, "t").entry("base", "a") == Entry(PhaseState.DONE, "d1", "r", 1.0, 2.0)


def test_what_a_killed_run_left_running_is_settled_as_failed(tmp_path: Path) -> None:
    SiteState(tmp_path / "ledger.json", "t").start("base", {"a": "d"}, "r")
    site_state = SiteState(tmp_path / "ledger.json", "t")
    site_state.settle()
    assert SiteState(site_state.path, "t").entry("base", "a").state is PhaseState.FAILED


@pytest.mark.parametrize("text", ["", "[]", '{"version": 2}', '{"version": 1, "phases": {"a": 1}}'])
def test_a_broken_state_is_reported_with_a_remedy(tmp_path: Path, text: str) -> None:
    (tmp_path / "ledger.json").write_text(text)
    assert refused(SiteState, tmp_path / "ledger.json", "t")[0].remedy


def test_a_node_that_left_is_forgotten_whole_or_by_its_phases(tmp_path: Path) -> None:
    site_state = SiteState(tmp_path / "ledger.json", "t")
    for phase in ("base", "ceph"):
        site_state.finish(phase, {"a": PhaseState.DONE, "b": PhaseState.DONE})
    for name in ("mon", "database"):
        site_state.found(name, "a", "x")
    site_state.unfound("mon", "a")
    site_state.forget("a", ["ceph"])
    again = SiteState(site_state.path, "t")
    assert (again.bootstrapped("mon"), again.bootstrapped("database")) == ({}, {"a": "x"})
    assert again.done("base", ["a", "b"])
    assert not again.done("ceph", ["a"])
    again.forget("a")
    assert again.bootstrapped("database") == {}
    assert not again.done("base", ["a"])
    assert again.done("ceph", ["b"])
