"""Runs a plan for people: proof first, then the phases, with progress, log and summary; for apply and plan --deep."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from rich.console import Console
from rich.text import Text

from avadm import paths
from avadm.cli.output import console, stderr
from avadm.cli.progress import display
from avadm.cli.progress_model import Model
from avadm.engine import founded
from avadm.engine.apply import Engine, Job
from avadm.engine.fingerprint import Asker, record
from avadm.engine.mirror import Mirror
from avadm.engine.prepare import SiteContext, refuse_missing, versions_hook
from avadm.engine.proof import Verdict, prove, told
from avadm.engine.recorder import Recorder
from avadm.plan.phases import ScheduledPhase, make_plan
from avadm.records.runfolder import RunFolder
from avadm.runner.ansible import AnsibleRunner, PlaybookRunner
from avadm.runner.events import Event, Kind
from avadm.runner.redact import Redactor


@dataclass(frozen=True, slots=True)
class Options:
    """How a run was asked for; ``command`` is what goes on with it, ``own`` are variables of nodes for it alone."""

    command: str
    full: bool
    check: bool
    forks: int
    quiet: bool
    as_json: bool
    own: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)


class Notes:
    """What people are told beside the events of a run; kept for the log until there is one.

    Args:
        to: where it is printed.
    """

    def __init__(self, to: Console) -> None:
        self._to = to
        self._kept: list[str] = []
        self._recorder: Recorder | None = None

    def __call__(self, text: str) -> None:
        """Print a note and log it."""
        self._to.print(Text(f"! {text}", style="yellow"))
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


def execute(
    context: SiteContext,
    steps: list[ScheduledPhase],
    folder: RunFolder,
    options: Options,
    limited: list[str],
    mirror: Mirror,
    notes: Notes,
    verdicts: Mapping[str, Verdict] | None = None,
) -> dict[str, Any]:
    """Run what of a plan is not proven unchanged and return its summary, which is also in the run folder.

    Args:
        context: the site, its ledger and inputs.
        steps: the plan.
        folder: the run's.
        options: how it was asked for.
        limited: nodes that may be touched; none means all.
        mirror: copies the ledger to the nodes.
        notes: what people are told beside events.
        verdicts: what of the plan is proven; the nodes are asked where this is not known yet.
    """
    from avadm.render.inventory import render_inventory
    from avadm.render.lost_vault import refuse_other

    started = time.time()
    # Before rendering, which fills up the vault and signs certificates with it.
    refuse_other(context.site_file.path, context.ledger.founded("vault"))
    known = founded.variables(context.ledger, context.site_file.site)
    rendered = render_inventory(context.site_file, folder.inventory, known, options.own)
    if not options.check:
        for name, mark in rendered.vault_marks.items():
            context.ledger.found("vault", name, mark)
    # After rendering, which makes the vault on the first run: its digest is then the right one.
    context = context.refreshed()
    vault = rendered.vault
    runner = make_runner(Redactor(vault.values()))
    site = context.site_file.site
    fleet, prints = mirror.nodes.fleet, context.fingerprints
    asker = Asker(context.site_file, fleet, prints.salt)
    if verdicts is None:
        again = options.full or options.check
        verdicts = {} if again else prove(context, asker, steps)
    left = [s.name for s in steps if s.name not in verdicts or not verdicts[s.name].proven]
    todo = make_plan(site, left, limit=limited) if left else []
    refuse_missing(todo)
    folder.write_json("plan.json", {"site": site.name, "phases": [s.as_dict() for s in steps]})
    model = Model({s.name: s.hosts for s in steps}, {n.name: n.roles[0] for n in site.nodes if n.roles})

    def settled(phase: str, managed: Mapping[str, Sequence[str]] | None) -> None:
        if managed is not None:
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
        forks=options.forks,
        check=options.check,
    )
    out = stderr if options.as_json else console
    shown = display(model, out, quiet=options.quiet)
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
            data = _summary(context, folder, recorder, options, started, canceled)
    return data


def announced(verdicts: Mapping[str, Verdict], steps: Sequence[ScheduledPhase]) -> Iterator[Event]:
    """Yield what the user is told of each step before anything runs."""
    for step in steps:
        verdict = verdicts.get(step.name)
        if verdict is None:
            continue
        if verdict.proven:
            yield Event(time.time(), step.name, Kind.UNCHANGED, message=verdict.text, hosts=step.hosts)
        elif any(r.state != "pending" for r in verdict.reasons):
            for line in told(verdict.reasons):
                yield Event(time.time(), step.name, Kind.BECAUSE, message=line)


def _summary(
    context: SiteContext,
    folder: RunFolder,
    recorder: Recorder,
    options: Options,
    started: float,
    canceled: bool,
) -> dict[str, Any]:
    data = recorder.summary.as_dict()
    if canceled or sys.exc_info()[0] is not None:
        data["result"] = "canceled" if canceled else "failed"
    data = {
        "run": folder.id,
        "verb": folder.verb,
        "site": context.site_file.site.name,
        "started": f"{folder.started:%Y-%m-%dT%H:%M:%SZ}",
        "seconds": round(time.time() - started, 1),
        "check": options.check,
        **data,
        "log": str(folder.log),
        "next": options.command,
    }
    folder.write_json("ledger.json", context.ledger.as_dict())
    folder.write_json("summary.json", data)
    return data
