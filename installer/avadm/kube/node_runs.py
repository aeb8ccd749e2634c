"""AVA's runs on a node, and waiting until they have left it; what the platform does is behind an interface.

That the platform stops a run says that its pods are going to end; that they are gone is asked of Kubernetes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Protocol

from avadm.catalogue import finding
from avadm.errors import AvadmError
from avadm.findings import Finding
from avadm.kube.masters import Masters
from avadm.quantity import quantity

EVERY_S = 10  # between two looks
TRIES = 3  # looks in a row that may fail: a master or the platform may be moving
SHOWN = 20  # runs that are named; the rest is counted
Tell = Callable[[str], None]


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
        leaves: when it leaves the node at the latest, UTC; None: it ends by itself.
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
        return {**{name: getattr(self, name) for name in names}, "since": since}

    def words(self, now: datetime) -> str:
        """Return it for people: what, whose, how old, and when it leaves."""
        age = f", {_age((now - self.since).total_seconds())}" if self.since else ""
        if self.stopping:
            end = "is stopping"
        elif self.kind == "service":
            end = "moves" + (f" by {self.leaves:%H:%M} UTC" if self.leaves else "")
        else:
            end = f"stops at {self.leaves:%H:%M} UTC" if self.leaves else "ends by itself"
        return f"{self.kind} {self.name} of {self.owner} ({self.id}{age}): {end}"


class Platform(Protocol):
    """What avadm asks of AVA. Each raises AvadmError where it cannot be asked or refuses."""

    def runs(self, node: str) -> list[Run]:
        """Return the runs on a node as last seen, oldest first."""

    def begin(self, node: str, notice: Notice) -> None:
        """Have the runs of a node leave it, their owners notified; the first notice stays."""

    def withdraw(self, node: str) -> None:
        """Let the runs of a node stay."""


def utc() -> datetime:
    """Return the time."""
    return datetime.now(UTC)


def wait_for_runs(
    masters: Masters,
    platform: Platform,
    node: str,
    timeout: float,
    tell: Tell,
    begun: set[str],
    clock: Callable[[], float],
    sleep: Callable[[float], None],
    now: Callable[[], datetime] = utc,
) -> list[Run]:
    """Wait until no pod of AVA's runs is on a node; return the runs that have left.

    Args:
        masters: asked for the node's pods.
        platform: asked for its runs.
        node: its name; it is cordoned, and its drain begun.
        timeout: seconds after the last notice that is known, and after the beginning.
        tell: shows one line.
        begun: gets the node as soon as a run has left it, or where the time is over: it stays cordoned then.
        clock: seconds.
        sleep: waits so many of them.
        now: the time, UTC.

    Raises:
        AvadmError: runs are left when the time is over, or neither could be asked several times in a row.
    """
    met: dict[str, Run] = {}
    latest, failed, shown = clock(), 0, ""
    while True:
        try:
            pods = masters.ask("look", [node], force=True, delete_local_data=True)[node].get("runs", {})
            known = {run.identity: run for run in platform.runs(node)} if pods else {}
        except AvadmError as error:
            failed += 1
            if failed == TRIES:
                raise
            tell(f"{node}: {error} It is tried again.")
            sleep(EVERY_S / 2)
            continue
        failed = 0
        there = {(pod.partition("/")[0], run): pod for pod, run in pods.items()}
        left = [known[one] for one in known if one in there]
        met |= {run.id: run for run in left}
        gone = [run for id, run in met.items() if id not in pods.values()]
        if gone:
            begun.add(node)
        if not pods:
            return gone
        # A pod whose run the platform has ended, or does not know yet.
        strangers = [pod for one, pod in there.items() if one not in known]
        # Only notices that are not over: a run without an end must not move the time on with each look.
        latest = max([latest, *(clock() + wait for run in left if (wait := _until(run, now())) > 0)])
        words = [run.words(now()) for run in left] + [f"pod {pod}" for pod in strangers]
        if clock() >= latest + timeout:
            begun.add(node)
            raise AvadmError(_left(node, words, timeout))
        if (text := "\n".join(sorted(_key(run) for run in left) + sorted(strangers))) != shown:
            for line in _first(words):
                tell(f"{node}: {line}")
            shown = text
        sleep(EVERY_S)


def _key(run: Run) -> str:
    return f"{run.id} {run.leaves} {run.stopping}"


def _until(run: Run, now: datetime) -> float:
    """Return the seconds until a run leaves at the latest; 0 where that is not known or over."""
    return max(0.0, (run.leaves - now).total_seconds()) if run.leaves and not run.stopping else 0.0


def _left(node: str, words: Sequence[str], timeout: float) -> Finding:
    return finding(
        "drain-runs-left",
        found="; ".join(_first(words)),
        wanted="no run on the node",
        host=node,
        timeout=timeout,
        node=node,
        count=quantity(len(words), "run is", "runs are"),
    )


def _first(words: Sequence[str]) -> list[str]:
    more = len(words) - SHOWN
    return [*words[:SHOWN], *([f"and {more} more"] if more > 0 else [])]


def _age(seconds: float) -> str:
    for unit, size in (("d", 86_400), ("h", 3600), ("min", 60)):
        if seconds >= size:
            return f"{int(seconds // size)} {unit}"
    return f"{max(0, int(seconds))} s"
