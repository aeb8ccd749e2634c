"""scripts/faults-table: what was stored becomes a page; a later run's row takes an earlier one's place."""

import json

import pytest

from tests.lab.record import Tried, write
from tests.unit.fakes.scripts import load


@pytest.fixture
def script(monkeypatch, tmp_path):
    module = load("scripts/faults-table")
    monkeypatch.setattr(module, "TARGET", tmp_path / "faults.md")
    monkeypatch.setattr(module, "KEPT", tmp_path / "faults.json")
    return module


def test_rows_become_a_page_and_later_ones_win(script, monkeypatch, tmp_path):
    away = Tried("reboot", "stor1 | power", "back", "t::a", "it stays away", False, 3.4)
    first = write([away], tmp_path / "1")
    rows = [Tried("reboot", "stor1 | power", "back", "t::a", "all back", True, 3.6)]
    rows.append(Tried("negative control", "slow link", "A-FS1 FAIL", "t::b", "A-FS1 FAIL", True, 20))
    second = write(rows, tmp_path / "2")
    assert len(json.loads(second.read_text())) == 2
    monkeypatch.setattr("sys.argv", ["faults-table", str(first), str(second)])
    assert script.main() == 0
    faults, controls = script.TARGET.read_text().split("## Negative controls of acceptance")
    assert "| reboot | stor1 \\| power | back | all back | as wanted | 4 |" in faults
    assert "it stays away" not in faults
    assert "slow link" in controls and "slow link" not in faults


def test_a_part_that_runs_again_leaves_the_other_rows_and_the_notes(script, monkeypatch, tmp_path):
    first = [Tried("reboot", "stor1", "back", "t::a", "away", False, 3)]
    first.append(Tried("kill", "x", "y", "t::b", "y", True, 1))
    written = str(write(first, tmp_path / "1"))
    monkeypatch.setattr("sys.argv", ["faults-table", "--note=on one machine", written])
    assert script.main() == 0
    again = [Tried("reboot", "stor1", "back", "t::a", "came back", True, 4)]
    monkeypatch.setattr("sys.argv", ["faults-table", str(write(again, tmp_path / "2"))])
    assert script.main() == 0
    text = script.TARGET.read_text()
    assert "came back" in text and "away" not in text
    assert "| kill | x | y | y | as wanted | 1 |" in text and "on one machine" in text


def test_without_a_file_it_says_how(script, monkeypatch, capsys):
    monkeypatch.setattr("sys.argv", ["faults-table"])
    assert script.main() == 2
    assert "usage" in capsys.readouterr().err
