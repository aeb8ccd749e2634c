"""What runs on nodes is taken by Python 2.7: plug-ins, probes that pass through ssh's stdin, acceptance's tools."""

from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
PATTERNS = ("plugins/**/*.py", "installer/avadm/**/*_probe.py", "validation/avadm_validation/tools/*.py")
FILES = sorted(path for pattern in PATTERNS for path in ROOT.glob(pattern))


@pytest.mark.parametrize("path", FILES, ids=lambda p: p.name)
def test_it_is_ascii_for_python_2_takes_no_other_byte_without_being_told_the_encoding(path):
    found = [(n, line) for n, line in enumerate(path.read_text().splitlines(), 1) if not line.isascii()]
    assert found == []


def test_all_kinds_are_among_them():
    assert {p.parent.name for p in FILES} >= {"modules", "module_utils", "engine", "checks", "tools"}
