"""`avadm apply`: install, or bring up to date, what the site file describes."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import click

from avadm.cli.main import App, pass_app
from avadm.cli.output import console, print_json, stderr
from avadm.cli.plan import command_line, limit_option, selected
from avadm.cli.progress import displays, printed_notes
from avadm.cli.summary_text import print_summary
from avadm.engine.founded import replacing
from avadm.engine.run import Request
from avadm.engine.run import apply as run
from avadm.engine.saved_plan import load
from avadm.errors import EXIT
from avadm.plan.phases import select


@click.command()
@click.argument("phases", nargs=-1, metavar="[PHASE]...")
@limit_option
@click.option(
    "--plan",
    "planned",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="Apply this plan of `avadm plan --out`, or nothing.",
)
@click.option("--resume", is_flag=True, help="Leave out phases that are done with the same inputs.")
@click.option(
    "--replace",
    metavar="NODE",
    help="Make this node's part of PHASE (etcd, ceph's monitor, the cache's journal) anew: its data is lost for good.",
)
@click.option("--full", is_flag=True, help="Run every phase, also what is proven unchanged.")
@click.option("--check", is_flag=True, help="Dry run: ask each task what it would change.")
@click.option("--break-lock", is_flag=True, help="Remove the lock of another run that is known to be dead.")
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
    # A kept plan's own limit, so that going on touches no more nodes than it did.
    limit = ",".join(kept.limit) if kept else limit
    flags = [f"--{name}" for name, given in (("full", full), ("check", check)) if given]
    words = [*phases, *(["--limit", limit] if limit else []), *flags]
    request = Request(
        command_line("apply", *words),
        phases,
        limited,
        resume=resume,
        full=full,
        check=check,
        break_lock=break_lock,
        forks=forks,
        own=replacing(site_file.site, phases, replace) if replace else {},
        kept=(kept, planned) if kept and planned else None,
    )
    out = stderr if as_json else console
    data = run(site_file, app.fleet(), request, printed_notes(out), displays(out, quiet=quiet))
    with suppress(OSError):  # nobody reads any more (closed terminal, `| head`); the exit code still tells
        if as_json:
            print_json(data)
        elif data["run"]:
            print_summary(data, console)
        else:
            console.print("Nothing to do: everything that was asked for is done with these inputs.")
    ctx.exit(EXIT[data["result"]])
