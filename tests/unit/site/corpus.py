"""The site files that tests try: a good one, and each case as an edit of it or as a text of its own.

Cases are in cases/*.yml, and in cases.yml of a component's own folder (tests/unit/components).
"""

from __future__ import annotations

import codecs
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

HERE = Path(__file__).parent
BASE = (HERE / "base.yml").read_text()


@dataclass(frozen=True)
class Case:
    """One file: what it is called, what to write, and the findings that are to come of it."""

    family: str
    name: str
    about: dict[str, Any]

    @property
    def id(self) -> str:
        return f"{self.family}/{self.name}"

    @property
    def broken(self) -> bool:
        return any(e.get("severity", "error") == "error" for e in self.expect)

    @property
    def expect(self) -> list[dict[str, Any]]:
        expected: list[dict[str, Any]] = self.about["expect"]
        return expected

    @property
    def text(self) -> str:
        if "edit" not in self.about:
            return str(self.about.get("file", ""))
        text = BASE
        for old, new, *everywhere in _flat(self.about["edit"]):
            assert old in text, f"{old!r} is not in base.yml"
            text = text.replace(old, new) if everywhere else text.replace(old, new, 1)
        return text

    @property
    def raw(self) -> bytes:
        """What stands in the file: in another encoding, or bytes as they are, where the case says so."""
        if "hex" in self.about:
            return bytes.fromhex(self.about["hex"])
        mark = codecs.BOM_UTF16_LE if self.about.get("encoding") == "utf-16-le" else b""
        return mark + self.text.encode(self.about.get("encoding", "utf-8"))


def _flat(edits: list[Any]) -> list[list[Any]]:
    """Return the edits of a case; one that several cases begin with is a list of edits itself (YAML's *name)."""
    return [edit for e in edits for edit in (e if isinstance(e[0], list) else [e])]


def cases() -> list[Case]:
    files = {path.stem: path for path in (HERE / "cases").glob("*.yml")}
    files |= {path.parent.name: path for path in HERE.parent.glob("components/*/cases.yml")}
    return [
        Case(family, name, about)
        for family, path in sorted(files.items())
        for name, about in yaml.safe_load(path.read_text()).items()
    ]
