"""The summary of a run, made from its events alone: counts, failures with remedies, the dead, the slowest."""

from __future__ import annotations

import heapq
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from typing import cast

from avadm.engine.known_errors import UNREACHABLE, remedy
from avadm.remote.events import Event, Kind
from avadm.state import summary as summaries
from avadm.state.run_folder import RunFolder
from avadm.state.summary import Change, Counts, FailureSummary, PhaseSummary, RunSummary, SlowTask

COUNTS = ("ok", "changed", "failed", "unreachable", "skipped")
SLOWEST = 20
KEPT_LINES = 30


@dataclass(slots=True)
class Failure:
    """One task that failed on one host (or a phase that failed as a whole, without a host).

    Attributes:
        remedy: what to do about it; that of the table of known errors where none is given.
    """

    phase: str
    host: str | None
    task: str
    message: str
    stdout: str = ""
    stderr: str = ""
    unreachable: bool = False
    remedy: str = ""

    def __post_init__(self) -> None:
        """Look the remedy up where none is given."""
        if not self.remedy:
            texts = (self.message, self.stderr, self.stdout, UNREACHABLE if self.unreachable else "")
            self.remedy = remedy(self.host or "the controller", *texts)


@dataclass(slots=True)
class PhaseResult:
    """How one phase went.

    Attributes:
        name: the phase.
        state: ``done``, ``failed``, ``canceled``, ``waiting`` (not started) or ``running``.
        seconds: wall time.
        expected: the nodes that took part.
        hosts: host to counts.
        no_hosts_left: whether Ansible gave the phase up before its end.
        note: why it is waiting, or what was proven.
        because: why it had to run, where it was done before.
    """

    name: str
    state: str = "running"
    seconds: float = 0.0
    expected: tuple[str, ...] = ()
    hosts: dict[str, Counts] = field(default_factory=dict)
    no_hosts_left: bool = False
    note: str = ""
    because: list[str] = field(default_factory=list)

    def count(self, what: str) -> int:
        """Return the sum of one count over the hosts."""
        return sum(h.get(what, 0) for h in self.hosts.values())

    def as_dict(self) -> PhaseSummary:
        """Return the phase as JSON-ready data."""
        data = {"name": self.name, "state": self.state, "seconds": round(self.seconds, 1)}
        data |= {c: self.count(c) for c in COUNTS}
        return cast(PhaseSummary, data | {"note": self.note, "because": self.because, "hosts": self.hosts})


