"""A whole run from the site's lock to its summary, for apply and plan --deep; the command line parses and prints."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from avadm import paths
from avadm.engine.apply import Engine, Job
from avadm.engine.drift import DriftReport, detect_drift, restrict, skipped_hosts, summarize, warned
from avadm.engine.peers import PeersFirst, Telling
from avadm.engine.prepare import SiteContext, newest, refuse_missing, versions_hook
from avadm.engine.recorder import Display, Recorder
from avadm.engine.saved_plan import SavedPlan, keep, refuse_other
from avadm.engine.summary import Summary
from avadm.inventory import vault_guard
from avadm.plan.graph import ScheduledPhase, make_plan
from avadm.quantity import quantity
from avadm.remote.ansible import AnsibleRunner, PlaybookRunner
from avadm.remote.events import Event, Kind
from avadm.remote.fleet import Fleet
from avadm.remote.redact import Redactor
from avadm.site.load import SiteFile
from avadm.state import bootstrap_marks
from avadm.state import summary as summaries
from avadm.state.cluster_lock import held
from avadm.state.local_lock import locked
from avadm.state.lock_nodes import LockNodes, Seen
from avadm.state.prune import prune
from avadm.state.replication import StateReplica
from avadm.state.run_folder import RunFolder, discard
from avadm.state.site_state import state_folder
from avadm.state.snapshots import Collector, record
from avadm.state.summary import RunSummary

Show = Callable[[SiteContext, Sequence[ScheduledPhase]], Display]
"""Makes what shows a run while it runs."""


@dataclass(frozen=True, slots=True)
class Request:
    """What a run is asked for.

    Attributes:
        command: the command that continues with it.
        phases: names of phases; all where empty.
        limit: nodes that may be touched; all where empty.
        resume: leave out phases that are done with the same inputs.
        full: run what is proven unchanged too.
        check: change nothing.
        break_lock: remove another run's lock.
        forks: hosts at once.
        own: variables of nodes for this run alone.
        kept: the kept plan that is done, and its file.
    """

    command: str
    phases: Sequence[str] = ()
    limit: Sequence[str] = ()
    resume: bool = False
    full: bool = False
    check: bool = False
    break_lock: bool = False
    forks: int = 25
    own: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    kept: tuple[SavedPlan, Path] | None = None


class Notes:
    """What people are told beside the events of a run; kept for the log until there is one.

    Args:
        tell: shows a note.
    """

    def __init__(self, tell: Callable[[str], None]) -> None:
        self._tell = tell
        self._kept: list[str] = []
        self._recorder: Recorder | None = None

    def __call__(self, text: str) -> None:
        """Show a note and log it."""
        self._tell(text)
        self.to_log(text)

    def to_log(self, text: str) -> None:
        """Log a note only."""
        if self._recorder is None:
            self._kept.append(text)
        else:
            self._recorder.note(text)

    @contextmanager
    def logged(self, recorder: Recorder) -> Iterator[None]:
        """Log through a recorder from now on, what was kept first."""
        for text in self._kept:
            recorder.note(text)
        self._recorder = recorder
        try:
            yield
        finally:
            self._recorder = None


def make_runner(redactor: Redactor) -> PlaybookRunner:
    """Return the adapter that runs playbooks; tests put a fake in its place."""
    return AnsibleRunner(redactor)


def apply(site_file: SiteFile, fleet: Fleet, request: Request, notes: Notes, show: Show) -> RunSummary:
    """Install what is asked for under the site's lock; return the summary, whose ``run`` is None where nothing was to do.

    Raises:
        AvadmError: the site is locked, its vault lost, the kept plan no longer holds, or nothing takes part.
    """
    verb = "check" if request.check else "apply"
    nodes = LockNodes(site_file, fleet)
    # A dry run changes nothing, not even by a lock on the nodes.
    lock = nullcontext(Seen()) if request.check else held(nodes, verb, notes, break_lock=request.break_lock)
    with locked(state_folder(site_file.path, site_file.site.name), verb), lock as seen:
        # The ledger is read under the lock: a run that was just ending has written its last word.
        context, mirror, note = newest(site_file, nodes, seen)
        if note:
            notes(note)
        if not request.check:
            context.ledger.keepers = tuple(nodes.own)
        steps = context.plan(request.phases, request.limit, resume=request.resume)
        verdicts = _as_planned(context, fleet, steps, *request.kept) if request.kept else None
        if steps:
            context.ledger.settle()
            data = execute(context, steps, verb, request, mirror, notes, show, verdicts)
        else:
            about = RunSummary(
                run=None, verb=verb, site=site_file.site.name, seconds=0.0, check=request.check
            )
            data = {**about, **Summary().as_dict(), "log": None, "next": request.command}
    with suppress(OSError):
        if old := prune():
            notes(
                f"Removed the folders of {quantity(len(old), 'old run')} (`avadm runs prune` says which stay)."
            )
    return data


def execute(
    context: SiteContext,
    steps: list[ScheduledPhase],
    verb: str,
    request: Request,
    mirror: StateReplica,
    notes: Notes,
    show: Show,
    verdicts: Mapping[str, DriftReport] | None = None,
) -> RunSummary:
    """Run what of a plan is not proven unchanged and return its summary, which is also in the new run folder.

    Args:
        context: the site, its ledger and inputs.
        steps: the plan.
        verb: names the run folder.
        request: how it was asked for.
        mirror: copies the ledger to the nodes.
        notes: what people are told beside events.
        show: makes what shows the events.
        verdicts: what of the plan is proven; the nodes are asked where this is not known yet.
    """
    folder = RunFolder.create(verb)
    try:
        return _execute(context, steps, folder, request, mirror, notes, show, verdicts)
    except BaseException:
        if not folder.begun:
            discard(folder)
        raise


def _execute(
    context: SiteContext,
    steps: list[ScheduledPhase],
    folder: RunFolder,
    request: Request,
    mirror: StateReplica,
    notes: Notes,
    show: Show,
    verdicts: Mapping[str, DriftReport] | None,
) -> RunSummary:
    from avadm.inventory.render import render_inventory

    started = time.time()
    # Before rendering, which fills up the vault and signs certificates with it.
    vault_guard.refuse_other(context.site_file.path, context.ledger.founded("vault"))
    known = bootstrap_marks.variables(context.ledger, context.site_file.site)
    rendered = render_inventory(context.site_file, folder.inventory, known, request.own)
    if not request.check:
        for name, mark in rendered.vault_marks.items():
            context.ledger.found("vault", name, mark)
    # After rendering, which makes the vault on the first run: its digest is then the right one.
    context = context.refreshed()
    vault = rendered.vault
    fleet, prints = mirror.nodes.fleet, context.fingerprints
    asker = Collector(context.site_file, fleet, prints.salt)
    if verdicts is None:
        again = request.full or request.own or request.check
        verdicts = {} if again else detect_drift(context, asker, steps)
    for text in warned(verdicts):
        notes(text)
    left = [s.name for s in steps if s.name not in verdicts or not verdicts[s.name].proven]
    runner = PeersFirst(make_runner(Redactor(vault.values())), Telling.of(context, fleet, steps, verdicts))
    planned = make_plan(context.site_file.site, left, limit=request.limit) if left else []
    todo = [restrict(step, verdicts.get(step.name)) for step in planned]
    refuse_missing(context.site_file.site, todo)
    plan = {"site": context.site_file.site.name, "phases": [s.as_dict() for s in steps]}
    folder.write_json("plan.json", plan)

    def settled(phase: str, managed: Mapping[str, Sequence[str]]) -> None:
        for node, why in record(asker, prints, phase, folder.id, managed).items():
            notes.to_log(f"What {phase} left on {node} could not be asked, so it will run again: {why}")
        for node, why in mirror.push().items():
            notes.to_log(f"The ledger could not be copied to {node}: {why}")

    job = Job(
        steps=todo,
        home=paths.home(),
        inventory=rendered.folder,
        run=folder.id,
        digest=lambda step, host: context.digests.host(step.phase, host),
        vault=(vault.path, vault.password_file) if vault.path.exists() else None,
        versions=versions_hook(context.site_file, fleet),
        settled=settled,
        forks=request.forks,
        check=request.check,
    )
    shown = show(context, steps)
    with Recorder(folder, shown) as recorder, notes.logged(recorder):
        canceled = False
        try:
            with shown:
                for event in announced(verdicts, steps):
                    recorder(event)
                Engine(job, runner, context.ledger, recorder).run()
        except KeyboardInterrupt:
            canceled = True
        finally:
            data = _summary(context, folder, recorder, request, started, canceled)
    return data


def announced(verdicts: Mapping[str, DriftReport], steps: Sequence[ScheduledPhase]) -> Iterator[Event]:
    """Yield what the user is told of each step before anything runs."""
    for step in steps:
        verdict = verdicts.get(step.name)
        if verdict is None:
            continue
        if verdict.proven:
            yield Event(time.time(), step.name, Kind.UNCHANGED, message=verdict.text, hosts=step.hosts)
            continue
        others = len(skipped_hosts(step, verdict.reasons))
        lines = (
            summarize(verdict.reasons) if others or any(r.state != "pending" for r in verdict.reasons) else []
        )
        if others:
            are = "other node is" if others == 1 else "other nodes are"
            lines.append(f"only there: {others} {are} proven unchanged")
        for line in lines:
            yield Event(time.time(), step.name, Kind.BECAUSE, message=line)


def _summary(
    context: SiteContext,
    folder: RunFolder,
    recorder: Recorder,
    request: Request,
    started: float,
    canceled: bool,
) -> RunSummary:
    data = recorder.summary.as_dict()
    if canceled or sys.exc_info()[0] is not None:
        data["result"] = "canceled" if canceled else "failed"
    about = RunSummary(
        run=folder.id,
        verb=folder.verb,
        site=context.site_file.site.name,
        started=f"{folder.started:%Y-%m-%dT%H:%M:%SZ}",
        seconds=round(time.time() - started, 1),
        check=request.check,
    )
    data = {**about, **data, "log": str(folder.log), "next": request.command}
    folder.write_json("ledger.json", context.ledger.as_dict())
    summaries.write(folder, data)
    return data


def _as_planned(
    context: SiteContext, fleet: Fleet, steps: Sequence[ScheduledPhase], kept: SavedPlan, path: Path
) -> Mapping[str, DriftReport]:
    """Return what is proven now; AvadmError where a plan made now would differ from the kept one."""
    verdicts = detect_drift(context, Collector(context.site_file, fleet, context.fingerprints.salt), steps)
    refuse_other(kept, keep(context, kept.asked, kept.limit, steps, verdicts), path)
    return verdicts
