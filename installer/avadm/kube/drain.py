"""Cordoning and draining nodes: what kubectl on a master does (avadm_node/probes/kube/drain.py), for several nodes.

Where the site has AVA its runs leave first, as the platform sees to it (kube/node_runs.py): nothing makes their pods again.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Self

from avadm.catalogue import finding
from avadm.errors import AvadmError
from avadm.findings import Finding
from avadm.kube.masters import Masters
from avadm.kube.node_runs import Notice, Platform, Run, wait_for_runs
from avadm.quantity import quantity

SLICE_S = 10  # between two looks at what is left
TRIES = 3  # calls in a row that may fail while a node is drained: the API may be moving to another master
SHOWN = 5  # pods that are named; the rest is counted
REFUSALS = {
    "without-controller": (
        "nothing makes these pods again elsewhere",
        "--force evicts them: they are gone for good then",
    ),
    "local-data": (
        "these pods have data in an emptyDir, which go with them",
        "--delete-local-data evicts them all the same",
    ),
}
REFUSAL_IDS = {"without-controller": "pods-without-controller", "local-data": "pods-local-data"}
"""Why a drain is refused, to the id by which users of operations accept it."""
Tell = Callable[[str], None]


@dataclass
class Drained:
    """How one node was drained.

    Attributes:
        node: its name.
        was_cordoned: whether it had been cordoned before.
        evicted: pods that are gone, NAMESPACE/NAME.
        seconds: how long it took.
        runs: AVA's runs that have left it.
    """

    node: str
    was_cordoned: bool
    evicted: list[str] = field(default_factory=list)
    seconds: float = 0.0
    runs: list[Run] = field(default_factory=list)

    def as_dict(self) -> dict[str, Any]:
        """Return it JSON-ready."""
        runs = [run.as_dict() for run in self.runs]
        return {**vars(self), "seconds": round(self.seconds, 1), "runs": runs}


@dataclass(frozen=True)
class Allowed:
    """What a drain may do.

    Attributes:
        force: evict pods that nothing makes again.
        delete_local_data: evict pods whose data go with them.
        timeout: seconds for each node; for runs of AVA after their notice.
        notice: what the owners of AVA's runs are given.
    """

    force: bool = False
    delete_local_data: bool = False
    timeout: float = 600.0
    notice: Notice = field(default_factory=Notice)

    @classmethod
    def accepting(cls, accepted: Collection[str], timeout: float) -> Self:
        """Return what a drain may do whose refusals with these ids are accepted."""
        force, delete = (REFUSAL_IDS[why] in accepted for why in ("without-controller", "local-data"))
        return cls(force, delete, timeout)

    @property
    def words(self) -> dict[str, bool]:
        """Parameters of the code on the master."""
        return {"force": self.force, "delete_local_data": self.delete_local_data}


@dataclass(frozen=True)
class Plan:
    """What draining nodes means now.

    Attributes:
        cordoned: node to whether it is cordoned already.
        going: node to how many pods are evicted, those of runs left out.
        runs: node to AVA's runs on it.
        platform: AVA; None where the site has none, or nothing of it is on the nodes and it cannot be asked.
    """

    cordoned: dict[str, bool]
    going: dict[str, int]
    runs: dict[str, list[Run]]
    platform: Platform | None


def plan(
    masters: Masters, names: Sequence[str], allowed: Allowed, tell: Tell, platform: Platform | None = None
) -> Plan:
    """Look what draining nodes would mean, changing nothing.

    Raises:
        AvadmError: pods forbid it or a node is unknown, all reasons of all nodes; or AVA has runs there and cannot be asked.
    """
    seen = masters.ask("look", names, **allowed.words)
    runs: dict[str, list[Run]] = {name: [] for name in names}
    if platform is not None:
        try:
            runs = {name: _there(platform.runs(name), seen[name]) for name in names}
        except AvadmError as error:
            if not allowed.force and any(seen[name].get("runs") for name in names):
                raise AvadmError([*error.findings, *_unasked(names, seen)]) from error
            tell(f"AVA cannot be asked, and is left out: {error}")
            platform = None
    findings = [f for name in names for f in _speaks_against(name, _without(seen[name], runs[name]))]
    if findings:
        raise AvadmError(findings)
    going = {name: len(_others(seen[name]["going"], seen[name], runs[name])) for name in names}
    return Plan({name: seen[name]["cordoned"] for name in names}, going, runs, platform)


def drain(
    masters: Masters,
    names: Sequence[str],
    allowed: Allowed,
    tell: Tell,
    clock: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], None] = time.sleep,
    platform: Platform | None = None,
) -> list[Drained]:
    """Have all pods but those of daemon sets and static ones leave nodes, one node after the other.

    All nodes are cordoned before the first is drained, so that no pod goes from one to the next; owners of AVA's runs on all of
    them are notified then, so that their notices are over at the same time. Where it ends early, those that are drained, were
    begun, or did not get done in time stay cordoned; all others are as they were.

    Raises:
        AvadmError: nothing was done, since pods forbid it or a node is unknown; or a node was not drained in time.
    """
    known = plan(masters, names, allowed, tell, platform)
    platform = known.platform
    ours = [name for name in names if not known.cordoned[name]]
    every = [Drained(name, known.cordoned[name]) for name in names]
    begun: set[str] = set()
    try:
        masters.ask("cordon", names)
        if platform is not None:
            for name in names:
                platform.begin(name, allowed.notice)
        for one in every:
            tell(f"{one.node}: {quantity(known.going[one.node], 'pod')} to evict")
            if platform is not None:
                one.runs += wait_for_runs(
                    masters, platform, one.node, allowed.timeout, tell, begun, clock, sleep
                )
            _one(masters, one, allowed, tell, begun, clock, sleep)
    except AvadmError as error:
        back = _put_back(masters, ours, names, begun, platform)
        raise AvadmError([*error.findings, *back]) from error
    return every


def uncordon(masters: Masters, names: Sequence[str], tell: Tell, platform: Platform | None) -> dict[str, Any]:
    """Let new pods come to nodes again, and AVA's runs stay; return node to what that changed.

    Where AVA cannot be asked, it withdraws what it was asked for by itself: it sees that the nodes take pods.
    """
    answer = masters.ask("uncordon", names)
    if platform is not None:
        try:
            for name in names:
                platform.withdraw(name)
        except AvadmError as error:
            tell(f"AVA cannot be asked; it sees within a minute that runs may stay: {error}")
    return answer


def _there(runs: Iterable[Run], seen: Mapping[str, Any]) -> list[Run]:
    """Return those runs of which the node has pods; the platform's own knowledge may be some seconds old."""
    held = {run.identity for run in runs} & _identities(seen)
    return [run for run in runs if run.identity in held]


