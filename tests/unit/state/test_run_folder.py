import os
import stat
from datetime import UTC, datetime
from pathlib import Path

import pytest

from avadm.errors import AvadmError
from avadm.state.run_folder import LATEST, RunFolder, discard, find_run, list_runs

NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)


def test_a_run_folder_is_private_named_by_time_and_verb_and_is_the_latest(tmp_path: Path) -> None:
    folder = RunFolder.create("apply", tmp_path, NOW)
    assert folder.id == "20260102T030405Z-apply"
    assert stat.S_IMODE(folder.path.stat().st_mode) == 0o700
    assert (tmp_path / "latest").readlink() == Path(folder.id)
    assert (folder.verb, folder.started) == ("apply", NOW)


def test_two_runs_in_one_second_do_not_share_a_folder(tmp_path: Path) -> None:
    one, two = (RunFolder.create("apply", tmp_path, NOW) for _ in range(2))
    assert one.path != two.path
    assert two.verb == "apply"
    assert [r.id for r in list_runs(tmp_path)] == [one.id, two.id]


def test_files_are_private_whatever_the_umask(tmp_path: Path) -> None:
    old = os.umask(0)
    try:
        path = RunFolder.create("apply", tmp_path).write_json("summary.json", {"a": 1})
    finally:
        os.umask(old)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_run_is_found_by_the_beginning_of_its_id(tmp_path: Path) -> None:
    folder = RunFolder.create("apply", tmp_path, NOW)
    assert find_run("20260102", tmp_path) == folder
    assert find_run("latest", tmp_path) == folder


def test_an_unknown_run_and_no_run_at_all_are_reported(tmp_path: Path) -> None:
    with pytest.raises(AvadmError, match="no run yet"):
        find_run("latest", tmp_path / "none")
    RunFolder.create("apply", tmp_path, NOW)
    with pytest.raises(AvadmError, match="No run, or more than one"):
        find_run("2025", tmp_path)


def test_events_of_a_killed_run_are_read_up_to_the_broken_line(tmp_path: Path) -> None:
    folder = RunFolder.create("apply", tmp_path, NOW)
    (folder.path / "events.jsonl").write_text(
        '{"time": 1, "phase": "a", "kind": "task_start", "task": "x"}\n{"time": 2, "pha'
    )
    assert [e.task for e in folder.events()] == ["x"]


def test_foreign_folders_are_no_runs(tmp_path: Path) -> None:
    (tmp_path / "notes").mkdir()
    assert list_runs(tmp_path) == []


def test_a_discarded_run_is_not_the_latest(tmp_path: Path) -> None:
    one, two = (RunFolder.create("apply", tmp_path, NOW) for _ in range(2))
    discard(two)
    assert (tmp_path / LATEST).readlink() == Path(one.id)
    discard(one)
    assert not (tmp_path / LATEST).is_symlink()


def test_discarding_an_older_run_leaves_the_latest(tmp_path: Path) -> None:
    one, two = (RunFolder.create("apply", tmp_path, NOW) for _ in range(2))
    discard(one)
    assert (tmp_path / LATEST).readlink() == Path(two.id)
