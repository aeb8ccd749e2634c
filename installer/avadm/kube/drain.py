"""What a node's drain would evict, what forbids that, and the eviction: kubectl on a master, avadm_node/probes/kube/drain.py.

AVA's runs have left before (kube/node_runs.py): nothing makes their pods again. Steps of operations that do all of it in
order are in operations/drain.py.
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
from avadm.kube.node_runs import Platform
from avadm.quantity import quantity

SLICE_S = 10  # between two looks at what is left
TRIES = 3  # calls in a row that may fail while a node is drained: the API may be moving to another master
SHOWN = 5  # pods that are named; the rest is counted
REFUSAL_IDS = {
    "without-controller": "pods-without-controller",
    "local-data": "pods-local-data",
    "nowhere": "pods-nowhere",
}
"""Why pods are not evicted, to the id by which users accept it."""
NOWHERE = "nowhere"
"""Why pods are not evicted that may change by itself: another node is Ready again, or accepts pods."""
RUNS = "ava-runs"
"""Id of the refusal where AVA has runs on a node and cannot be asked about them."""
Tell = Callable[[str], None]


@dataclass
class Drained:
    """What was evicted from one node.

    Attributes:
        node: its name.
        evicted: pods that are gone, NAMESPACE/NAME.
        seconds: how long it took.
    """

    node: str
    evicted: list[str] = field(default_factory=list)
    seconds: float = 0.0


@dataclass(frozen=True)
class Allowed:
    """What an eviction may do.

    Attributes:
        force: evict pods that nothing makes again.
        delete_local_data: evict pods whose data go with them.
        runs: evict pods that say they are of AVA's runs, whatever that loses.
        nowhere: end pods that no other node takes, against their budgets.
        timeout: seconds for each node.
    """

    force: bool = False
    delete_local_data: bool = False
    runs: bool = False
    nowhere: bool = False
    timeout: float = 600.0

    @classmethod
    def accepting(cls, accepted: Collection[str], timeout: float, *, runs: bool = False) -> Self:
        """Return what an eviction may do where the refusals with these ids are accepted."""
        may = {why: id in accepted for why, id in REFUSAL_IDS.items()}
        return cls(
            force=may["without-controller"],
            delete_local_data=may["local-data"],
            runs=runs and RUNS in accepted,
            nowhere=may["nowhere"],
            timeout=timeout,
        )

    @property
    def words(self) -> dict[str, bool]:
        """Parameters of the code on the master."""
        return {
            "force": self.force,
            "delete_local_data": self.delete_local_data,
            "runs": self.runs,
            "nowhere": self.nowhere,
        }


def refusals(node: str, seen: Mapping[str, Any], exempt: Collection[str] = ()) -> list[Finding]:
    """Return what forbids to evict the pods of a node, each kind a finding of its own.

    Args:
        node: its name.
        seen: what a look at it reported.
        exempt: pods that are judged elsewhere: those of AVA's runs.
    """
    if seen["cordoned"] is None:
        return [unknown(node)]
    found = []
    for why, pods in seen["refused"].items():
        if not (left := [pod for pod in pods if pod not in exempt]):
            continue
        if why in REFUSAL_IDS:
            found.append(finding(REFUSAL_IDS[why], found=listed(left), host=node))
        else:
            remedy = "Update avadm: this release does not know the reason."
            found.append(finding("drain-refused", found=f"{why}: {listed(left)}", host=node, remedy=remedy))
    return found


def unknown(node: str) -> Finding:
    """Return the finding for a node that Kubernetes does not know."""
    return finding("node-unknown", host=node, remedy=f"`avadm apply nodes --limit {node}` makes it one.")


def evict(
    masters: Masters,
    node: str,
    allowed: Allowed,
    tell: Tell,
    clock: Callable[[], float] | None = None,
    sleep: Callable[[float], None] | None = None,
) -> Drained:
    """Evict all pods of a node but those of daemon sets and static ones; it is cordoned.

    Pods that no other node takes are waited for: a node that is not Ready for a moment ends no drain.

    Raises:
        AvadmError: pods forbid it that came meanwhile, or are left after the time, or no other node takes them then; or no
            master answered several times in a row.
    """
    clock, sleep = clock or time.monotonic, sleep or time.sleep
    one = Drained(node)
    started, failed, shown = clock(), 0, ""
    while True:
        left = started + allowed.timeout - clock()
        seconds = max(1, min(SLICE_S, round(left)))
        try:
            report = masters.ask("drain", [node], wait=seconds + 10, seconds=seconds, **allowed.words)
        except AvadmError as error:
            failed += 1
            if failed == TRIES or left <= 0:
                raise
            tell(f"{node}: {error} It is tried again.")
            sleep(SLICE_S / 2)
            continue
        failed, answer = 0, report[node]
        one.evicted += [pod for pod in answer["evicted"] if pod not in one.evicted]
        one.seconds = clock() - started
        if pods := answer["refused"].get(NOWHERE):
            if len(answer["refused"]) > 1 or one.seconds >= allowed.timeout:
                raise AvadmError(refusals(node, answer))
            if (words := listed(pods)) != shown:
                tell(f"{node}: waiting until another node takes {words}")
                shown = words
            sleep(min(SLICE_S, max(0.0, allowed.timeout - one.seconds)))
            continue
        if answer["refused"]:
            raise AvadmError(refusals(node, answer))
        if answer["done"]:
            return one
        words = listed(f"{p['pod']} ({p['why']})" if p["why"] else p["pod"] for p in answer["left"])
        if one.seconds >= allowed.timeout:
            raise AvadmError(_late(node, words, answer["left"], allowed))
        if words != shown:
            tell(f"{node}: {len(answer['left'])} left: {words}")
            shown = words


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


def _late(name: str, left: str, pods: Sequence[Mapping[str, str]], allowed: Allowed) -> Finding:
    remedy = "--timeout gives it longer."
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


def listed(names: Iterable[str]) -> str:
    """Return names, the first few."""
    every = list(names)
    more = len(every) - SHOWN
    return ", ".join(every[:SHOWN]) + (f" and {more} more" if more > 0 else "")
