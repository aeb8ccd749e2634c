"""What bootstrap did, as data: per node the steps, each good, changed or failed with the remedy."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import StrEnum

from avadm.findings import Finding


class BootstrapState(StrEnum):
    """How a step, or a node, ended; pending: something is left to the administrator."""

    OK = "ok"
    CHANGED = "changed"
    PENDING = "pending"
    FAILED = "failed"


STEPS = ("host_key", "key", "root", "python", "boot")


@dataclass(frozen=True, slots=True)
class BootstrapStep:
    """One step on one node: its state and a few words."""

    state: BootstrapState
    detail: str


@dataclass(slots=True)
class NodeReport:
    """One node's steps in the order of STEPS; those after a failed one are missing."""

    node: str
    steps: dict[str, BootstrapStep] = field(default_factory=dict)
    finding: Finding | None = None
    warning: Finding | None = None

    def add(self, step: str, state: BootstrapState, detail: str) -> None:
        """Note a step that went well."""
        self.steps[step] = BootstrapStep(state, detail)

    def fail(self, step: str, what: str, *, where: str = "", found: str = "", remedy: str = "") -> None:
        """Note the step that failed; what follows is not tried."""
        self.steps[step] = BootstrapStep(BootstrapState.FAILED, what)
        self.finding = Finding(
            check=f"bootstrap-{step}", what=what, where=where, found=found, remedy=remedy, host=self.node
        )

    def is_done(self, step: str) -> bool:
        """Return whether a step was reached and went well."""
        return step in self.steps and self.steps[step].state is not BootstrapState.FAILED

    @property
    def state(self) -> BootstrapState:
        """Failed where a step failed, pending where one is, changed where one changed something, else ok."""
        states = {s.state for s in self.steps.values()}
        order = (BootstrapState.FAILED, BootstrapState.PENDING, BootstrapState.CHANGED)
        return next((s for s in order if s in states), BootstrapState.OK)

    @property
    def let_in(self) -> bool:
        """Whether the node lets the controller's key in."""
        return self.is_done("key")

    def as_dict(self) -> dict[str, object]:
        """Return JSON-ready data."""
        return {
            "state": str(self.state),
            "steps": {k: {"state": str(s.state), "detail": s.detail} for k, s in self.steps.items()},
        }


def findings(reports: Iterable[NodeReport]) -> list[Finding]:
    """Return what failed on any node."""
    return [r.finding for r in reports if r.finding is not None]


def warnings(reports: Iterable[NodeReport]) -> list[Finding]:
    """Return what is still to be done on any node."""
    return [r.warning for r in reports if r.warning is not None]
