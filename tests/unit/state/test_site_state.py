import json
from pathlib import Path

import pytest

from avadm.state.site_state import Entry, PhaseState, SiteState
from tests.unit.fakes.errors import refused


def test_a_ledger_survives_being_read_again(tmp_path: Path) -> None:
    ledger = SiteState(tmp_path / "x" / "ledger.json", "t")
    ledger.start("base", {"a": "d1", "b": "d1"}, "run1")
    ledger.finish("base", {"a": PhaseState.DONE, "b": PhaseState.FAILED})
    again = SiteState(ledger.path, "t")
    assert again.as_dict() == ledger.as_dict()
    assert again.entry("base", "a").digest == "d1"
    assert again.done("base", ["a"])
    assert not again.done("base", ["a", "b"])


def test_a_ledger_with_keys_of_another_release_is_read(tmp_path: Path) -> None:
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
    ledger = SiteState(tmp_path / "ledger.json", "t")
    ledger.settle()
    assert SiteState(ledger.path, "t").entry("base", "a").state is PhaseState.FAILED


@pytest.mark.parametrize("text", ["", "[]", '{"version": 2}', '{"version": 1, "phases": {"a": 1}}'])
def test_a_broken_ledger_is_told_with_a_remedy(tmp_path: Path, text: str) -> None:
    (tmp_path / "ledger.json").write_text(text)
    assert refused(SiteState, tmp_path / "ledger.json", "t")[0].remedy
