"""What an operation on a running site is: its steps, what each waits for, what it interrupts, and what forbids it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from avadm.cluster.setting import Setting
from avadm.errors import AvadmError
from avadm.findings import Finding
from avadm.kube.node_runs import Run

Tell = Callable[[str], None]
"""Shows one line of progress."""


@dataclass(frozen=True, slots=True)
class Progress:
    """What a gate sees.

    Attributes:
        holds: what it waits for, in words; "" where it is open.
        left: how much is left, in a unit of the gate's own; less than before is progress.
        expected_s: seconds in which nothing needs to come nearer, e.g. until a notice is over; patience begins after them.
    """

    holds: str = ""
    left: float = 0.0
    expected_s: float = 0.0


@dataclass(frozen=True, slots=True)
class Gate:
    """What the cluster must report before the next step; systemd alone is never asked.

    Attributes:
        title: what must be true, e.g. ``all placement groups are active and clean``.
        look: asks the cluster; an AvadmError counts as no progress.
        patience: seconds without progress after which the operation ends.
        every: seconds between two looks.
        remedy: what else users can do where it does not open, a sentence.
    """

    title: str
    look: Callable[[], Progress]
    patience: float = 600.0
    every: float = 3.0
    remedy: str = ""


def attempt(refusals: list[Finding], ask: Callable[[], Any]) -> Any:
    """Return an answer; None where there is none, which is a refusal of its own.

    Args:
        refusals: those of the plan; grows by what the question raises.
        ask: the question.
    """
    try:
        return ask()
    except AvadmError as error:
        refusals += error.findings
        return None


def nothing(tell: Tell) -> None:
    """Do nothing: the step is its settings, or its gate."""


@dataclass(frozen=True, slots=True)
class Step:
    """One step of an operation. It can be done again: it does what is missing, a second time changes nothing.

    Attributes:
        name: the step, unique in its operation, as the plan shows it.
        act: does it; given the function that shows progress. What it returns says nothing.
        nodes: the nodes on which it changes something; no other is touched.
        done: asks the cluster whether it is done already; without it the step is always run.
        settings: what is set while it runs; consecutive steps share what both have.
        gate: what must be true after it.
        undo: takes back what a failed step has changed, its gate's failure included; a stopped one is continued instead.
        then: plans all steps after it again once it is done, from what the cluster reports then; they take the place of those
            that the plan showed.
    """

    name: str
    act: Callable[[Tell], object]
    nodes: tuple[str, ...] = ()
    done: Callable[[], bool] | None = None
    settings: tuple[Setting, ...] = ()
    gate: Gate | None = None
    undo: Callable[[Tell], None] | None = None
    then: Callable[[], Sequence[Step]] | None = None

    def as_dict(self) -> dict[str, Any]:
        """Return it JSON-ready."""
        return {
            "name": self.name,
            "undone": self.undo is not None,
            "nodes": list(self.nodes),
            "settings": [s.title for s in self.settings],
            "gate": self.gate.title if self.gate else None,
        }


@dataclass(frozen=True, slots=True)
class Interruption:
    """What users notice of an operation.

    Attributes:
        what: the service, and what happens to it.
        seconds: how long at most; None where that cannot be known.
    """

    what: str
    seconds: float | None = 0.0


@dataclass(frozen=True, slots=True)
class LeavingRun:
    """A run of AVA that leaves a node.

    Attributes:
        node: the node's name.
        run: the run.
        text: what, whose, how old, and how it leaves.
    """

    node: str
    run: Run
    text: str

    def as_dict(self) -> dict[str, Any]:
        """Return it JSON-ready."""
        return {"node": self.node, **self.run.as_dict()}


@dataclass(frozen=True, slots=True)
class Operation:
    """An operation on a running site, as it was planned from what the cluster reported.

    Attributes:
        verb: its verb, e.g. ``maintenance begin``.
        command: the whole command; the same one continues it.
        steps: what is done, in this order.
        components: names of the components that must not be changed while it is half done.
        interrupts: what users notice.
        packages: what is installed or removed, ``NODE: NAME OLD → NEW``.
        refusals: what speaks against it, all of one pass; of each the check's id can be accepted if it is in `acceptable`.
        acceptable: ids of refusals that a user may accept.
        keeps: owner of the settings that stay when it ends well; none stay where empty.
        notes: what is recorded of the site when it ends well, by name; None removes the name.
        runs: AVA's runs that leave nodes.
    """

    verb: str
    command: str
    steps: Sequence[Step]
    components: frozenset[str] = frozenset()
    interrupts: Sequence[Interruption] = ()
    packages: Sequence[str] = ()
    refusals: Sequence[Finding] = ()
    acceptable: frozenset[str] = frozenset()
    keeps: str = ""
    notes: dict[str, dict[str, Any] | None] = field(default_factory=dict)
    runs: Sequence[LeavingRun] = ()

    @property
    def nodes(self) -> list[str]:
        """The nodes that it touches, each once."""
        return list(dict.fromkeys(node for step in self.steps for node in step.nodes))

    def as_dict(self) -> dict[str, Any]:
        """Return the plan JSON-ready."""
        return {
            "verb": self.verb,
            "command": self.command,
            "steps": [step.as_dict() for step in self.steps],
            "nodes": self.nodes,
            "interrupts": [{"what": i.what, "seconds": i.seconds} for i in self.interrupts],
            "packages": list(self.packages),
            "runs": [one.as_dict() for one in self.runs],
            "refusals": [f.as_dict() for f in self.refusals],
        }
