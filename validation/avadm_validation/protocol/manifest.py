"""The manifest of a run: what each check came to, written among the raw files while the run continues.

``raw/manifest.json`` is ``{"checks": [{"id", "own", "sha256"}], "report": sha256}``. ``own`` is the verdict that a
check reported itself (it could not be measured, a precondition was not met), which no metric tells. The digests are of
whole results and of the report around them, so that an edit of ``report.json`` alone shows even in its words. It is no
signature: anyone who changes report, raw files and manifest consistently is not found out.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

from pydantic import Field

from avadm_validation.protocol.evidence import sha256
from avadm_validation.protocol.model import CheckResult, Model, Report, Verdict

PATH = "raw/manifest.json"


def digest(model: Model, *, without: frozenset[str] = frozenset()) -> str:
    """Return the sha256 of a model as it reads when loaded again, without some of its fields."""
    again = type(model).model_validate_json(model.model_dump_json(by_alias=True))
    text = json.dumps(again.model_dump(mode="json", by_alias=True, exclude=set(without)), sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()


def around(report: Report) -> str:
    """Return the digest of what a report says around its checks and hashes."""
    return digest(report, without=frozenset({"checks", "evidence"}))


class Measured(Model):
    """One check: the verdict that it reported itself, and the digest of its result."""

    id: str
    own: Verdict | None
    sha256: str


class Manifest(Model, frozen=False):
    """What is known of a run so far."""

    checks: list[Measured] = Field(default_factory=list)
    """In the order in which they ended; after `seal` in the report's."""
    report: str = ""
    """Digest of what stands around the checks; "" until the end."""

    def add(self, result: CheckResult, own: Verdict | None, folder: Path) -> None:
        """Take a check's result in and write the manifest below the report's folder."""
        self.checks.append(Measured(id=result.id, own=own, sha256=digest(result)))
        self._write(folder)

    def own(self, check: str) -> Verdict | None:
        """Return the verdict that a check reported itself, None where its metrics decide."""
        return next((c.own for c in self.checks if c.id == check), None)

    @classmethod
    def load(cls, folder: Path) -> Manifest:
        """Read the manifest of a report's folder; OSError or ValueError where there is none."""
        return cls.model_validate_json((folder / PATH).read_text(encoding="utf-8"))

    def _write(self, folder: Path) -> None:
        path = folder / PATH
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(self.model_dump_json(indent=1), encoding="utf-8")

    def seal(self, report: Report, folder: Path) -> Report:
        """Note the order of the checks and what stands around them; return the report with each raw file's sha256."""
        # Checks end in another order than the report's: some are measured first, some at the same time.
        place = {check.id: number for number, check in enumerate(report.checks)}
        self.checks.sort(key=lambda check: place.get(check.id, len(place)))
        self.report = around(report)
        self._write(folder)
        raw = sorted(p for p in (folder / "raw").rglob("*") if p.is_file())
        return report.model_copy(
            update={"evidence": {p.relative_to(folder).as_posix(): sha256(p) for p in raw}}
        )
