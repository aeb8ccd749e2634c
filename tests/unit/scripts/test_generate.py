"""scripts/generate: what is made from sources of this repository, and is not under version control."""

import json
import re
import subprocess

import pytest

from tests.lab.record import Tried, write
from tests.unit.fakes.scripts import ROOT, load


@pytest.fixture(scope="module")
def generate():
    return load("scripts/generate")


@pytest.fixture(scope="module")
def pages(generate):
    return {path.name: text for path, text in generate.pages().items()}


def test_nothing_that_is_generated_is_under_version_control():
    argv = ["git", "ls-files", "--cached", "--ignored", "--exclude-standard"]
    done = subprocess.run(argv, cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout == ""


def test_missing_and_stale_files_are_written_and_those_without_a_source_removed(generate, tmp_path):
    stale, gone = tmp_path / "a.json", tmp_path / "b.json"
    stale.write_text("old")
    gone.write_text("of a dashboard that is no more")
    generate.write({stale: "new", tmp_path / "c" / "d.json": "first"}, tmp_path)
    assert stale.read_text() == "new"
    assert (tmp_path / "c/d.json").read_text() == "first"
    assert not gone.exists()


def test_every_role_and_verb_has_its_part(pages):
    there = [r.name for r in (ROOT / "roles").iterdir() if r.is_dir()]
    assert [name for name in there if f"\n## {name}\n" not in pages["roles.md"]] == []
    for verb in ("apply", "lab up", "site check", "runs show", "accept verify"):
        assert f"## `avadm {verb}`" in pages["cli.md"]


def test_rows_of_a_table_are_whole(pages):
    for name, text in pages.items():
        tables = re.findall(r"(?:^\|.*\n)+", text, flags=re.MULTILINE)
        assert bool(tables) is name.endswith(".md")
        for table in tables:
            assert len({len(re.findall(r"(?<!\\)\|", row)) for row in table.strip().split("\n")}) == 1


def test_a_later_run_of_a_fault_replaces_its_row_and_keeps_the_others_and_the_notes(
    generate, monkeypatch, tmp_path
):
    monkeypatch.setattr(generate, "FAULTS", tmp_path / "faults.json")
    rows = [Tried("reboot", "stor1 | power", "back", "t::a", "it stays away", False, 3.4)]
    rows += [Tried("kill", "x", "y", "t::b", "y", True, 1)]
    first = str(write(rows, tmp_path / "1"))
    rows = [Tried("reboot", "stor1 | power", "back", "t::a", "all back", True, 3.6)]
    rows += [Tried("negative control", "slow link", "A-FS1 FAIL", "t::c", "A-FS1 FAIL", True, 20)]
    second = str(write(rows, tmp_path / "2"))
    for argv in (["--note=on one machine", first], [second]):
        monkeypatch.setattr("sys.argv", ["generate", "faults", *argv])
        assert generate.main() == 0
    assert len(json.loads((tmp_path / "faults.json").read_text())["rows"]) == 3
    faults, controls = generate.faults().split("## Negative controls of acceptance")
    assert "| reboot | stor1 \\| power | back | all back | passed | 4 |" in faults
    assert "| kill | x | y | y | passed | 1 |" in faults
    assert "on one machine" in faults and "it stays away" not in faults
    assert "slow link" in controls and "slow link" not in faults


@pytest.mark.parametrize("argv", [["faults"], ["faults", "--note=x"], ["nothing"]])
def test_without_a_file_it_says_how(argv, generate, monkeypatch, capsys):
    monkeypatch.setattr("sys.argv", ["generate", *argv])
    assert generate.main() == 2
    assert "usage" in capsys.readouterr().err
