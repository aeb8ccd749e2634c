"""Criteria files: load, validate, look up."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from functools import lru_cache
from importlib.resources import files
from pathlib import Path
from typing import Any, Literal

from pydantic import ValidationError
from ruamel.yaml import YAML

from avadm_validation.protocol.model import Criterion, Stated

Name = Literal["stated", "lab"]


class CriteriaError(ValueError):
    """A criteria file is not valid; the text says where and why."""


def source(name: str) -> str:
    """Return the text of a criteria file that ships with avadm."""
    return (files("avadm_validation") / "criteria" / f"{name}.yml").read_text(encoding="utf-8")


def parse(text: str, where: str = "criteria") -> list[Criterion]:
    """Return the criteria of a file's text; CriteriaError with every error of the file."""
    return list(_parsed(text, where))


@lru_cache(maxsize=8)
def _parsed(text: str, where: str) -> tuple[Criterion, ...]:
    data: Any = YAML(typ="safe").load(text)
    if not isinstance(data, dict) or not isinstance(data.get("criteria"), list):
        raise CriteriaError(f"{where}: wanted a mapping with a list 'criteria'")
    shared = {k: v for k, v in data.items() if k != "criteria"}
    found: list[Criterion] = []
    errors: list[str] = []
    for i, item in enumerate(data["criteria"]):
        try:
            criterion = Criterion.model_validate({**shared, **item})
        except (ValidationError, TypeError) as e:
            errors.append(
                f"{where}: criterion {i + 1} ({item.get('id') if isinstance(item, dict) else item}): {e}"
            )
            continue
        if criterion.id != f"{criterion.check}.{criterion.metric}":
            errors.append(
                f"{where}: {criterion.id} is not CHECK.METRIC ({criterion.check}.{criterion.metric})"
            )
        if criterion.rule == "mean" and (criterion.op == "==" or criterion.repetitions < 2):
            errors.append(f"{where}: {criterion.id}: rule 'mean' needs >= or <= and at least 2 repetitions")
        if criterion.id in {c.id for c in found}:
            errors.append(f"{where}: {criterion.id} is there twice")
        found.append(criterion)
    if errors:
        raise CriteriaError("\n".join(errors))
    return tuple(found)


class Criteria:
    """The criteria of a run, and the specification's own beside them.

    Args:
        judging: criteria that give verdicts here.
        stated: the specification's criteria, shown beside; the same list at a site.
    """

    def __init__(self, judging: list[Criterion], stated: list[Criterion]) -> None:
        self.judging = {c.id: c for c in judging}
        self._stated = stated

    @classmethod
    def load(cls, name: Name, own: Path | None = None) -> Criteria:
        """Load a shipped file by name, or a file of the user's (``own``), with the specification's beside it."""
        text = own.read_text(encoding="utf-8") if own else source(name)
        return cls(parse(text, str(own or name)), parse(source("stated"), "stated"))

    def add(self, more: Iterable[Criterion]) -> None:
        """Judge by further criteria, of a suite that keeps its own; they are the same at a site and in the lab."""
        self.judging |= {c.id: c for c in more}

    def of(self, check: str, metric: str) -> Criterion | None:
        """Return the criterion that judges a metric, if there is one."""
        return self.judging.get(f"{check}.{metric}")

    def needed(self, check: str) -> list[Criterion]:
        """Return all criteria that judge a check: each of its metrics must be there."""
        return [c for c in self.judging.values() if c.check == check]

    def stated(self, check: str, judged: bool) -> Stated | None:
        """Return the specification's headline number of a check (the first of its stated criteria)."""
        for c in self._stated:
            if c.check == check:
                return Stated(
                    threshold=c.threshold, unit=c.unit, text=c.text, text_zh=c.text_zh, judged=judged
                )
        return None

    def digest(self) -> str:
        """Return the sha256 of what judges, in a canonical form."""
        text = "\n".join(c.model_dump_json(by_alias=True) for _, c in sorted(self.judging.items()))
        return hashlib.sha256(text.encode()).hexdigest()
