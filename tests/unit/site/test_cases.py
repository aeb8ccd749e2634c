"""Every rule and every kind of wrong value: one small case each, in cases/*.yml and components/*/cases.yml."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from avadm.errors import AvadmError
from avadm.findings import Finding
from avadm.site.load import examine
from tests.unit.site.corpus import BASE, Case, cases


def _line(text: str, expected: dict[str, Any]) -> str:
    if "line" in expected:
        return f"base.yml:{expected['line']}"
    if "at" not in expected:
        return "base.yml:1"
    lines = [i for i, line in enumerate(text.splitlines(), 1) if expected["at"] in line]
    return f"base.yml:{lines[expected.get('nth', 0)]}"


def _agrees(finding: Finding, expected: dict[str, Any], text: str) -> bool:
    place, _, key = finding.where.partition(" ")
    return (
        finding.check == expected["check"]
        and finding.severity == expected.get("severity", "error")
        and place == _line(text, expected)
        and all(expected.get(k, "") in getattr(finding, k) for k in ("what", "found", "wanted", "remedy"))
        and expected.get("key", key) == key
        and expected.get("host", finding.host) == finding.host
    )


def test_base_is_good(tmp_path: Path) -> None:
    path = tmp_path / "base.yml"
    path.write_text(BASE)
    assert examine(path)[1] == []


@pytest.mark.parametrize("case", [pytest.param(c, id=c.id) for c in cases() if "unread" not in c.about])
def test_case(case: Case, tmp_path: Path) -> None:
    path = tmp_path / "base.yml"
    path.write_bytes(case.raw)
    found = list(examine(path)[1])
    for finding in found:
        assert finding.what, finding
        assert finding.found, finding
        assert finding.wanted, finding
        assert finding.remedy, finding
    for expected in case.expect:
        match = next((f for f in found if _agrees(f, expected, case.text)), None)
        assert match, f"{expected} is not among\n" + "\n".join(map(str, found))
        found.remove(match)
    assert found == []


@pytest.mark.parametrize("case", [pytest.param(c, id=c.id) for c in cases() if "unread" in c.about])
def test_case_of_a_file_that_is_no_text(case: Case, tmp_path: Path) -> None:
    path = tmp_path / "base.yml"
    path.write_bytes(case.raw)
    with pytest.raises(AvadmError) as raised:
        examine(path)
    (finding,) = raised.value.findings
    assert finding.check == case.expect[0]["check"]
    assert all((finding.what, finding.where, finding.found, finding.wanted, finding.remedy))
