"""All suites, and what a run or a report needs of all of them: criteria, functions of numbers, conditions."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Literal

from avadm_validation.measuring.extract import compute, facts
from avadm_validation.measuring.suite import Conditions, Suite
from avadm_validation.measuring.targets import Target
from avadm_validation.protocol.criteria import Criteria
from avadm_validation.protocol.model import CheckResult, Report
from avadm_validation.protocol.verify import verify
from avadm_validation.suites import NAMES


@cache
def suites() -> dict[str, Suite]:
    """Return each suite by its name, in the order in which they run; their functions of numbers are registered then."""
    return {name: import_module(f"avadm_validation.suites.{name}.run").SUITE for name in NAMES}


def ids() -> dict[str, list[str]]:
    """Return each suite's name to the ids of its checks, without preconditions."""
    return {name: [c.ID for c in suite.checks] for name, suite in suites().items()}


def suite_of(check: str) -> str:
    """Return the name of the suite that a check's id is of."""
    named = [name for name, suite in suites().items() if suite.prefix and check.startswith(suite.prefix)]
    return named[0] if named else next(name for name, suite in suites().items() if not suite.prefix)


def names_of(results: Sequence[CheckResult]) -> str:
    """Return the names of the suites that a report's checks are of, as a sentence lists them."""
    *names, last = dict.fromkeys(suite_of(c.id) for c in results) or [""]
    return f"{', '.join(names)} and {last}" if names else last


def criteria(kind: Literal["stated", "lab"]) -> Criteria:
    """Return what judges: the specification's numbers or the lab's, and those that suites keep themselves."""
    found = Criteria.load(kind)
    for suite in suites().values():
        found.add(suite.criteria("lab" if kind == "lab" else "site-full"))
    return found


def conditions(target: Target, results: Sequence[CheckResult], folder: Path) -> Conditions:
    """Return what the numbers of a run depend on, read from its raw files in the report's folder."""
    found = Conditions(environment={"clients": ", ".join(target.clients), "nodes": str(len(target.nodes))})
    for suite in suites().values():
        own = suite.conditions(results, folder)
        found.versions |= own.versions
        found.environment |= own.environment
    return found


def verified(report: Report, folder: Path) -> list[str]:
    """Return what of a report does not agree with its raw files, or with this avadm's criteria; [] for none."""
    judging = criteria("lab" if report.class_ == "lab" else "stated")
    return verify(report, folder, compute, facts, judging)
