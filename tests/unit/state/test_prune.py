"""What of old runs goes, and what never does."""

import json
import os
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from click.testing import CliRunner

from avadm.cli.main import cli
from avadm.state.prune import candidates, prune
from avadm.state.run_folder import RunFolder

NOW = datetime.now(UTC)


def run(root: Path, days: float, verb: str = "apply", site: str = "t", **files: object) -> str:
    """Make a run folder that is so old; ``summary=None`` leaves one that was killed."""
    folder = RunFolder.create(verb, root, NOW - timedelta(days=days))
    for name, data in {"summary": {"site": site, "result": "good"}, **files}.items():
        if data is not None:
            folder.write_json(f"{name}.json", data)
    old = (NOW - timedelta(days=days)).timestamp()
    for path in (*folder.path.iterdir(), folder.path):
        os.utime(path, (old, old))
    return folder.id


def ids(found: list[RunFolder]) -> list[str]:
    return [r.id for r in found]


def test_what_is_old_or_beyond_the_number_goes(tmp_path: Path) -> None:
    old = [run(tmp_path, 200), run(tmp_path, 100)]
    young = [run(tmp_path, days) for days in (5, 4, 3)]
    assert ids(candidates(tmp_path)) == old
    assert ids(candidates(tmp_path, keep=2)) == [*old, young[0]]
    assert ids(candidates(tmp_path, keep=1, days=1)) == [*old, *young[:2]], "the last one stays"
    (tmp_path / "bench").mkdir()
    assert ids(prune(tmp_path)) == old
    assert {p.name for p in tmp_path.iterdir()} == {*young, "latest", "bench"}


@pytest.mark.parametrize(
    ("days", "verb", "files"),
    [
        (300, "accept", {}),
        (4000, "disk-zap", {"summary": None}),
        (3, "apply", {"summary": None}),
        (500, "check", {}),  # the last of its verb
    ],
)
def test_what_someone_may_need_stays(tmp_path, days, verb, files):
    kept = run(tmp_path, days, verb, **files)
    run(tmp_path, 1)
    run(tmp_path, 1, "accept")
    assert prune(tmp_path, keep=1, days=1) == []
    assert (tmp_path / kept).is_dir()


def test_runs_that_a_state_names_stay_and_those_of_another_site_have_their_own(tmp_path: Path) -> None:
    named, other, gone = run(tmp_path, 400), run(tmp_path, 300, site="u"), run(tmp_path, 350)
    phases = {"base": {"a": {"run": named}}}
    run(tmp_path, 1, ledger={"site": "t", "phases": phases})
    assert ids(prune(tmp_path)) == [gone]
    assert (tmp_path / other).is_dir()


@pytest.mark.parametrize("name", ["killed long ago", "old report"])
def test_what_is_old_beyond_its_own_term_goes(tmp_path: Path, name: str) -> None:
    killed = name == "killed long ago"
    old = run(tmp_path, 400, "apply" if killed else "accept", summary=None if killed else {"site": "t"})
    run(tmp_path, 1)
    run(tmp_path, 1, "accept")
    if killed:  # without a site: the last one of no site stays
        run(tmp_path, 350, summary=None)
    assert ids(prune(tmp_path)) == [old]


def test_the_verb_names_what_goes_and_a_dry_run_removes_nothing(tmp_path, monkeypatch):
    monkeypatch.setenv("AVADM_RUNS", str(tmp_path))
    old = run(tmp_path, 200)
    run(tmp_path, 1)
    asked = CliRunner().invoke(cli, ["runs", "prune", "--dry-run"])
    assert f"would remove {old}" in asked.output
    assert (tmp_path / old).is_dir()
    assert json.loads(CliRunner().invoke(cli, ["runs", "prune", "--json"]).stdout)["removed"] == [old]
    assert not (tmp_path / old).exists()
