"""`avadm apply`: install, or bring up to date, what the site file describes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import nullcontext, suppress
from pathlib import Path
from typing import Any

import click

from avadm.cli.execute import Notes, Options, execute
from avadm.cli.main import App, pass_app
from avadm.cli.output import console, print_json, stderr
from avadm.cli.plan import command_line, limit_option, selected
from avadm.cli.summary_text import print_summary
from avadm.engine.cluster_lock import held
from avadm.engine.fingerprint import Asker
from avadm.engine.founded import replacing
from avadm.engine.lock import locked
from avadm.engine.lock_nodes import LockNodes, Seen
from avadm.engine.mirror import Mirror
from avadm.engine.prepare import SiteContext
from avadm.engine.proof import Verdict, prove
from avadm.engine.prune import prune
from avadm.engine.saved_plan import SavedPlan, keep, load, refuse_other
from avadm.engine.summary import Summary
from avadm.errors import EXIT, AvadmError
from avadm.plan.phases import ScheduledPhase, select
from avadm.records.ledger import state_folder
from avadm.records.runfolder import RunFolder, discard
from avadm.render import lost_vault


@click.command()
@click.argument("phases", nargs=-1, metavar="[PHASE]...")
@limit_option
@click.option(
    "--plan",
    "planned",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="Do what this plan of `avadm plan --out` says, or nothing.",
)
@click.option("--resume", is_flag=True, help="Leave out phases that are done with the same inputs.")
@click.option(
    "--replace",
    metavar="NODE",
    help="Make this node's part of PHASE (etcd, ceph's monitor, the cache's journal) anew: its data are lost for good.",
)
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
    planned: Path | None,
    resume: bool,
    replace: str | None,
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
    if planned and (phases or limit or resume or replace or full or check):
        raise click.UsageError(
            "--plan says itself what is done: no PHASE, --limit, --resume, --replace, --full or --check."
        )
    site_file = app.site_file()
    kept = load(planned, site_file.site.name) if planned else None
    limited = kept.limit if kept else selected(site_file.site, limit)
    phases = tuple(kept.asked) if kept else phases
    select(phases)
    own = replacing(site_file.site, phases, replace) if replace else {}
    verb = "check" if check else "apply"
    # A kept plan's own limit, so that going on touches no more nodes than it did.
    limit = ",".join(kept.limit) if kept else limit
    flags = [f"--{name}" for name, given in (("full", full), ("check", check)) if given]
    words = [*phases, *(["--limit", limit] if limit else []), *flags]
    command = command_line("apply", *words)
    notes = Notes(stderr if as_json else console)
    nodes = LockNodes(site_file, app.fleet())
    # A dry run changes nothing, not even by a lock on the nodes.
    lock = nullcontext(Seen()) if check else held(nodes, verb, notes, break_lock=break_lock)
    with locked(state_folder(site_file.path, site_file.site.name), verb), lock as seen:
        # The ledger is read under the lock: a run that was just ending has written its last word.
        context = SiteContext.of(site_file, tolerant=True)
        mirror = Mirror(nodes, context.ledger, context.fingerprints, context.state_key)
        if note := mirror.fetch(seen):
            notes(note)
        if gone := lost_vault.of(site_file, mirror.copies):
            raise AvadmError(gone)
        if not check:
            context.ledger.keepers = tuple(nodes.own)
        steps = context.plan(phases, limited, resume=resume)
        verdicts = _as_planned(context, nodes, steps, kept, planned) if kept and planned else None
        if steps:
            context.ledger.settle()
            folder = RunFolder.create(verb)
            try:
                options = Options(command, full or bool(own), check, forks, quiet, as_json, own)
                data = execute(context, steps, folder, options, limited, mirror, notes, verdicts)
            except BaseException:
                if not folder.begun:
                    discard(folder)
                raise
        else:
            data = _nothing(context, verb, command)
    with suppress(OSError):
        if old := prune():
            notes(f"Removed the folders of {len(old)} old runs (`avadm runs prune` says which stay).")
    with suppress(OSError):  # nobody reads any more (closed terminal, `| head`); the exit code still tells
        if as_json:
            print_json(data)
        elif steps:
            print_summary(data, console)
        else:
            console.print("Nothing to do: everything that was asked for is done with these inputs.")
    ctx.exit(EXIT[data["result"]])


def _as_planned(
    context: SiteContext, nodes: LockNodes, steps: Sequence[ScheduledPhase], kept: SavedPlan, path: Path
) -> Mapping[str, Verdict]:
    """Return what is proven now; AvadmError where a plan made now would differ from the kept one."""
    verdicts = prove(context, Asker(context.site_file, nodes.fleet, context.fingerprints.salt), steps)
    refuse_other(kept, keep(context, kept.asked, kept.limit, steps, verdicts), path)
    return verdicts


def _nothing(context: SiteContext, verb: str, command: str) -> dict[str, Any]:
    """Return the summary of a run that was not needed; it has no folder."""
    site = context.site_file.site.name
    about = {"run": None, "verb": verb, "site": site, "seconds": 0.0, "check": verb == "check"}
    return {**about, **Summary().as_dict(), "log": None, "next": command}
