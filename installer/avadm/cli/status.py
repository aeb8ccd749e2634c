"""`avadm status`: what is done, stale or failed, and what to do next."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import click
from rich.table import Table
from rich.text import Text

from avadm.cli.main import App, pass_app
from avadm.cli.output import console, print_json
from avadm.cli.plan import command_line, short
from avadm.cli.runs import overview
from avadm.engine.prepare import Context
from avadm.engine.runfolder import list_runs
from avadm.engine.status import advice
from avadm.engine.status import status as read_status

_STYLE = {"done": "green", "failed": "bold red", "running": "cyan", "stale": "yellow", "pending": "dim"}


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@pass_app
def status(app: App, as_json: bool) -> None:
    """Show each phase's state and what to do next; reads the ledger only, not the nodes."""
    context = Context.of(app.site_file())
    site = context.site_file.site.name
    last = next((r for f in reversed(list_runs()) if (r := overview(f))["site"] in (site, None)), None)
    data = read_status(context, last)
    if as_json:
        print_json(data)
        return
    console.print(f"Site [bold]{site}[/bold]  {context.site_file.path}\n")
    console.print(_table(data))
    _print_where(data)
    if last:
        console.print(Text(f"\nLast run  {last['id']}: {last['result']}"))
    console.print(Text(f"{'' if last else chr(10)}Next      {advice(data, command_line())}"))


def _table(data: dict[str, Any]) -> Table:
    table = Table(box=None, pad_edge=False, header_style="dim")
    for name, width in (("phase", 10), ("state", 7), ("nodes", 10), ("since", 16)):
        table.add_column(name, no_wrap=True, min_width=width)
    table.add_column("what", overflow="ellipsis", no_wrap=True)
    for phase in data["phases"]:
        when = phase["finished"]
        table.add_row(
            phase["name"],
            Text(phase["state"], style=_STYLE[phase["state"]]),
            f"{phase['hosts']['done']} of {phase['hosts']['total']}",
            f"{datetime.fromtimestamp(when):%Y-%m-%d %H:%M}" if when else "",
            phase["title"],
        )
    return table


def _print_where(data: dict[str, Any]) -> None:
    """Name the nodes on which something is wrong, where it is not simply all of them."""
    for phase in data["phases"]:
        hosts = {"failed": phase["failed_hosts"], "stale": phase["stale_hosts"]}.get(phase["state"], [])
        if hosts and len(hosts) < phase["hosts"]["total"]:
            console.print(Text(f"{phase['name']} is {phase['state']} on {short(hosts)}"))
