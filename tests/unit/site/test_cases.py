"""Every rule and every kind of wrong value: one small case each, in cases/*.yml."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from avadm.findings import Finding
from avadm.site.load import examine

HERE = Path(__file__).parent
BASE = (HERE / "base.yml").read_text()


def _cases() -> list[Any]:
    return [
        pytest.param(case, id=f"{path.stem}/{name}")
        for path in sorted((HERE / "cases").glob("*.yml"))
        for name, case in yaml.safe_load(path.read_text()).items()
    ]


def _text(case: dict[str, Any]) -> str:
    if "file" in case:
        return str(case["file"])
    text = BASE
    for old, new, *everywhere in case["edit"]:
        assert old in text, f"{old!r} is not in base.yml"
        text = text.replace(old, new) if everywhere else text.replace(old, new, 1)
    return text


def _line(text: str, expected: dict[str, Any]) -> str:
    if "at" not in expected:
        return "base.yml:1"
    lines = [i for i, line in enumerate(text.splitlines(), 1) if expected["at"] in line]
    return f"base.yml:{lines[expected.get('nth', 0)]}"


def _agrees(finding: Finding, expected: dict[str, Any], text: str) -> bool:
    return (
        finding.check == expected["check"]
        and finding.severity == expected.get("severity", "error")
        and finding.where == _line(text, expected)
        and all(expected.get(k, "") in getattr(finding, k) for k in ("what", "found", "wanted", "remedy"))
        and expected.get("host", finding.host) == finding.host
    )


def test_base_is_good(tmp_path: Path) -> None:
    path = tmp_path / "base.yml"
    path.write_text(BASE)
    assert examine(path)[1] == []


@pytest.mark.parametrize("case", _cases())
def test_case(case: dict[str, Any], tmp_path: Path) -> None:
    text = _text(case)
    path = tmp_path / "base.yml"
    path.write_text(text)
    found = list(examine(path)[1])
    for expected in case["expect"]:
        match = next((f for f in found if _agrees(f, expected, text)), None)
        assert match, f"{expected} is not among\n" + "\n".join(map(str, found))
        found.remove(match)
    assert found == []
