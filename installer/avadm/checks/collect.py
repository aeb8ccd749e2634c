"""Collecting facts: one round trip to each node, all nodes at once."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from statistics import median_low
from typing import Any

from avadm.checks.evidence import Clock, PreflightContext
from avadm.checks.peers import Peer, peers
from avadm.components.base.variables import keyring, late_packages, packages
from avadm.components.catalog import taken
from avadm.disks.approvals import approvals
from avadm.remote.call import Answer, Function, Progress, T, ask, mapping
from avadm.remote.fleet import Fleet, Result
from avadm.site import internet
from avadm.site.model import Node, Site
from avadm.site.profile import Profile
from avadm_node.probes.preflight import facts as asking

TIMEOUT = 180.0  # seconds; a first fetch of package lists over a slow line
TRIES = 3  # of measuring a clock again, in each pass
PASSES = (
    8,
    1,
)  # clocks measured at once: a few, and those that are not sure even then alone, undisturbed by others


def collect(
    site: Site, profile: Profile, nodes: list[Node], fleet: Fleet, only: Collection[str] | None = None
) -> PreflightContext:
    """Ask every node for its facts.

    Args:
        site: the site.
        profile: its profile.
        nodes: the nodes to ask.
        fleet: how to reach them.
        only: the facts that are needed; all where None.
    """
    around = peers(nodes, site.network)
    given = {node.name: _parameters(site, profile, node, around[node.name], only) for node in nodes}
    limit = site.time.max_skew_ms if only is None or "clock" in only else None
    answers, clocks = gather(
        fleet, profile.python, asking.collect, given, read=mapping, timeout=TIMEOUT, max_skew_ms=limit
    )
    facts: dict[str, Any] = {}
    unreachable: dict[str, str] = {}
    for name, answer in answers.items():
        if answer.value is not None:
            facts[name] = {**answer.value, "clock": answer.stamps}
            continue
        silent = answer.result.error is not None
        unreachable[name] = (
            answer.why if silent else f"{profile.python} on {name} gave no facts: {answer.why}"
        )
    return PreflightContext(site, profile, nodes, facts, unreachable, clocks)


def gather(
    fleet: Fleet,
    python: str,
    function: Function,
    given: Mapping[str, object],
    *,
    read: Callable[[Any], T],
    timeout: float,
    max_skew_ms: float | None = None,
    progress: Progress | None = None,
) -> tuple[dict[str, Answer[T]], dict[str, Clock]]:
    """Call a probe on nodes; return their answers, and the clocks of those that gave facts.

    Args:
        fleet: how to reach them.
        python: their Python.
        function: the probe.
        given: node to what the probe is given.
        read: makes a value of an answer.
        timeout: seconds that a node has.
        max_skew_ms: clocks are measured until it is sure that they are within it; once where None.
        progress: is called as answers come.
    """
    answers = ask(
        fleet,
        python,
        function,
        given,
        read=read,
        timeout=timeout,
        stamped=True,
        progress=progress or (lambda *_: None),
    )
    clocks = {
        name: clock_of(a.result, *a.stamps)
        for name, a in answers.items()
        if a.value is not None and a.stamps is not None
    }
    if max_skew_ms is not None:
        sharpen(clocks, fleet, max_skew_ms)
    return answers, clocks


def _parameters(
    site: Site, profile: Profile, node: Node, asked: list[Peer], only: Collection[str] | None
) -> dict[str, Any]:
    """Return what a node is asked with."""
    pulls = bool({"master", "worker"} & set(node.roles))
    foreign = {r.name: r.ca for r in site.components.kubernetes.registries}
    return {
        "packages": packages(site, node, profile) + late_packages(site, node, profile),
        "proxy": site.packages.proxy,
        "sources": site.packages.sources,
        "keys": {name: keyring(text) for name, text in site.packages.keys.items()},
        "devices": [d.model_dump(include={"serial", "wwn", "by_id"}) for d in node.devices],
        "ports": sorted(taken(site, node)),
        "own": [str(a) for a in (node.address, node.storage_address) if a is not None],
        "names": [node.name, f"{node.name}.{site.network.domain}"],
        "peers": [asdict(p) for p in asked],
        "ssh_port": site.ssh.port,
        "time": site.time.servers,
        "registries": foreign if pulls else {},
        "internet_proxy": site.packages.internet_proxy if pulls else None,
        "proxied_registries": [name for name in foreign if internet.proxy_for(name, site, profile)],
        "proof": approvals(site, node) if node.devices and (only is None or "proof" in only) else None,
        "only": None if only is None else sorted(only),
    }


def clock_of(result: Result, first: float, last: float) -> Clock:
    """Return a node's clock from four times, as NTP does: what passes between its own two is no error."""
    sent, received = result.started, result.started + result.seconds
    offset = ((first - sent) + (last - received)) / 2
    unobserved = max(0.0, (received - sent) - (last - first))
    return Clock(offset * 1000, unobserved / 2 * 1000)


def sharpen(clocks: dict[str, Clock], fleet: Fleet, limit: float) -> None:
    """Measure again the clocks of which it is not sure yet that they are right, or wrong."""
    if not clocks:
        return
    middle = median_low(c.offset_ms for c in clocks.values())

    def sure(clock: Clock) -> bool:
        # Two clocks that are each within half of the limit of the middle one are within the limit of each other.
        away = abs(clock.offset_ms - middle)
        return away + clock.error_ms <= limit / 2 or away - clock.error_ms > limit

    def measure(name: str) -> Clock:
        best = clocks[name]
        for _ in range(TRIES):
            if sure(best):
                break
            result = fleet.run(name, "date +%s.%N", timeout=5)
            try:
                stamp = float(result.stdout)
            except ValueError:
                break
            best = min(best, clock_of(result, stamp, stamp), key=lambda c: c.error_ms)
        return best

    for at_once in PASSES:
        vague = [name for name, clock in clocks.items() if not sure(clock)]
        with ThreadPoolExecutor(at_once, thread_name_prefix="clocks") as pool:
            try:
                clocks.update(zip(vague, pool.map(measure, vague), strict=True))
            except BaseException:
                # ctrl-C: the pool would wait for those it has begun with.
                fleet.close(vague)
                raise
