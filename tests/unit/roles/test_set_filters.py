"""Filters that go through a set give another order in each process: what is written with them would change by itself."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
THROUGH_A_SET = re.compile(
    r"\|\s*(?:difference|intersect|union|symmetric_difference)\((?:[^()]|\([^()]*\))*\)(.{0,12})", re.S
)


def unsorted(text):
    """Return the uses of such filters whose result is not sorted, counted or compared at once."""
    return [
        m[0] for m in THROUGH_A_SET.finditer(text) if not re.match(r"\s*\|\s*(sort|length|count)\b", m[1])
    ]


def test_no_role_writes_what_a_set_filter_gives_unsorted():
    files = [
        p
        for folder in ("roles", "playbooks")
        for p in (ROOT / folder).rglob("*")
        if p.suffix in {".yml", ".j2"}
    ]
    assert len(files) > 100
    assert {str(p.relative_to(ROOT)): found for p in files if (found := unsorted(p.read_text()))} == {}


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("{{ a | difference(b) }}", 1),
        ("{{ a.values() | difference([b]) | list }}", 1),
        ("{{ a | difference(b) | sort }}", 0),
        ("{{ a | union(b | map('int')) | length }}", 0),
        ("{{ a | reject('equalto', b) | list }}", 0),
    ],
)
def test_which_uses_are_found(text, count):
    assert len(unsorted(text)) == count
