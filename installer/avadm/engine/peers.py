"""Telling nodes of the site's other nodes without a playbook: on a node more or less everybody learns names and rules.

A playbook costs the controller tens of milliseconds for each node and task, a question some. So the nodes on which nothing
else of a phase has changed get the file or the rules that its role would have written, by the same means on the node. Anyone who
cannot be reached is left to the playbook, which reports the error.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from jinja2 import Environment, StrictUndefined

from avadm import paths
from avadm.drift.report import Reports, peer_only_hosts
from avadm.inventory.desired import Desired
from avadm.inventory.model import Variables
from avadm.plan.graph import ScheduledPhase
from avadm.remote.ansible import PlaybookResult, PlaybookRun, PlaybookRunner
from avadm.remote.call import Function, ask, mapping
from avadm.remote.events import Event, Kind
from avadm.remote.fleet import Fleet
from avadm.remote.managed_resources import UNPROVEN, kind
from avadm.state.snapshots import SnapshotStore
from avadm_node import peers as there

TASK = "Tell the node of the others, without the playbook"
HOSTS = "/etc/hosts"
TEMPLATE = Path("roles/base/templates/hosts.j2")
CONFIRM_S = 60
"""Seconds after which a node takes new rules back: the default of the role packet_filter."""
MARGIN_S = 15
"""How long after that it is asked again."""
OWN_RULES = "packet_filter_kind"


@dataclass(frozen=True)
class Telling:
    """What is needed to tell nodes of the others.

    Attributes:
        hosts: phase to the nodes of which only the peers changed.
        variables: the rendered variables.
        home: folder with roles/.
        fleet: how to reach the nodes.
        again: returns a fleet without connections, which rules cannot have let pass before.
        python: the nodes' Python.
        prints: the items that a phase is known to keep on a node; they are asked for again.
    """

    hosts: Mapping[str, Collection[str]]
    variables: Variables
    home: Path
    fleet: Fleet
    again: Callable[[], AbstractContextManager[Fleet]]
    python: str
    prints: SnapshotStore

    @classmethod
    def of(
        cls,
        desired: Desired,
        snapshots: SnapshotStore,
        fleet: Fleet,
        steps: Iterable[ScheduledPhase],
        reports: Reports,
    ) -> Telling:
        """Return what is needed to update the nodes of a plan's steps of which only the peers changed."""
        from avadm.remote.ssh import SshFleet

        return cls(
            hosts={step.name: peer_only_hosts(step, reports.get(step.name)) for step in steps},
            variables=desired.variables,
            home=paths.home(),
            fleet=fleet,
            again=lambda: SshFleet(desired.site_file),
            python=desired.site_file.profile.python,
            prints=snapshots,
        )


