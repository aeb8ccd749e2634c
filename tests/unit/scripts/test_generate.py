"""scripts/generate: what roles install is made from its sources, and is not under version control."""

import subprocess

from tests.unit.fakes.scripts import ROOT, load


def test_nothing_that_is_generated_is_under_version_control():
    argv = ["git", "ls-files", "--cached", "--ignored", "--exclude-standard"]
    done = subprocess.run(argv, cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout == ""


def test_missing_and_stale_files_are_written_and_those_without_a_source_removed(tmp_path):
    generate = load("scripts/generate")
    stale, gone = tmp_path / "a.json", tmp_path / "b.json"
    stale.write_text("old")
    gone.write_text("of a dashboard that is no more")
    generate.write({stale: "new", tmp_path / "c" / "d.json": "first"}, tmp_path)
    assert stale.read_text() == "new"
    assert (tmp_path / "c/d.json").read_text() == "first"
    assert not gone.exists()
