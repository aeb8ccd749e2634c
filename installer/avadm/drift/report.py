"""Why phases have to run, and what of them is proven unchanged: as data, as what is left to run, and for people."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from avadm.plan.graph import ScheduledPhase, subset
from avadm.quantity import quantity
from avadm.remote.events import Event, Kind
from avadm.remote.managed_resources import kind, readable
from avadm.state.snapshots import WHOLE, WRONG

PEERS = "peers"
"""State of a host on which only the peers have changed."""
COUNTED = {"file": "files", "unit": "units", "package": "packages"}


@dataclass(frozen=True, slots=True)
class Reason:
    """Why a phase has to run.

    Attributes:
        host: where; "" for the cluster as a whole.
        state: ``pending``, ``failed``, ``stale``, ``peers``, ``unreachable``, ``unproven`` or ``drift``.
        item: what drifted.
        recorded: its value when the phase had ended.
        found: its value now, or why the phase has to run.
    """

    host: str
    state: str
    item: str = ""
    recorded: str = ""
    found: str = ""

    @property
    def text(self) -> str:
        """The reason for people."""
        if not self.item:
            return self.found
        return f"{readable(self.item)}: {difference(self.item, self.recorded, self.found)}"


@dataclass(frozen=True, slots=True)
class DriftReport:
    """What is known of one step.

    Attributes:
        reasons: why it has to run; none where all that it keeps is proven unchanged.
        counts: kind of item to how many were proven.
        hosts: how many hosts were asked.
        warnings: what people should know, and no phase can fix: the doctor explains it.
    """

    reasons: tuple[Reason, ...]
    counts: dict[str, int]
    hosts: int
    warnings: tuple[str, ...] = ()

    @property
    def proven(self) -> bool:
        """Whether nothing has to be done."""
        return not self.reasons

    @property
    def text(self) -> str:
        """What was proven, for people."""
        parts = [f"{n} {name}" for k, name in COUNTED.items() if (n := self.counts.get(k, 0))]
        if others := sum(n for k, n in self.counts.items() if k not in COUNTED):
            parts.append(quantity(others, "setting"))
        return f"proven: {', '.join(parts)} on {quantity(self.hosts, 'host')}"


Reports = Mapping[str, DriftReport]
"""Phase to what is known of its drift; one that is not there runs on all its hosts."""


def skipped_hosts(step: ScheduledPhase, reasons: Iterable[Reason]) -> tuple[str, ...]:
    """Return the hosts of a step that need not run for the reasons that are known: all or none but where each is done apart."""
    for_what = {r.host for r in reasons}
    if for_what and (not step.phase.apart or WHOLE in for_what):
        return ()
    return tuple(host for host in step.hosts if host not in for_what)


def peer_only_hosts(step: ScheduledPhase, report: DriftReport | None) -> tuple[str, ...]:
    """Return the hosts of which only the peers changed: all else of the step is in sync."""
    if report is None or any(r.host == WHOLE for r in report.reasons):
        return ()
    states: dict[str, set[str]] = {}
    for reason in report.reasons:
        states.setdefault(reason.host, set()).add(reason.state)
    return tuple(host for host in step.hosts if states.get(host) == {PEERS})


def restrict(step: ScheduledPhase, report: DriftReport | None) -> ScheduledPhase:
    """Return a step without the hosts that are proven unchanged; one that is proven altogether runs on none."""
    proven = skipped_hosts(step, report.reasons) if report else ()
    if not proven:
        return step
    return replace(step, hosts=tuple(host for host in step.hosts if host not in proven), proven=proven)


def remaining(steps: Sequence[ScheduledPhase], reports: Reports) -> list[ScheduledPhase]:
    """Return what of a plan's steps is not proven unchanged, each on the hosts that need it."""
    left = [s.name for s in steps if s.name not in reports or not reports[s.name].proven]
    return [restrict(step, reports.get(step.name)) for step in subset(steps, left)]


def announced(steps: Sequence[ScheduledPhase], reports: Reports) -> Iterator[Event]:
    """Yield the lines shown for each step before anything runs."""
    for step in steps:
        report = reports.get(step.name)
        if report is None:
            continue
        if report.proven:
            yield Event(time.time(), step.name, Kind.UNCHANGED, message=report.text, hosts=step.hosts)
            continue
        others = len(skipped_hosts(step, report.reasons))
        lines = (
            summarize(report.reasons) if others or any(r.state != "pending" for r in report.reasons) else []
        )
        if others:
            are = "other node is" if others == 1 else "other nodes are"
            lines.append(f"only there: {others} {are} proven unchanged")
        for line in lines:
            yield Event(time.time(), step.name, Kind.BECAUSE, message=line)


def difference(item: str, recorded: str, found: str) -> str:
    """Return what is other than it was, without the hashes that tell people nothing."""
    found = found.removeprefix(WRONG)
    if recorded.startswith(WRONG):
        return found
    if kind(item) == "file" and len(before := recorded.split(" ")) == len(after := found.split(" ")) == 3:
        names = ("content", "mode", "owner")
        other = [(n, b, a) for n, b, a in zip(names, before, after, strict=True) if b != a]
        return ", ".join("other content" if n == "content" else f"{n} {b} → {a}" for n, b, a in other)
    return f"{_unhashed(recorded)} → {_unhashed(found)}"


def _unhashed(value: str) -> str:
    """Return a value with its hashes cut to what shows that they differ."""
    words = [
        w[:6] + "…" if len(w) >= 32 and set(w.strip(",")) <= set("0123456789abcdef") else w
        for w in value.split()
    ]
    return " ".join(words)


def warned(reports: Reports) -> list[str]:
    """Return the warnings of all steps, each once, for people."""
    found = dict.fromkeys(w for report in reports.values() for w in report.warnings)
    return [f"{text}. No phase can fix that: see `avadm doctor`." for text in found]


def summarize(reasons: Iterable[Reason], shown: int = 6) -> list[str]:
    """Return reasons for people: each once with its hosts, the first of many."""
    groups: dict[tuple[str, str], list[str]] = {}
    for reason in reasons:
        groups.setdefault((reason.state, reason.text), []).append(reason.host or "the cluster")
    lines = [
        f"{state} on {', '.join(hosts[:5])}{' …' * (len(hosts) > 5)}: {text}"
        for (state, text), hosts in groups.items()
    ]
    return lines[:shown] + ([f"… and {len(lines) - shown} more"] if len(lines) > shown else [])
