"""Public bug reports of peers that were tried here: each row of the table has a test that is there."""

import re
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[2]
ROWS = yaml.safe_load((ROOT / "tests/controls/public-reports.yml").read_text())


def test_no_report_is_there_twice() -> None:
    names = [row["report"] for row in ROWS]
    assert len(set(names)) == len(names)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row["report"])
def test_each_report_has_its_test(row: dict[str, str]) -> None:
    assert set(row) == {"report", "fault", "was", "test"}
    assert re.fullmatch(r"[\w.-]+/[\w.-]+#\d+", row["report"])
    assert row["was"] in ("right", "broken")
    file, _, name = row["test"].partition("::")
    assert f"\ndef {name}(" in (ROOT / file).read_text()