class PeersFirst:
    """Runs playbooks by another adapter, without the nodes that could be updated directly.

    Args:
        runner: runs the playbooks.
        telling: whom to tell, and how.
    """

    def __init__(self, runner: PlaybookRunner, telling: Telling) -> None:
        self._runner = runner
        self._telling = telling

    def run(
        self, request: PlaybookRun, on_event: Callable[[Event], None], canceled: Callable[[], bool]
    ) -> PlaybookResult:
        """Update the peers of nodes of a phase where only they changed, and run its playbook on the others (PlaybookRunner)."""
        asked = [h for h in request.limit if h in self._telling.hosts.get(request.phase, ())]
        if not asked or request.check:
            return self._runner.run(request, on_event, canceled)
        report = self._tell(request.phase, asked, on_event, canceled)
        stats = {
            host: {"ok": 1, "changed": int(changed), "failed": 0, "unreachable": 0, "skipped": 0}
            for host, changed in report.items()
        }
        on_event(Event(time.time(), request.phase, Kind.STATS, stats=stats))
        left = tuple(host for host in request.limit if host not in report)
        if not left or canceled():
            return PlaybookResult(254 if left else 0, bool(left), tuple(report))

        def heard(event: Event) -> None:
            # A playbook's counts are those of all its phase.
            on_event(replace(event, stats={**stats, **event.stats}) if event.kind is Kind.STATS else event)

        result = self._runner.run(replace(request, limit=left), heard, canceled)
        return replace(result, through=tuple(report))

    def _tell(
        self, phase: str, hosts: list[str], on_event: Callable[[Event], None], canceled: Callable[[], bool]
    ) -> dict[str, bool]:
        """Return the nodes that were updated, and whether that changed anything there."""
        on_event(Event(time.time(), phase, Kind.TASK_START, task=TASK))
        begun = time.monotonic()
        report = _Outcome()
        if phase == "base":
            self._hosts(hosts, report)
        else:
            self._rules(hosts, report, canceled)
        seconds = time.monotonic() - begun
        for host, changed in report.well.items():
            kept = self._telling.prints.get(phase, host)
            items = tuple(item for item in (kept.values if kept else ()) if kind(item) != UNPROVEN)
            about = Kind.CHANGED if changed else Kind.OK
            on_event(Event(time.time(), phase, about, host, TASK, seconds=seconds, manages=items))
        for host, why in report.wrong.items():
            text = f"{host} could not be updated directly, so the playbook runs there: {why}"
            on_event(Event(time.time(), phase, Kind.LOG, message=text))
        return report.well

    def _hosts(self, hosts: Iterable[str], outcome: _Outcome) -> None:
        engine = Environment(  # noqa: S701 - no HTML
            trim_blocks=True, keep_trailing_newline=True, undefined=StrictUndefined
        )
        template = engine.from_string((self._telling.home / TEMPLATE).read_text(encoding="utf-8"))
        content = template.render(base_hosts=self._telling.variables.all["base_hosts"])
        given = {host: {"path": HOSTS, "content": content} for host in hosts}
        outcome.take(self._asked(self._telling.fleet, there.hosts, given))

    def _rules(self, hosts: Iterable[str], outcome: _Outcome, canceled: Callable[[], bool]) -> None:
        rules, own = self._telling.variables.all["packet_filter_rules"], self._telling.variables.hosts
        given = {host: {"rules": rules[own[host][OWN_RULES]], "seconds": CONFIRM_S} for host in hosts}
        outcome.take(self._asked(self._telling.fleet, there.rules, given))
        if not outcome.armed:
            return
        until = time.monotonic() + CONFIRM_S + MARGIN_S
        with self._telling.again() as fleet:
            kept = self._asked(fleet, there.keep, {host: {} for host in outcome.armed})
        cut_off = {host: reply for host, reply in kept.items() if isinstance(reply, str)}
        for host, why in cut_off.items():
            outcome.refuse(host, why)
        # Until then a node that cannot be reached under its new rules has taken them back, and the playbook finds it.
        while cut_off and time.monotonic() < until and not canceled():
            time.sleep(1)

    def _asked(
        self, fleet: Fleet, function: Function, given: Mapping[str, Mapping[str, object]]
    ) -> dict[str, dict[str, Any] | str]:
        """Return what each node reported, or why it did not."""
        reply = ask(fleet, self._telling.python, function, given, read=mapping, timeout=CONFIRM_S / 2)
        return {
            host: answer.why or "no answer" if answer.value is None else answer.value
            for host, answer in reply.items()
        }


class _Outcome:
    """What came of telling nodes: those that were, with whether it changed anything, and why others were not."""

    def __init__(self) -> None:
        self.well: dict[str, bool] = {}
        self.wrong: dict[str, str] = {}
        self.armed: list[str] = []

    def take(self, answers: Mapping[str, dict[str, Any] | str]) -> None:
        """Take what nodes answered."""
        for host, answer in answers.items():
            if isinstance(answer, str):
                self.refuse(host, answer)
                continue
            self.well[host] = bool(answer.get("changed"))
            if answer.get("armed"):
                self.armed.append(host)

    def refuse(self, host: str, why: str) -> None:
        """Count a node as not updated."""
        self.well.pop(host, None)
        self.wrong[host] = why
