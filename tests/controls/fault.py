"""One fault of a cluster of the unit tests."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tests.controls.control import Control, shown


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
