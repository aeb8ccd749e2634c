"""Planted faults and the verdicts that checks must give (rows of the page negative-controls): as raw data, or on a lab."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Control:
    """A negative control.

    Attributes:
        name: short name of the fault, the test's parameter where it has one.
        check: id of the check (A-FS1, P3, …).
        fault: what is planted, in words.
        verdict: what the check must say: FAIL, BLOCKED, or the preflight's finding.
        where: ``lab`` (make test-lab), ``lab, slow`` (make test-faults), or ``raw data`` (unit tests).
        test: the test that plants it, ``FILE::FUNCTION``.
    """

    name: str
    check: str
    fault: str
    verdict: str
    where: str
    test: str


def shown(verdict: str, metrics: tuple[str, ...]) -> str:
    """Return a verdict with the metrics that must fail, as the page has it."""
    return f"{verdict} ({', '.join(metrics)})" if metrics else verdict


@dataclass(frozen=True)
class Act:
    """Something done to nodes: a shell script, and the one that takes it away (harmless where there is nothing)."""

    nodes: str
    do: str
    undo: str = ""


@dataclass(frozen=True)
class LabFault:
    """A fault of the lab.

    Attributes:
        name: the test's parameter.
        text: what is planted, in words.
        acts: what is done, in order.
        reds: check to the metrics that must fail; none: the verdict alone counts.
        verdict: of those checks.
        beside: whether it is done while the check runs; what takes it away is done after the check.
        quick: whether `make test-lab` plants it too.
        seen: whether a lab has had it, with this outcome.
    """

    name: str
    text: str
    acts: tuple[Act, ...]
    reds: dict[str, tuple[str, ...]]
    verdict: str = "FAIL"
    beside: bool = False
    quick: bool = False
    seen: bool = True


@dataclass(frozen=True)
class Fault:
    """A fault of the cluster.

    Attributes:
        name: the test's parameter.
        text: what is planted, in words.
        check: the check that must see it.
        metrics: those that must fail.
        plant: changes the unit tests' cluster.
        verdict: what the check must say.
    """

    name: str
    text: str
    check: str
    metrics: tuple[str, ...]
    plant: Callable[[Any], Any]
    verdict: str = "FAIL"


def controls(faults: tuple[Fault, ...], test: str) -> tuple[Control, ...]:
    """Return the rows of faults that ``test`` plants as raw data."""
    return tuple(
        Control(f.name, f.check, f.text, shown(f.verdict, f.metrics), "raw data", test) for f in faults
    )