def _identities(seen: Mapping[str, Any]) -> set[tuple[str, str]]:
    return {(pod.partition("/")[0], run) for pod, run in seen.get("runs", {}).items()}


def _others(pods: Iterable[str], seen: Mapping[str, Any], runs: Iterable[Run]) -> list[str]:
    """Return the pods that are of none of these runs. A label alone proves nothing: the namespace must be the run's too."""
    held, reported = {run.identity for run in runs}, seen.get("runs", {})
    return [pod for pod in pods if (pod.partition("/")[0], reported.get(pod, "")) not in held]


def _without(seen: Mapping[str, Any], runs: Sequence[Run]) -> dict[str, Any]:
    """Return what was seen of a node without the refusals that are of AVA's runs: these leave by the platform."""
    left = {why: _others(pods, seen, runs) for why, pods in seen["refused"].items()}
    return {**seen, "refused": {why: pods for why, pods in left.items() if pods}}


def _unasked(names: Iterable[str], seen: Mapping[str, Any]) -> list[Finding]:
    return [
        finding("drain-platform", found=_pods(seen[name]["runs"]), host=name)
        for name in names
        if seen[name].get("runs")
    ]


def _one(
    masters: Masters,
    one: Drained,
    allowed: Allowed,
    tell: Tell,
    begun: set[str],
    clock: Callable[[], float],
    sleep: Callable[[float], None],
) -> None:
    """Drain one node, noting in `begun` that it must stay cordoned; AvadmError where it is not drained."""
    started, failed, shown = clock(), 0, ""
    while True:
        left = started + allowed.timeout - clock()
        seconds = max(1, min(SLICE_S, round(left)))
        try:
            report = masters.ask("drain", [one.node], wait=seconds + 10, seconds=seconds, **allowed.words)
        except AvadmError as error:
            failed += 1
            if failed == TRIES or left <= 0:
                raise
            tell(f"{one.node}: {error} It is tried again.")
            sleep(SLICE_S / 2)
            continue
        failed, answer = 0, report[one.node]
        one.evicted += [pod for pod in answer["evicted"] if pod not in one.evicted]
        if one.evicted or answer["done"]:
            begun.add(one.node)
        if answer["refused"]:
            raise AvadmError(_speaks_against(one.node, answer))
        one.seconds = clock() - started
        if answer["done"]:
            return
        words = _pods(f"{p['pod']} ({p['why']})" if p["why"] else p["pod"] for p in answer["left"])
        if one.seconds >= allowed.timeout:
            begun.add(one.node)
            raise AvadmError(_late(one.node, words, answer["left"], allowed))
        if words != shown:
            tell(f"{one.node}: {len(answer['left'])} left: {words}")
            shown = words


