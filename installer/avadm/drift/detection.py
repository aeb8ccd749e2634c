"""Whether a phase that is done is still so: its recorded state, its inputs, and what its nodes say now."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from avadm.drift.collector import Answers, Collector
from avadm.drift.report import PEERS, DriftReport, Reason, skipped_hosts
from avadm.inventory.desired import Desired
from avadm.inventory.digest import only_peers_changed, same
from avadm.plan.graph import ScheduledPhase
from avadm.remote.fleet import Fleet
from avadm.remote.managed_resources import UNPROVEN, kind
from avadm.state.records import SiteRecords
from avadm.state.site_state import PhaseState, SiteState
from avadm.state.snapshots import WHOLE, WRONG, HostSnapshot

RIGHT_OR_WRONG = frozenset({"absent", "health", "mon", "reload", "restart", "stopped", "unit"})
"""Kinds of which each value says itself whether it is right, whatever it was before."""
BUT_FOR = "healthy but for "
"""How the value of a cluster's health begins where it only warns."""


def is_current(desired: Desired, state: SiteState, step: ScheduledPhase) -> bool:
    """Whether a step is done on all its hosts with the desired inputs."""
    return not by_state(desired, state, step)


def by_state(desired: Desired, state: SiteState, step: ScheduledPhase) -> list[Reason]:
    """Return why a step has to run by its recorded state and its inputs alone."""
    out = []
    for host in step.hosts:
        entry = state.entry(step.name, host)
        if entry.state is PhaseState.PENDING:
            out.append(Reason(host, "pending", found="not done yet"))
        elif entry.state is not PhaseState.DONE:
            out.append(Reason(host, "failed", found=f"it was left {entry.state.value}"))
        elif only_peers_changed(entry.digest, now := desired.digests.host(step.phase, host)):
            out.append(Reason(host, PEERS, found="its peers have changed since it was done"))
        elif not same(entry.digest, now):
            out.append(Reason(host, "stale", found="its inputs are other than when it was done"))
    return out


def unasked(desired: Desired, state: SiteState, steps: Sequence[ScheduledPhase]) -> dict[str, DriftReport]:
    """Return for each step what its recorded state and its inputs alone tell; no node is asked."""
    return {s.name: DriftReport(tuple(by_state(desired, state, s)), {}, len(s.hosts)) for s in steps}


def detect_drift(
    desired: Desired, records: SiteRecords, fleet: Fleet, steps: Sequence[ScheduledPhase]
) -> dict[str, DriftReport]:
    """Return for each step whether it is proven unchanged, or why it has to run.

    All hosts are asked for everything at once, each in one round trip.

    Args:
        desired: what the site is to be.
        records: what it was when the steps were done.
        fleet: how to reach its nodes, which say what it is now.
        steps: the steps.
    """
    site = desired.site_file.site
    mons, nodes = {n.name for n in site.with_role("mon")}, {n.name for n in site.nodes}
    reasons = {step.name: by_state(desired, records.state, step) for step in steps}
    chosen: dict[str, dict[str, HostSnapshot]] = {}
    for step in steps:
        rest = _to_prove(step, reasons[step.name])
        if rest:
            kept_there, missing = _of(records, step, rest, mons, nodes)
            reasons[step.name] += missing
            if _to_prove(step, reasons[step.name]):
                chosen[step.name] = kept_there
    wanted: dict[str, set[str]] = {}
    for of_step in chosen.values():
        for host, kept in of_step.items():
            wanted.setdefault(host, set()).update(i for i in kept.values if kind(i) != UNPROVEN)
    collector = Collector(desired.site_file, fleet, records.snapshots.salt)
    answers = collector.ask(wanted) if wanted else Answers()
    out = {}
    for step in steps:
        counts: Counter[str] = Counter()
        warnings: dict[str, None] = {}
        for host, kept in chosen.get(step.name, {}).items():
            reasons[step.name] += _compare(host, kept, answers)
            counts.update(kind(item) for item in kept.values)
            warnings |= dict.fromkeys(_warnings(kept, answers.values.get(host, {})))
        out[step.name] = DriftReport(
            tuple(reasons[step.name]), dict(counts), len(step.hosts), tuple(warnings)
        )
    return out


def _to_prove(step: ScheduledPhase, reasons: Iterable[Reason]) -> tuple[str, ...]:
    """Return the hosts that are to be asked: those that are left out so far, and those of which only the peers changed."""
    return skipped_hosts(step, [r for r in reasons if r.state != PEERS])


def _of(
    records: SiteRecords,
    step: ScheduledPhase,
    hosts: Collection[str],
    mons: set[str],
    nodes: set[str],
) -> tuple[dict[str, HostSnapshot], list[Reason]]:
    """Return the fingerprints of a step's hosts, and those of which there is none that its state entry belongs to."""
    out: dict[str, HostSnapshot] = {}
    missing = []
    for host in hosts:
        kept = records.snapshots.get(step.name, host)
        if kept is None or kept.run != records.state.entry(step.name, host).run:
            missing.append(Reason(host, "unproven", found="there is no fingerprint of what it left"))
        else:
            out[host] = kept
    # What only a node kept that has left the site, no one keeps any more.
    whole = (
        [p for p in records.snapshots.of_cluster(step.name) if p.host in nodes] if mons & set(hosts) else []
    )
    if any(p.run != records.state.entry(step.name, p.host).run for p in whole):
        missing.append(Reason(WHOLE, "unproven", found="there is no fingerprint of the cluster"))
    elif whole:
        out[WHOLE] = HostSnapshot("", WHOLE, {item: value for p in whole for item, value in p.values.items()})
    if not missing and not any(kept.values for kept in out.values()):
        missing.append(Reason(WHOLE, "unproven", found="nothing is known of what it keeps"))
    return out, missing


def _compare(host: str, kept: HostSnapshot, answers: Answers) -> list[Reason]:
    if host in answers.silent:
        return [Reason(host, "unreachable", found=f"it cannot be asked: {answers.silent[host]}")]
    now = answers.values.get(host, {})
    out = []
    for item, recorded in kept.values.items():
        if kind(item) == UNPROVEN:
            out.append(Reason(host, "unproven", found=f"cannot check what {item.partition(' ')[2]!r} keeps"))
            continue
        found = now.get(item, "!not reported")
        if found.startswith(WRONG) or (found != recorded and kind(item) not in RIGHT_OR_WRONG):
            out.append(Reason(host, "drift", item, recorded, found))
    return out


def _warnings(kept: HostSnapshot, now: Mapping[str, str]) -> Iterator[str]:
    """Yield what the cluster warns of, though it has all that phases need."""
    for item in kept.values:
        found = now.get(item, "")
        if kind(item) == "health" and found.startswith(BUT_FOR):
            yield f"ceph warns: {found.removeprefix(BUT_FOR)}"