class Summary:
    """Adds events up; not safe for several threads by itself (the recorder holds a lock)."""

    def __init__(self, events: Iterable[Event] = ()) -> None:
        self.phases: dict[str, PhaseResult] = {}
        self.checks: list[Event] = []
        self._failures: dict[tuple[str, str | None], list[Failure]] = {}
        self._log: dict[str, list[str]] = {}
        self._times: dict[tuple[str, str], tuple[float, str]] = {}
        self._changes: dict[tuple[str, str], list[str]] = {}
        for event in events:
            self.add(event)

    def add(self, event: Event) -> None:
        """Take one more event into account."""
        phase = self.phases.setdefault(event.phase, PhaseResult(event.phase))
        match event.kind:
            case Kind.PHASE_START:
                phase.expected, phase.state = event.hosts, "running"
            case Kind.PHASE_END:
                phase.state, phase.seconds = event.message, event.seconds or 0.0
            case Kind.WAITING:
                phase.state, phase.expected, phase.note = "waiting", event.hosts, event.message
            case Kind.UNCHANGED:
                phase.state, phase.expected, phase.note = "unchanged", event.hosts, event.message
                phase.hosts = {h: dict.fromkeys(COUNTS, 0) for h in event.hosts}
            case Kind.BECAUSE:
                phase.because.append(event.message)
            case Kind.STATS:
                phase.hosts = {h: dict(c) for h, c in event.stats.items()}
            case Kind.NO_HOSTS_LEFT:
                phase.no_hosts_left = True
            case Kind.FAILED | Kind.UNREACHABLE:
                self._fail(event)
            case Kind.CHECK:
                self.checks.append(event)
            case Kind.LOG:
                # Only the end matters: a playbook that cannot start says why in its last lines.
                self._log[event.phase] = [*self._log.get(event.phase, []), event.message][-KEPT_LINES:]
        if event.seconds is not None and event.host is not None:
            self._time(event, event.host, event.seconds)

    def _fail(self, event: Event) -> None:
        failure = Failure(
            event.phase,
            event.host,
            event.task or "",
            event.message,
            event.stdout,
            event.stderr,
            event.kind is Kind.UNREACHABLE,
        )
        self._failures.setdefault((event.phase, event.host), []).append(failure)

    def _time(self, event: Event, host: str, seconds: float) -> None:
        key = (event.phase, event.task or "")
        if seconds > self._times.get(key, (-1.0, ""))[0]:
            self._times[key] = (seconds, host)
        if event.kind is Kind.CHANGED:
            self._changes.setdefault(key, []).append(host)

    @property
    def failures(self) -> list[Failure]:
        """The failures that stand: of hosts whose end result is bad, the last one of each phase and host.

        A failure that the playbook rescued, or an unreachable host that answered again, is not among them.
        """
        out: list[Failure] = []
        for name, phase in self.phases.items():
            found = [f for (p, _), fs in self._failures.items() if p == name for f in fs[-1:]]
            if phase.hosts:
                found = [f for f in found if f.host is None or self._bad(phase, f.host)]
            found += [
                Failure(name, c.host, "versions check", c.message, remedy=c.remedy)
                for c in self.checks
                if c.phase == name
            ]
            if not found and not phase.count("unreachable") and phase.state == "failed":
                found = [self._whole(name)]
            out += found
        return out

    @staticmethod
    def _bad(phase: PhaseResult, host: str) -> bool:
        counts = phase.hosts.get(host, {})
        return bool(counts.get("failed") or counts.get("unreachable"))

    def _whole(self, phase: str) -> Failure:
        """Return the failure of a phase that failed without one of a host: it could not start."""
        text = "\n".join(self._log.get(phase, []))
        at = text.find("ERROR!")
        text = text[at + len("ERROR!") :] if at >= 0 else text
        return Failure(phase, None, "start of the playbook", text.strip() or "ended without a word")

    @property
    def dead(self) -> list[str]:
        """Hosts that could not be reached and did not answer again."""
        names = {f.host for f in self.failures if f.unreachable and f.host}
        return sorted(names)

    @property
    def slowest(self) -> list[SlowTask]:
        """The slowest tasks, slowest first, each with its slowest host and the seconds there."""
        times = heapq.nlargest(SLOWEST, self._times.items(), key=lambda item: item[1][0])
        return [{"phase": p, "task": t, "host": host, "seconds": s} for (p, t), (s, host) in times]

    @property
    def changes(self) -> list[Change]:
        """The tasks that changed something, in order, with their hosts."""
        return [{"phase": p, "task": t, "hosts": hosts} for (p, t), hosts in self._changes.items()]

    @property
    def changed(self) -> int:
        """How many tasks changed something, over all hosts."""
        return sum(p.count("changed") for p in self.phases.values())

    @property
    def result(self) -> str:
        """``good``, ``failed`` or ``canceled``."""
        states = {p.state for p in self.phases.values()}
        if "canceled" in states:
            return "canceled"
        return "failed" if states & {"failed", "waiting", "running"} or self.failures else "good"

    def hosts(self) -> dict[str, Counts]:
        """Return each host's counts over all phases."""
        out: dict[str, Counts] = {}
        for phase in self.phases.values():
            for host, counts in phase.hosts.items():
                sums = out.setdefault(host, dict.fromkeys(COUNTS, 0))
                for name in COUNTS:
                    sums[name] += counts.get(name, 0)
        return dict(sorted(out.items()))

    def as_dict(self) -> RunSummary:
        """Return the whole as JSON-ready data (summary.json)."""
        return {
            "result": self.result,
            "changed": self.changed,
            "hosts": self.hosts(),
            "phases": [p.as_dict() for p in self.phases.values()],
            "failures": [cast(FailureSummary, asdict(f)) for f in self.failures],
            "dead": self.dead,
            "changes": self.changes,
            "slowest": self.slowest,
        }


def of_run(folder: RunFolder) -> RunSummary:
    """Return the summary of a run; what its events tell where it was killed before it wrote one, or is at work."""
    data = summaries.read(folder)
    if "phases" not in data:
        events = list(folder.events())
        seconds = round(events[-1].time - events[0].time, 1) if events else 0.0
        report = RunSummary(result="unfinished", seconds=seconds, check=False, next="avadm apply")
        data = {**Summary(events).as_dict(), **report, **data}
    here: RunSummary = {"log": str(folder.log), "changes": []}
    return {**here, **data, "run": folder.id, "verb": folder.verb}