def _speaks_against(name: str, seen: Mapping[str, Any]) -> list[Finding]:
    """Return why a node cannot be drained; all reasons are one finding."""
    if seen["cordoned"] is None:
        remedy = f"`avadm apply nodes --limit {name}` makes it one."
        return [finding("node-unknown", host=name, remedy=remedy)]
    if not seen["refused"]:
        return []
    found = "; ".join(f"{REFUSALS[why][0]}: {_pods(pods)}" for why, pods in seen["refused"].items())
    remedy = "Delete or move them, or: " + "; ".join(f"{REFUSALS[why][1]}" for why in seen["refused"]) + "."
    wanted = "pods that are made again elsewhere, without data of their own on the node"
    return [finding("drain-refused", found=found, wanted=wanted, host=name, remedy=remedy)]


def _late(name: str, left: str, pods: Sequence[Mapping[str, str]], allowed: Allowed) -> Finding:
    remedy = (
        "The same command resumes where it stopped (--timeout gives it longer); "
        f"`avadm node uncordon {name}` gives up."
    )
    if any("kept by budget" in p["why"] for p in pods):
        remedy = "A budget lets go what is healthy elsewhere: give its pods room, or more replicas. " + remedy
    return finding(
        "drain-late",
        found=left,
        wanted="no pods but those of daemon sets and static ones",
        host=name,
        timeout=allowed.timeout,
        count=quantity(len(pods), "pod"),
        remedy=remedy,
    )


def _put_back(
    masters: Masters, ours: Sequence[str], names: Sequence[str], begun: set[str], platform: Platform | None
) -> list[Finding]:
    """Let pods come again to what we cordoned in vain; tell what stays cordoned, and what could not be put back."""
    back = [name for name in ours if name not in begun]
    findings = []
    if back:
        try:
            # AVA withdraws by itself where a node takes pods: a report of it here would only hide what has gone wrong.
            uncordon(masters, back, lambda line: None, platform)
        except AvadmError:
            findings.append(finding("left-cordoned-unknown", ", ".join(back), nodes=" ".join(back)))
    if stay := [name for name in names if name not in back]:
        findings.append(finding("left-cordoned", ", ".join(stay), nodes=" ".join(stay)))
    return findings


def _pods(names: Iterable[str]) -> str:
    """Return names of pods, the first few."""
    listed = list(names)
    more = len(listed) - SHOWN
    return ", ".join(listed[:SHOWN]) + (f" and {more} more" if more > 0 else "")
