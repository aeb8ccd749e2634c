"""`avadm status`: what is done, stale or failed, and what to do next."""

from __future__ import annotations

import time
from datetime import datetime
from typing import Any

import click
from rich.table import Table
from rich.text import Text

from avadm.cli.main import App, pass_app
from avadm.cli.output import console, print_json
from avadm.cli.plan import command_line, short
from avadm.cli.runs import overview
from avadm.cli.tables import print_table
from avadm.engine.session import Session
from avadm.engine.status import advice
from avadm.engine.status import status as read_status
from avadm.inventory.desired import Desired
from avadm.operations.overview import overview as read_operations
from avadm.quantity import quantity
from avadm.state.lock.nodes import LockNodes, LockReplies
from avadm.state.lock.owner import dead, named
from avadm.state.run_folder import list_runs

_STYLE = {"done": "green", "failed": "bold red", "running": "cyan", "stale": "yellow", "pending": "dim"}


@click.command()
@click.option(
    "--offline", is_flag=True, help="Read the local state only; do not ask the nodes for lock and copies."
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@pass_app
def status(app: App, offline: bool, as_json: bool) -> None:
    """Show each phase's state, who is at work, what operations left, and what to do next.

    Reads the state, and asks the few nodes that keep the site's lock and copies of the state; `avadm plan` asks
    all nodes whether everything is still so.
    """
    site_file = app.site_file(draft=True)
    nodes = LockNodes(site_file, app.idle_fleet())
    seen = LockReplies() if offline else nodes.do("show")
    session = Session.open(site_file, nodes, seen, write=False, vault_lost=True)
    site, note = site_file.site.name, session.note
    last = next((r for f in reversed(list_runs()) if (r := overview(f))["site"] in (site, None)), None)
    data = read_status(Desired.read(site_file, session.keyring), session.records, last)
    # The lock of a process of this machine that was killed stays on the nodes until the next command removes it.
    holders = [one for one in seen.holders.values() if not dead(one)]
    data["lock"] = {"nodes": nodes.names, "holders": holders, "silent": seen.silent}
    data["note"] = note
    running = bool(data["running"] or holders)
    data |= read_operations(session.records.state, time.time(), running=running)
    if as_json:
        print_json(data)
        return
    console.print(f"Site [bold]{site}[/bold]  {site_file.path}\n")
    print_table(_table(data), whole=("phase", "state", "nodes", "since"))
    _print_where(data)
    _print_lock(data["lock"], note)
    _print_operations(data)
    if last:
        console.print(Text(f"\nLast run  {last['id']}: {last['result']}"))
    next_one = advice(data, command_line())
    if data["power"]:
        next_one = "`avadm power up` starts the site."
    elif data["operations"] and not data["running"]:
        # It blocks what else could be advised.
        next_one = f"`{data['operations'][0]['command']}` continues what is half done."
    console.print(Text(f"{'' if last else chr(10)}Next      {next_one}"))


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


def _print_lock(lock: dict[str, Any], note: str) -> None:
    """Say who holds the lock on the nodes, which of them do not answer, and where the state came from."""
    if note:
        console.print(Text(f"\n! {note}", style="yellow"))
    for holder in lock["holders"]:
        console.print(Text(f"\nRunning   {named(holder)}"))
    if silent := lock["silent"]:
        of = quantity(len(lock["nodes"]), "node")
        text = f"\n! No answer from {len(silent)} of {of} with the lock: {short(list(silent))}"
        console.print(Text(text, style="yellow"))


def _print_operations(data: dict[str, Any]) -> None:
    """Name what operations left: that the site is down, what is half done, maintenances that are on, and settings."""
    for one in data["power"]:
        text = f"\n! The site is {one['words']}: `avadm power up` starts it"
        console.print(Text(text, style="yellow"))
    for one in data["operations"]:
        text = f"\n! Half done: `{one['command']}` continues it (begun by {one['user']} at {_time(one['since'])})"
        console.print(Text(text, style="yellow"))
    for one in data["maintenances"]:
        text = f"\nIn maintenance until {_time(one['until'])}: {one['name']} ({short(one['nodes'])}), by {one['user']}: "
        late = " (overdue)" if one["overdue"] else ""
        console.print(Text(f"{text}{one['reason']}{late}", style="red" if late else ""))
    for one in data["leftovers"]:
        text = (
            f"\n! Left by `{one['owner']}`: {one['kind']} {one['target']}, set {one['age_s'] // 60} min ago"
        )
        console.print(Text(text, style="yellow"))


def _time(at: float) -> str:
    return f"{datetime.fromtimestamp(at):%Y-%m-%d %H:%M}"


def _print_where(data: dict[str, Any]) -> None:
    """Name the nodes on which something is wrong, where it is not simply all of them."""
    for phase in data["phases"]:
        hosts = {"failed": phase["failed_hosts"], "stale": phase["stale_hosts"]}.get(phase["state"], [])
        if hosts and len(hosts) < phase["hosts"]["total"]:
            console.print(Text(f"{phase['name']} is {phase['state']} on {short(hosts)}"))
