"""One fault of a cluster of the unit tests."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


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
