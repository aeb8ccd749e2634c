"""The run folder of an acceptance run: the same files as every other run's, written while it continues."""

from __future__ import annotations

import json
import os
import time
from collections import Counter
from datetime import UTC, datetime

from avadm.engine.summary import Summary
from avadm.remote.events import Event, Kind
from avadm.state import summary as summaries
from avadm.state.run_folder import RunFolder
from avadm.state.summary import RunSummary
from avadm_validation.measuring.context import Progress
from avadm_validation.protocol.model import CheckResult, Report


class AcceptanceRecord:
    """Writes events.jsonl and log.txt as checks continue, ledger.json and summary.json at the end.

    A check is a phase there; a host's ``ok`` counts the commands that ran on it, ``failed`` those that did not run.

    Args:
        folder: the run's folder.
        site: name of the site.
        command: the command that measures again.
    """

    def __init__(self, folder: RunFolder, site: str, command: str = "avadm accept run") -> None:
        self._folder, self._site, self._begun = folder, site, time.time()
        self._command = command
        self._events: list[Event] = []
        self._results: list[CheckResult] = []
        self._started: set[str] = set()

    def step(self, step: Progress) -> None:
        """Record what is being done."""
        if step.check not in self._started:
            self._started.add(step.check)
            self._add(Event(time.time(), step.check, Kind.PHASE_START))
        self._add(Event(time.time(), step.check, Kind.TASK_START, task=step.text))

    def done(self, result: CheckResult) -> None:
        """Record how a check ended."""
        self._results.append(result)
        hosts: dict[str, Counter[str]] = {}
        for command in result.commands:
            # 255 is ssh's, 124 the time limit's: the command reported nothing itself.
            hosts.setdefault(command.node, Counter())["failed" if command.rc in (124, 255) else "ok"] += 1
        counts = ("ok", "changed", "failed", "unreachable", "skipped")
        stats = {host: {c: seen[c] for c in counts} for host, seen in hosts.items()}
        now = time.time()
        self._add(Event(now, result.id, Kind.STATS, stats=stats))
        for reason in result.reasons:
            self._add(Event(now, result.id, Kind.LOG, message=reason))
        verdict = result.verdict.value
        self._add(Event(now, result.id, Kind.PHASE_END, message=verdict, seconds=result.seconds))

    def note(self, text: str) -> None:
        """Write a note into the log."""
        self._append("log.txt", f"{datetime.now(UTC):%H:%M:%S} {'avadm':<14}{text}")

    def finish(self, report: Report | None) -> None:
        """Write the state and the summary; without a report the run was stopped."""
        result = "canceled" if report is None else "good" if report.good else "failed"
        ledger = {r.id: {"verdict": r.verdict.value, "seconds": round(r.seconds, 1)} for r in self._results}
        self._folder.write_json("ledger.json", {"site": self._site, "checks": ledger})
        data: RunSummary = {
            **Summary(self._events).as_dict(),
            "run": self._folder.id,
            "verb": "accept",
            "site": self._site,
            "started": f"{datetime.fromtimestamp(self._begun, UTC):%Y-%m-%dT%H:%M:%SZ}",
            "seconds": round(time.time() - self._begun, 1),
            "check": False,
            "result": result,
            "log": str(self._folder.log),
            "next": self._command,
            "report": str(self._folder.path / "report" / "report.html") if report else None,
        }
        summaries.write(self._folder, data)

    def _add(self, event: Event) -> None:
        self._events.append(event)
        self._append("events.jsonl", json.dumps(event.as_dict(), ensure_ascii=False))
        text = event.task or event.message
        if text:
            self._append("log.txt", f"{datetime.now(UTC):%H:%M:%S} {event.phase:<14}{text}")

    def _append(self, name: str, line: str) -> None:
        handle = os.open(self._folder.path / name, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        with os.fdopen(handle, "a", encoding="utf-8") as stream:
            stream.write(line + "\n")
