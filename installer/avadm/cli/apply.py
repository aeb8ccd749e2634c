"""`avadm apply`: install, or bring up to date, what the site file describes."""

from __future__ import annotations

import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import click

from avadm.cli.main import App, confirm, pass_app
from avadm.cli.nodes import compact
from avadm.cli.options import Renamed, dry_run
from avadm.cli.output import console, print_json, stderr
from avadm.cli.plan import command_line, limit_option, selected
from avadm.cli.progress import displays, printed_notes
from avadm.cli.summary_text import print_summary
from avadm.drift.saved_plan import SavedPlan
from avadm.engine.request import Request
from avadm.engine.run import apply as run
from avadm.errors import EXIT
from avadm.plan.graph import select
from avadm.quantity import quantity
from avadm.state.bootstrap_marks import replacing
from avadm.state.site_state import SiteState

if TYPE_CHECKING:
    from avadm.site.load import SiteFile


def confirm_first(site_file: SiteFile) -> None:
    """Ask before a site is installed whole for the first time; only on a terminal, so that scripts continue.

    Raises:
        Declined: the answer is no.
    """
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        return
    if SiteState.of(site_file.path, site_file.site.name, tolerant=True).serial:
        return
    nodes = site_file.site.nodes
    disks = sum(len(n.devices) for n in nodes)
    click.echo(
        f"Nothing is installed on site {site_file.site.name} yet. avadm will install {quantity(len(nodes), 'node')} "
        f"({compact(n.name for n in nodes)}) and create OSDs on {quantity(disks, 'approved disk')} that are blank. "
        "`avadm plan` shows the phases.",
        err=True,
    )
    confirm()


@click.command()
@click.argument("phases", nargs=-1, metavar="[PHASE]...")
@limit_option
@click.option(
    "--plan",
    "planned",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="Apply exactly this plan, saved by `avadm plan --out`.",
)
@click.option("--resume", is_flag=True, help="Skip phases that are done with the same inputs.")
@click.option(
    "--replace",
    metavar="NODE",
    help="Recreate the member of PHASE (etcd, ceph monitor, cache journal) on this node; destroys its data.",
)
@click.option(
    "--force",
    "full",
    cls=Renamed,
    former=["--full"],
    is_flag=True,
    help="Run all phases, even if no drift was detected.",
)
@dry_run("Report what each task would change; change nothing.")
@click.option("--break-lock", is_flag=True, help="Remove the lock of an interrupted run.")
@click.option(
    "--forks", type=click.IntRange(1, 256), default=25, show_default=True, help="Nodes in parallel."
)
@click.option("--yes", "-y", is_flag=True, help="Do not ask before the first apply of a site.")
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
    yes: bool,
    quiet: bool,
    as_json: bool,
) -> None:
    """Install what the site file describes, or update it (idempotent).

    PHASE selects phases (see `avadm plan`); their unfinished dependencies run first. Without PHASE
    all phases are run. A phase that is done with the current inputs runs again only on nodes with drift; --force
    runs it in any case. Independent phases run in parallel. An unreachable node is skipped and listed at the end;
    the same command continues with it.
    """
    if planned and (phases or limit or resume or replace or full or check):
        raise click.UsageError(
            "--plan excludes PHASE, --limit, --resume, --replace, --force and --dry-run: the plan contains them."
        )
    site_file = app.site_file()
    kept = SavedPlan.load(planned, site_file.site.name) if planned else None
    limited = kept.limit if kept else selected(site_file.site, limit)
    phases = tuple(kept.asked) if kept else phases
    select(phases)
    # A kept plan's own limit, so that going on touches no more nodes than it did.
    limit = ",".join(kept.limit) if kept else limit
    flags = [f"--{name}" for name, given in (("full", full), ("dry-run", check)) if given]
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
    if not (yes or phases or limit or check or as_json):
        confirm_first(site_file)
    out = stderr if as_json else console
    data = run(site_file, app.fleet(), request, printed_notes(out), displays(out, quiet=quiet))
    with suppress(OSError):  # no one reads any more (closed terminal, `| head`); the exit code still tells
        if as_json:
            print_json(data)
        elif data["run"]:
            print_summary(data, console)
        else:
            console.print("Nothing to do: everything that was asked for is done with these inputs.")
    ctx.exit(EXIT[data["result"]])
