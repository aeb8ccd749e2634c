"""The glossary has each word and phrase that `make lint` refuses."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
LISTS = (
    ("words.txt", lambda line: rf"\b{re.escape(line.partition('->')[0])}\b"),
    ("phrases.txt", str),
)
PATTERNS = [
    pattern(line)
    for name, pattern in LISTS
    for line in (ROOT / "scripts" / name).read_text(encoding="utf-8").splitlines()
]


def missing(text: str) -> list[str]:
    """Return the refused patterns that no row of the table of former words has in its first column."""
    _, _, table = text.partition("\n## Former words\n")
    former = [row.split("|")[1] for row in table.splitlines() if row.startswith("|")]
    return [p for p in PATTERNS if not any(re.search(p, cell, re.I) for cell in former)]


def test_glossary_has_each_refused_word() -> None:
    text = (ROOT / "docs/reference/glossary.md").read_text(encoding="utf-8")
    assert len(PATTERNS) > 10
    assert missing(text) == []


@pytest.mark.parametrize("row", [2, -1])
def test_missing_row_is_found(row: int) -> None:
    text = (ROOT / "docs/reference/glossary.md").read_text(encoding="utf-8")
    head, mark, table = text.partition("\n## Former words\n")
    rows = [line for line in table.splitlines() if line.startswith("|")]
    assert missing(head + mark + table.replace(rows[row] + "\n", "")) != []
