"""`avadm apply`: install, or bring up to date, what the site file describes."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass
from typing import Any

import click
from rich.console import Console
from rich.text import Text

from avadm import paths
from avadm.cli.main import App, pass_app
from avadm.cli.output import console, print_json, stderr
from avadm.cli.plan import command_line, limit_option, selected
from avadm.cli.progress import display
from avadm.cli.progress_model import Model
from avadm.cli.summary_text import print_summary
from avadm.engine.apply import Engine, Job
from avadm.engine.cluster_lock import LockNodes, Seen, held
from avadm.engine.fingerprint import Asker, record
from avadm.engine.ledger import state_folder
from avadm.engine.lock import locked
from avadm.engine.mirror import Mirror
from avadm.engine.prepare import Context, versions_hook
from avadm.engine.proof import Verdict, prove, told
from avadm.engine.recorder import Recorder
from avadm.engine.runfolder import RunFolder, discard
from avadm.engine.summary import Summary
from avadm.errors import EXIT_COULD_NOT_RUN, EXIT_FOUND_BAD, EXIT_GOOD
from avadm.plan.phases import Step, make_plan, select
from avadm.runner.ansible import AnsibleRunner, PlaybookRunner
from avadm.runner.events import Event, Kind
from avadm.runner.redact import Redactor

EXIT = {"good": EXIT_GOOD, "failed": EXIT_FOUND_BAD, "canceled": EXIT_COULD_NOT_RUN}


@dataclass(frozen=True, slots=True)
class Options:
    """How a run was asked for; ``command`` is what goes on with it."""

    command: str
    full: bool
    check: bool
    forks: int
    quiet: bool
    as_json: bool


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


@click.command()
@click.argument("phases", nargs=-1, metavar="[PHASE]...")
@limit_option
@click.option("--resume", is_flag=True, help="Leave out phases that are done with the same inputs.")
@click.option("--full", is_flag=True, help="Run every phase, also what is proven unchanged.")
@click.option("--check", is_flag=True, help="Dry run: ask each task what it would change.")
@click.option("--break-lock", is_flag=True, help="Remove the lock of another run that is surely dead.")
@click.option("--forks", type=click.IntRange(1, 256), default=25, show_default=True, help="Nodes at once.")
@click.option("--quiet", "-q", is_flag=True, help="Print the summary only.")
@click.option("--json", "as_json", is_flag=True, help="Print the summary as JSON, progress on stderr.")
@pass_app
@click.pass_context
def apply(
    ctx: click.Context,
    app: App,
    phases: tuple[str, ...],
    limit: str | None,
    resume: bool,
    full: bool,
    check: bool,
    break_lock: bool,
    forks: int,
    quiet: bool,
    as_json: bool,
) -> None:
    """Install what the site file describes, or bring it up to date; a second time changes nothing.

    PHASE names phases (see `avadm plan`); what they need and is not done yet is run first. Without PHASE
    everything is asked for. A phase that is done with the inputs of now is run again only where its nodes say
    that something of it has changed since; --full runs it in any case. Phases that do not need each other run at
    once. A node that cannot be reached is left behind and named at the end; the same command goes on with it.
    """
    site_file = app.site_file()
    limited = selected(site_file.site, limit)
    select(phases)
    verb = "check" if check else "apply"
    flags = [f"--{name}" for name, given in (("full", full), ("check", check)) if given]
    words = [*phases, *(["--limit", limit] if limit else []), *flags]
    command = command_line("apply", *words)
    notes = Notes(stderr if as_json else console)
    nodes = LockNodes(site_file, app.fleet())
    # A dry run changes nothing, not even by a lock on the nodes.
    lock = nullcontext(Seen()) if check else held(nodes, verb, notes, break_lock=break_lock)
    with locked(state_folder(site_file.path, site_file.site.name), verb), lock as seen:
        # The ledger is read under the lock: a run that was just ending has written its last word.
        context = Context.of(site_file, tolerant=True)
        mirror = Mirror(nodes, context.ledger, context.fingerprints)
        if note := mirror.fetch(seen):
            notes(note)
        steps = context.plan(phases, limited, resume=resume)
        if steps:
            context.ledger.settle()
            folder = RunFolder.create(verb)
            try:
                options = Options(command, full, check, forks, quiet, as_json)
                data = _run(context, steps, folder, options, limited, mirror, notes)
            except BaseException:
                if not folder.begun:
                    discard(folder)
                raise
        else:
            data = _nothing(context, verb, command)
    with suppress(OSError):  # nobody reads any more (closed terminal, `| head`); the exit code still tells
        if as_json:
            print_json(data)
        elif steps:
            print_summary(data, console)
        else:
            console.print("Nothing to do: everything that was asked for is done with these inputs.")
    ctx.exit(EXIT[data["result"]])


def _nothing(context: Context, verb: str, command: str) -> dict[str, Any]:
    """Return the summary of a run that was not needed; it has no folder."""
    site = context.site_file.site.name
    about = {"run": None, "verb": verb, "site": site, "seconds": 0.0, "check": verb == "check"}
    return {**about, **Summary().as_dict(), "log": None, "next": command}


def _run(
    context: Context,
    steps: list[Step],
    folder: RunFolder,
    options: Options,
    limited: list[str],
    mirror: Mirror,
    notes: Notes,
) -> dict[str, Any]:
    from avadm.site.render.inventory import render_inventory

    started = time.time()
    rendered = render_inventory(context.site_file, folder.inventory)
    # After rendering, which makes the vault on the first run: its digest is then the right one.
    context = context.refreshed()
    vault = rendered.vault
    runner = make_runner(Redactor(vault.values()))
    site = context.site_file.site
    fleet, prints = mirror.nodes.fleet, context.fingerprints
    asker = Asker(context.site_file, fleet, prints.salt)
    again = options.full or options.check
    verdicts = {} if again else prove(context, asker, steps)
    left = [s.name for s in steps if s.name not in verdicts or not verdicts[s.name].proven]
    folder.write_json("plan.json", {"site": site.name, "phases": [s.as_dict() for s in steps]})
    model = Model({s.name: s.hosts for s in steps}, {n.name: n.roles[0] for n in site.nodes if n.roles})

    def settled(phase: str, managed: Mapping[str, Sequence[str]] | None) -> None:
        if managed is not None:
            record(asker, prints, phase, folder.id, managed)
        for node, why in mirror.push().items():
            notes.to_log(f"The ledger could not be copied to {node}: {why}")

    job = Job(
        steps=make_plan(site, left, limit=limited) if left else [],
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


def announced(verdicts: Mapping[str, Verdict], steps: Sequence[Step]) -> Iterator[Event]:
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
    context: Context,
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
