"""`avadm apply`: install, or bring up to date, what the site file describes."""

from __future__ import annotations

import sys
import time
from contextlib import suppress
from typing import Any

import click

from avadm import paths
from avadm.cli.main import App, pass_app
from avadm.cli.output import console, print_json, stderr
from avadm.cli.plan import command_line, limit_option, selected
from avadm.cli.progress import display
from avadm.cli.progress_model import Model
from avadm.cli.summary_text import print_summary
from avadm.engine.apply import Engine, Job
from avadm.engine.ledger import state_folder
from avadm.engine.lock import locked
from avadm.engine.prepare import Context, versions_hook
from avadm.engine.recorder import Recorder
from avadm.engine.runfolder import RunFolder, discard
from avadm.engine.summary import Summary
from avadm.errors import EXIT_COULD_NOT_RUN, EXIT_FOUND_BAD, EXIT_GOOD
from avadm.plan.phases import Step
from avadm.runner.ansible import AnsibleRunner, PlaybookRunner
from avadm.runner.redact import Redactor

EXIT = {"good": EXIT_GOOD, "failed": EXIT_FOUND_BAD, "canceled": EXIT_COULD_NOT_RUN}


def make_runner(redactor: Redactor) -> PlaybookRunner:
    """Return the adapter that runs playbooks; tests put a fake in its place."""
    return AnsibleRunner(redactor)


@click.command()
@click.argument("phases", nargs=-1, metavar="[PHASE]...")
@limit_option
@click.option("--resume", is_flag=True, help="Leave out phases that are done with the same inputs.")
@click.option("--check", is_flag=True, help="Dry run: ask each task what it would change.")
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
    check: bool,
    forks: int,
    quiet: bool,
    as_json: bool,
) -> None:
    """Install what the site file describes, or bring it up to date; a second time changes nothing.

    PHASE names phases (see `avadm plan`); what they need and is not done yet is run first. Without PHASE
    everything is run. Phases that do not need each other run at once. A node that cannot be reached is left
    behind and named at the end; the same command goes on with it.
    """
    site_file = app.site_file()
    limited = selected(site_file.site, limit)
    verb = "check" if check else "apply"
    words = [*phases, *(["--limit", limit] if limit else []), *(["--check"] if check else [])]
    command = command_line("apply", *words)
    with locked(state_folder(site_file.path, site_file.site.name), verb):
        # The ledger is read under the lock: a run that was just ending has written its last word.
        context = Context.of(site_file)
        steps = context.plan(phases, limited, resume=resume)
        if steps:
            context.ledger.settle()
            folder = RunFolder.create(verb)
            try:
                data = _run(app, context, steps, folder, command, check, forks, quiet, as_json)
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
    app: App,
    context: Context,
    steps: list[Step],
    folder: RunFolder,
    command: str,
    check: bool,
    forks: int,
    quiet: bool,
    as_json: bool,
) -> dict[str, Any]:
    from avadm.site.render.inventory import render_inventory

    started = time.time()
    rendered = render_inventory(context.site_file, folder.inventory)
    # After rendering, which makes the vault on the first run: its digest is then the right one.
    context = Context.of(context.site_file)
    vault = rendered.vault
    runner = make_runner(Redactor(vault.values()))
    site = context.site_file.site
    folder.write_json("plan.json", {"site": site.name, "phases": [s.as_dict() for s in steps]})
    model = Model({s.name: s.hosts for s in steps}, {n.name: n.roles[0] for n in site.nodes if n.roles})
    job = Job(
        steps=steps,
        home=paths.home(),
        inventory=rendered.folder,
        run=folder.id,
        digest=lambda step, host: context.digests.host(step.phase, host),
        vault=(vault.path, vault.password_file) if vault.path.exists() else None,
        versions=versions_hook(context.site_file, app.fleet()),
        forks=forks,
        check=check,
    )
    out = stderr if as_json else console
    shown = display(model, out, quiet=quiet)
    with Recorder(folder, shown) as recorder:
        canceled = False
        try:
            with shown:
                Engine(job, runner, context.ledger, recorder).run()
        except KeyboardInterrupt:
            canceled = True
        finally:
            data = _summary(context, folder, recorder, command, started, canceled, check)
    return data


def _summary(
    context: Context,
    folder: RunFolder,
    recorder: Recorder,
    command: str,
    started: float,
    canceled: bool,
    check: bool,
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
        "check": check,
        **data,
        "log": str(folder.log),
        "next": command,
    }
    folder.write_json("ledger.json", context.ledger.as_dict())
    folder.write_json("summary.json", data)
    return data
