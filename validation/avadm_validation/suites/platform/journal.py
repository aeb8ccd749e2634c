"""What was asked of the platform and what it answered, with the time of each: the raw file that numbers come from.

A line of JSON each. ``start`` and ``stop``: ``t`` is before the request; ``seen``: after the answer. So a time between a stop and
what was seen later is never shorter than it was.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from threading import Lock
from typing import Any

from ava.client import ApiError, Client
from ava.schemas.runs import RunOut
from avadm_validation.measuring.context import Context
from avadm_validation.suites.platform import polling

POD_FIELDS = {"name", "role", "index", "phase", "node", "reason", "message", "restarts"}
"""What is kept of a pod."""
ENDED = frozenset({"succeeded", "failed", "stopped", "aborted", "timed-out", "lost"})


@dataclass
class Journal:
    """One check's dealings with the platform as a user.

    Attributes:
        user: who deals.
        group: whose runs are looked at.
        states: each run's state, as last seen.
        runs: each run, as last seen.
        last: each pod that was asked for again, as last seen.
        reasons: why those of a run were not well.
    """

    user: Client
    group: str
    lines: list[str] = field(default_factory=list)
    states: dict[str, str] = field(default_factory=dict)
    runs: dict[str, RunOut] = field(default_factory=dict)
    last: dict[str, dict[str, Any]] = field(default_factory=dict)
    reasons: dict[str, set[str]] = field(default_factory=dict)
    lock: Lock = field(default_factory=Lock)

    def note(self, do: str, t: float | None = None, **more: Any) -> None:
        """Keep a line."""
        line = json.dumps({"t": round(polling.now() if t is None else t, 6), "do": do, **more})
        with self.lock:
            self.lines.append(line)

    def start(self, name: str, spec: Mapping[str, Any], user: Client | None = None, **more: Any) -> str:
        """Start a run and return its id; ApiError as the platform refuses it, which is noted too."""
        t = polling.now()
        try:
            run = (user or self.user).start(name, spec)
        except ApiError as error:
            codes = [p.code for p in error.problems]
            self.note("refused", t, name=name, status=error.status, codes=codes, **more)
            raise
        self.note("start", t, run=run.id, name=name, group=run.group, until=round(polling.now(), 6), **more)
        self._seen(run)
        return run.id

    def stop(self, run: str, **more: Any) -> None:
        """Ask for a run's end."""
        t = polling.now()
        self.user.stop(run)
        self.note("stop", t, run=run, **more)

    def look(self) -> dict[str, str]:
        """Look at all runs of the group; return their states by id."""
        for run in self.user.runs(group=self.group):
            self._seen(run)
        return self.states

    def _seen(self, run: RunOut) -> None:
        self.runs[run.id] = run
        if self.states.get(run.id) != run.state:
            self.states[run.id] = run.state
            self.note("seen", run=run.id, state=run.state, reason=run.reason, group=run.group)

    def pods(self, *runs: str) -> None:
        """Keep where the pods of runs are, and why they are not well."""
        for run in runs:
            for pod in self.user.pods(run):
                self.note("pod", run=run, **pod.model_dump(include=POD_FIELDS))

    def pods_anew(self, run: str) -> None:
        """Keep the same of one run's pods that have changed since this was last asked."""
        for pod in self.user.pods(run):
            reply = pod.model_dump(include=POD_FIELDS)
            if self.last.get(pod.name) != reply:
                self.last[pod.name] = reply
                self.reasons.setdefault(run, set()).add(pod.reason)
                self.note("pod", run=run, **reply)

    def until(self, true: Callable[[Mapping[str, str]], bool], seconds: float) -> bool:
        """Look at the runs until something is true of their states; return whether it became so in time."""
        return polling.until(lambda: true(self.look()), seconds)

    def reached(self, runs: list[str], *states: str, seconds: float) -> bool:
        """Wait until all these runs are in one of these states, or have ended; return whether they are."""
        self.until(lambda now: all(now.get(r) in {*states, *ENDED} for r in runs), seconds)
        return all(self.states.get(r) in states for r in runs)

    def output(self, run: str) -> list[str]:
        """Return what a run has logged; nothing where no one knows."""
        try:
            return [line.text for line in self.user.logs(run, tail=50)]
        except ApiError:
            return []

    def log(self, *runs: str, seconds: float) -> None:
        """Keep what runs have logged; logs reach the stores a little later, so wait for those that have nothing yet."""
        left = set(runs)

        def all_there() -> bool:
            for run in sorted(left):
                if reply := self.output(run):
                    left.discard(run)
                    self.note("log", run=run, lines=reply)
            return not left

        polling.until(all_there, seconds, every=2.0)

    def save(self, ctx: Context, name: str = "journal.jsonl") -> str:
        """Write the raw file; return its path."""
        return ctx.rec.save(name, "\n".join(self.lines) + "\n")
