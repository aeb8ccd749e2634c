"""AVA's runs on nodes, and whether they have left; what the platform does is behind an interface.

That the platform stops a run means that its pods are going to end; whether they are gone is asked of Kubernetes.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Protocol

from avadm.kube.masters import Masters

SHOWN = 20
"""Runs that are named; the rest is counted."""
LONGEST_NOTICE_S = 7 * 86_400
"""Seconds; AVA refuses a longer one. No wait for runs is counted as expected beyond it."""
_UNITS = (("d", 86_400), ("h", 3600), ("min", 60))
Pods = Mapping[str, str]
"""Pods, NAMESPACE/NAME, with the run that each says it is of."""


@dataclass(frozen=True, slots=True)
class Notice:
    """What the owners of runs are given.

    Attributes:
        seconds: until workbenches stop.
        stop_runs: whether trainings are ended then too.
    """

    seconds: int = 1800
    stop_runs: bool = False


@dataclass(frozen=True, slots=True)
class Run:
    """A run of AVA with pods on a node.

    Attributes:
        id, kind, name, owner, group: the platform's.
        namespace: of its pods.
        since: when it had its nodes, or was admitted; UTC.
        leaves: when it leaves the node at the latest, UTC; None: it ends by itself, or the node is not drained.
        stopping: whether its end was asked for.
    """

    id: str
    kind: str
    name: str
    owner: str
    group: str
    namespace: str
    since: datetime | None = None
    leaves: datetime | None = None
    stopping: bool = False

    @property
    def identity(self) -> tuple[str, str]:
        """What a pod of it says: namespace and run."""
        return self.namespace, self.id

    def as_dict(self) -> dict[str, Any]:
        """Return it JSON-ready."""
        names = ("id", "kind", "name", "owner", "group")
        since = self.since.isoformat() if self.since else None
        leaves = self.leaves.isoformat() if self.leaves else None
        return {**{name: getattr(self, name) for name in names}, "since": since, "leaves": leaves}

    def planned(self, notice: Notice, now: datetime) -> str:
        """Return it for people before the node is drained: what, whose, how old, and how it will leave."""
        if self.stopping or self.leaves:
            end = self.end
        elif self.kind == "service":
            end = "moves to other nodes"
        elif self.kind == "workbench":
            end = f"stops {_long(notice.seconds)} after the notice to its owner"
        elif notice.stop_runs:
            end = f"is ended {_long(notice.seconds)} after the notice to its owner"
        else:
            end = "is waited for"
        return f"{self.words(now)}: {end}"

    def words(self, now: datetime) -> str:
        """Return it for people: what, whose and how old."""
        age = f", {_age((now - self.since).total_seconds())}" if self.since else ""
        return f"{self.kind} {self.name} of {self.owner} ({self.id}{age})"

    @property
    def end(self) -> str:
        """How it leaves a node that is drained, for people."""
        if self.stopping:
            return "is stopping"
        at = f"{self.leaves:%Y-%m-%d %H:%M} UTC" if self.leaves else ""
        if self.kind == "service":
            return "moves" + (f" by {at}" if at else "")
        return f"stops at {at}" if at else "ends by itself, or when its owner agrees"

    @property
    def title(self) -> str:
        """What, whose, and how it leaves; without its age, so that the same text comes again while nothing changes."""
        return f"{self.kind} {self.name} of {self.owner} ({self.id}): {self.end}"


@dataclass(frozen=True, slots=True)
class NodeRuns:
    """What the platform knows of a node.

    Attributes:
        runs: the runs on it as last seen, oldest first.
        until: when the notice to their owners is over, UTC; None: the node is not drained.
    """

    runs: Sequence[Run] = ()
    until: datetime | None = None


class Platform(Protocol):
    """What avadm asks of AVA. Each raises AvadmError where it cannot be asked or refuses."""

    def node(self, name: str) -> NodeRuns:
        """Return the runs on a node, and whether it is drained."""

    def begin(self, node: str, notice: Notice) -> None:
        """Have the runs of a node leave it, their owners notified; the first notice stays."""

    def withdraw(self, node: str) -> None:
        """Let the runs of a node stay."""

    def close(self) -> None:
        """End the connection; the next question makes another."""


@dataclass(frozen=True, slots=True)
class RunsLeft:
    """The runs that are still on nodes.

    Attributes:
        pods: how many pods of runs are left.
        words: the runs and pods, for people; the first few.
        expected_s: seconds until the last of them leaves as announced; 0 where nothing more is announced.
    """

    pods: int = 0
    words: Sequence[str] = field(default=())
    expected_s: float = 0.0


def utc() -> datetime:
    """Return the time."""
    return datetime.now(UTC)


def runs_left(
    masters: Masters,
    platform: Platform,
    nodes: Collection[str],
    ignored: Collection[str] = (),
    now: datetime | None = None,
) -> RunsLeft:
    """Return what is left of AVA's runs on nodes that are drained; the platform is not asked where no pod is.

    Args:
        masters: asked for the nodes' pods.
        platform: asked for its runs.
        nodes: their names.
        ignored: pods that say they are of runs that the platform does not know: they are evicted.
        now: the time, UTC.

    Raises:
        AvadmError: the masters or the platform cannot be asked.
    """
    time = now or utc()
    # What is refused is not asked for again; only runs matter here.
    seen = masters.ask("look", list(nodes), force=True, delete_local_data=True, nowhere=True)
    words: list[str] = []
    count, expected = 0, 0.0
    for node in nodes:
        pods = {pod: run for pod, run in seen[node].get("runs", {}).items() if pod not in ignored}
        if not pods:
            continue
        count += len(pods)
        known = platform.node(node)
        runs = present(known.runs, pods)
        held = {run.identity for run in runs}
        # A pod whose run the platform has ended, or does not know yet.
        others = [f"pod {pod}" for pod, run in sorted(pods.items()) if identity(pod, run) not in held]
        if known.until is None:
            others.append("AVA has withdrawn the notice")
        words += [f"{node}: {one}" for one in (*(run.title for run in runs), *others)]
        ends = [known.until, *(run.leaves for run in runs if not run.stopping)]
        expected = max([expected, *((end - time).total_seconds() for end in ends if end is not None)])
    more = [f"and {len(words) - SHOWN} more"] if len(words) > SHOWN else []
    return RunsLeft(count, [*words[:SHOWN], *more], min(expected, LONGEST_NOTICE_S))


def present(runs: Iterable[Run], pods: Pods) -> list[Run]:
    """Return those runs of which there are pods; the platform's own knowledge may be some seconds old."""
    held = {identity(pod, run) for pod, run in pods.items()}
    return [run for run in runs if run.identity in held]


def identity(pod: str, run: str) -> tuple[str, str]:
    """Return namespace and run of a pod, NAMESPACE/NAME."""
    return pod.partition("/")[0], run


def _long(seconds: int) -> str:
    """Return a duration in the largest unit in which it is a whole number."""
    for unit, size in _UNITS:
        if seconds and seconds % size == 0:
            return f"{seconds // size} {unit}"
    return f"{seconds} s"


def _age(seconds: float) -> str:
    for unit, size in _UNITS:
        if seconds >= size:
            return f"{int(seconds // size)} {unit}"
    return f"{max(0, int(seconds))} s"
