"""`avadm maintenance`: take nodes out of service for a while, bring them back, list those that are out."""

from __future__ import annotations

import time
from datetime import datetime
from typing import Any

import click
from rich.table import Table
from rich.text import Text

from avadm.cli.main import App, pass_app
from avadm.cli.operation import operate, operation_options
from avadm.cli.options import drain_options, drain_timeout, drained
from avadm.cli.output import console, print_json
from avadm.cli.tables import print_table
from avadm.cli.times import DURATION, UNITS
from avadm.errors import EXIT_FOUND_BAD, EXIT_GOOD


@click.group()
def maintenance() -> None:
    """Take nodes out of service for a while and bring them back."""


@maintenance.command()
@click.argument("names", metavar="[NODE...]", nargs=-1)
@click.option("--rack", metavar="RACK", help="All nodes of this rack, instead of NODE.")
@click.option(
    "--for",
    "seconds",
    type=DURATION,
    required=True,
    metavar="TIME",
    help="How long: 90m, 2h, 1d. Past that, an alert.",
)
@click.option("--reason", required=True, metavar="TEXT", help="Why; shown to people.")
@drain_options
@drain_timeout(600)
@operation_options
@pass_app
def begin(
    app: App,
    /,
    names: tuple[str, ...],
    rack: str | None,
    seconds: int,
    reason: str,
    notice: int,
    stop_runs: bool,
    administrator: str | None,
    timeout: int,
    **options: Any,
) -> int:
    """Take nodes out of service: pods move away, OSDs stay in, notices of alerts are silenced.

    AVA's runs leave first, as by `node drain`. Nodes that are dead already are cordoned and silenced, not drained. Refused
    where a quorum, a pool or a virtual address would not survive.
    """
    from avadm.operations.maintenance import Begin
    from avadm.operations.maintenance import begin as plan

    if bool(names) == (rack is not None):
        raise click.UsageError("Name nodes, or a rack with --rack.")
    drain = drained(notice, stop_runs, administrator, timeout)
    asked = Begin(names, rack, seconds, reason, frozenset(options["accepted"]), drain, _duration(seconds))
    what = f"rack {rack}" if rack is not None else ", ".join(dict.fromkeys(names))
    ended = f"In maintenance: {what}. `avadm maintenance end` ends it."
    return operate(app, plan(asked), done=ended, **options)


@maintenance.command()
@click.argument("names", metavar="NODE|NAME...", nargs=-1, required=True)
@operation_options
@pass_app
def end(app: App, /, names: tuple[str, ...], **options: Any) -> int:
    """Bring nodes back into service, once they are back and healthy.

    Undoes what the maintenance has set; what others had set stays. Gives up a maintenance that was only half begun.
    """
    from avadm.operations.maintenance import end as plan

    return operate(app, plan(names, options["accepted"]), done=f"Ended: {', '.join(names)}.", **options)


@maintenance.command(name="list")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@pass_app
def list_maintenances(app: App, as_json: bool) -> int:
    """List the maintenances that are on; exit status 1 where one is overdue."""
    from avadm.engine.session import Session
    from avadm.operations.maintenance import maintenances
    from avadm.state.lock.nodes import LockNodes

    site_file = app.site_file(draft=True)
    nodes = LockNodes(site_file, app.idle_fleet())
    session = Session.open(site_file, nodes, nodes.do("show"), write=False, vault_lost=True)
    now = time.time()
    rows = [one.as_dict(now) for one in maintenances(session.records.state)]
    if as_json:
        print_json({"site": site_file.site.name, "maintenances": rows})
    elif rows:
        print_table(table(rows), whole=("name", "since", "until"))
    else:
        console.print(Text("No maintenance is on."))
    return EXIT_FOUND_BAD if any(row["overdue"] for row in rows) else EXIT_GOOD


def table(rows: list[dict[str, Any]]) -> Table:
    """Return maintenances as a table for people; the rows are those of `Maintenance.as_dict`."""
    from avadm.cli.nodes import compact

    found = Table(box=None, pad_edge=False, header_style="dim")
    for name in ("name", "since", "until", "", "nodes", "by", "reason"):
        found.add_column(name, no_wrap=name in ("name", "since", "until"))
    for row in rows:
        found.add_row(
            Text(row["name"]),
            _time(row["since"]),
            _time(row["until"]),
            Text("overdue", style="bold red") if row["overdue"] else Text(""),
            Text(compact(row["nodes"])),
            Text(row["user"]),
            Text(row["reason"]),
        )
    return found


def _time(at: float) -> str:
    return f"{datetime.fromtimestamp(at):%Y-%m-%d %H:%M}"


def _duration(seconds: int) -> str:
    """Return a duration in the largest unit that says it exactly."""
    for unit, length in reversed(UNITS.items()):
        if seconds and seconds % length == 0:
            return f"{seconds // length}{unit}"
    return f"{seconds}s"
