"""What a suite says of itself; ``avadm_validation.registry`` has all."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from avadm_validation.measuring.check import Check
from avadm_validation.measuring.schedule import Opening, Stages
from avadm_validation.protocol.model import CheckResult, Class, Criterion


@dataclass(frozen=True)
class Lack:
    """Message for a suite of which the site has no target.

    Attributes:
        check: identifier of the finding.
        needs: what the suite needs, as it follows "The suite NAME needs".
        key: key of the site file.
        found: what is there instead.
        wanted: what should be.
        remedy: what to do.
    """

    check: str
    needs: str
    key: str
    found: str
    wanted: str
    remedy: str


@dataclass
class Conditions:
    """What the numbers depend on.

    Attributes:
        versions: component to version.
        environment: a condition of the measurement to its value, in words.
    """

    versions: dict[str, str] = field(default_factory=dict)
    environment: dict[str, str] = field(default_factory=dict)


def _no_criteria(class_: Class) -> Sequence[Criterion]:
    return ()


def _no_conditions(results: Sequence[CheckResult], folder: Path) -> Conditions:
    return Conditions()


@dataclass(frozen=True)
class Suite:
    """One suite.

    Attributes:
        checks: its checks, without preconditions.
        prefix: with what the ids of its checks start (one of several), of its preconditions too; "" for the one suite without.
        target: attribute of the target that is None where it has nothing to measure.
        open: prepares it for a run of all its checks or those that are named, and puts everything back.
        lack: the message where the site has no such target.
        first: its preconditions, None for none.
        beside: those of its checks that others may be made beside; all others need a quiet machine.
        criteria: those that it keeps itself, for a class of numbers; all others are in ``criteria/``.
        conditions: reads from the raw files of a run, in the report's folder, what its numbers depend on.
        every_reason: whether each reason is shown of a check, however many: each is a finding of its own.
    """

    checks: Sequence[Check]
    prefix: str | tuple[str, ...]
    target: str
    open: Opening
    lack: Lack
    first: Check | None = None
    beside: Stages = ()
    criteria: Callable[[Class], Sequence[Criterion]] = _no_criteria
    conditions: Callable[[Sequence[CheckResult], Path], Conditions] = _no_conditions
    every_reason: bool = False

    @property
    def all_checks(self) -> list[Check]:
        """Its checks, the preconditions first."""
        return [*([self.first] if self.first else []), *self.checks]
