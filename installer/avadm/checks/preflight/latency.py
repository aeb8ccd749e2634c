"""Round trips between nodes: none lost, none too long, none far above what is usual here.

Each node measures a few peers (checks/peers.py), so that one bad node shows in all of its pairs and is named.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from statistics import median_low
from typing import Any, NamedTuple

from avadm.catalogue import finding
from avadm.checks.evidence import PreflightContext
from avadm.checks.framework import Check
from avadm.findings import Finding
from avadm.quantity import quantity

LOSS = 0.2  # share of ten requests; one lost is reported as a warning
# A pair is an outlier beyond the nodes' median by this many standard deviations (1.4826 x the median absolute deviation), if
# it is also twice the median and this many milliseconds above it: on a quiet network all are within a tenth.
DEVIATIONS, SCALE, TIMES, FLOOR_MS = 6.0, 1.4826, 2.0, 0.25
SHOWN = 4  # pairs named in one finding


class Pair(NamedTuple):
    """One measured way: from and to, on which network, and what the probe tells."""

    first: str
    second: str
    network: str
    fact: dict[str, Any]

    @property
    def best(self) -> float | None:
        """Shortest round trip in ms: what waiting for a busy CPU adds is not the network's; None without any."""
        return self.fact["ms"][0] if self.fact["ms"] else None

    @property
    def lost(self) -> float:
        """Share of the requests that were not answered."""
        return 1 - len(self.fact["ms"]) / int(self.fact["sent"])

    def __str__(self) -> str:
        return f"{self.first}–{self.second}"


class Fault(NamedTuple):
    """What is wrong with some pairs: the same code for all of them, and what was found on each."""

    code: str
    wanted: str
    pairs: list[tuple[Pair, str]]


def pairs(context: PreflightContext) -> list[Pair]:
    """Return what was measured, without pairs whose other end could not be asked at all."""
    known = set(context.facts)
    return [
        Pair(node.name, fact["name"], fact["network"], fact)
        for node, facts in context.each("peers")
        for fact in facts
        if fact["name"] in known
    ]


def judge(context: PreflightContext) -> list[Finding]:
    """Return a finding per node that is common to most of its bad pairs, and per bad pair that none explains."""
    found = []
    everything = pairs(context)
    for network in ("management", "storage"):
        here = [p for p in everything if p.network == network]
        for fault in (_losing(here), _late(context, here), _unusual(context, here)):
            found += findings(fault, here, f"{network} network")
    return found


def _losing(here: list[Pair]) -> Fault:
    bad = [p for p in here if p.lost > 0]
    worst = max((p.lost for p in bad), default=0.0)
    return Fault(
        "latency-loss" if worst >= LOSS else "latency-loss-few",
        "none",
        [(p, f"{p.lost:.0%} lost") for p in bad],
    )


def _late(context: PreflightContext, here: list[Pair]) -> Fault:
    limit = context.site.network.max_latency_ms
    return Fault(
        "latency",
        f"at most {limit:g} ms (network.max_latency_ms)",
        [(p, f"{p.best:.2f} ms") for p in here if p.best is not None and p.best > limit],
    )


def _unusual(context: PreflightContext, here: list[Pair]) -> Fault:
    of: dict[str, list[float]] = defaultdict(list)
    for pair in here:
        for name in (pair.first, pair.second):
            of[name] += [] if pair.best is None else [pair.best]
    # Of each node first: among three nodes one bad one spoils two of three pairs, but only its own middle.
    middles = [median_low(times) for times in of.values() if times]
    usual = median_low(middles) if middles else 0.0
    deviation = SCALE * median_low(abs(m - usual) for m in middles) if middles else 0.0
    limit = max(usual + DEVIATIONS * deviation, TIMES * usual, usual + FLOOR_MS)
    most = context.site.network.max_latency_ms
    return Fault(
        "latency-unusual",
        f"about {usual:.2f} ms, as most of {quantity(len(here), 'pair')}",
        [(p, f"{p.best:.2f} ms") for p in here if p.best is not None and limit < p.best <= most],
    )


def findings(fault: Fault, here: Iterable[Pair], where: str) -> list[Finding]:
    """Return a fault's findings: nodes to which most of their pairs' trouble is common, then what is left."""
    of: dict[str, set[tuple[str, str]]] = defaultdict(set)
    for pair in here:
        for name in (pair.first, pair.second):
            of[name].add((pair.first, pair.second))
    left, found = list(fault.pairs), []

    def of_pairs(some: list[tuple[Pair, str]], host: str | None, total: int) -> Finding:
        shown = ", ".join(f"{pair} {value}" for pair, value in some[:SHOWN])
        more = f", and {len(some) - SHOWN} more" if len(some) > SHOWN else ""
        count = f"{len(some)} of its {quantity(total, 'pair')}: " if host else ""
        return finding(fault.code, where, f"{count}{shown}{more}", fault.wanted, host=host)

    while left:
        bad: dict[str, int] = defaultdict(int)
        for pair, _ in left:
            bad[pair.first] += 1
            bad[pair.second] += 1
        host = max(bad, key=lambda n: (bad[n] / len(of[n]), bad[n]))
        if bad[host] < 2 or bad[host] * 2 < len(of[host]):
            break
        found.append(of_pairs([x for x in left if host in x[0][:2]], host, len(of[host])))
        left = [x for x in left if host not in x[0][:2]]
    return found + [of_pairs([x], None, 0) for x in left]


CHECK = Check("latency", "round trips between nodes", ("peers",), judge, scope="all")
