"""`avadm database`: backups of PostgreSQL: make one, list them, prove one, bring one back."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import click
from rich.table import Table
from rich.text import Text

from avadm.cli.main import App, pass_app
from avadm.cli.output import console, print_json, print_progress
from avadm.cli.tables import print_table
from avadm.errors import EXIT_FOUND_BAD, EXIT_GOOD

if TYPE_CHECKING:
    from avadm.operations.database_nodes import DatabaseNodes

JSON = click.option("--json", "as_json", is_flag=True, help="Print JSON.")
MIB = 1 << 20


@click.group()
def database() -> None:
    """Backups of PostgreSQL: make one, list them, prove one, bring one back."""


@database.command()
@JSON
@pass_app
def backups(app: App, as_json: bool) -> int:
    """List the backups. Any time since the first one was through can be restored, as far as the archive has its WAL.

    Changes nothing. Exit status 1 where there is none.
    """
    found: list[dict[str, Any]] = _nodes(app).any("list")["backups"]
    if as_json:
        print_json({"site": app.site_file().site.name, "backups": found})
        return EXIT_GOOD if found else EXIT_FOUND_BAD
    if not found:
        console.print(Text("There is no backup yet."))
        return EXIT_FOUND_BAD
    table = Table(box=None, header_style="bold", pad_edge=False)
    for name in ("backup", "kind", "through", "MiB", "stored MiB"):
        table.add_column(name, justify="right" if "MiB" in name else "left")
    for one in found:
        sizes = (f"{one['bytes'] / MIB:.0f}", f"{one['stored_bytes'] / MIB:.0f}")
        table.add_row(one["label"], one["type"], _time(one["stop"]), *sizes)
    print_table(table, whole=("backup", "through"))
    console.print(Text(f"Any time since {_time(min(one['stop'] for one in found))} can be restored."))
    return EXIT_GOOD


@database.command()
@click.option(
    "--full", is_flag=True, help="All of it; else what changed since the last full one, where that is enough."
)
@JSON
@pass_app
def backup(app: App, full: bool, as_json: bool) -> None:
    """Make a backup now, on the node of the primary."""
    from avadm.operations.database_nodes import WORK_S

    nodes = _nodes(app)
    node = nodes.with_role("primary")
    made = nodes.ask(node, "backup", *(["full"] if full else []), timeout=WORK_S)
    if as_json:
        print_json({"site": app.site_file().site.name, "node": node, "backup": made})
        return
    seconds = made["timestamp"]["stop"] - made["timestamp"]["start"]
    console.print(Text(f"{made['label']} ({made['type']}) made on {node} in {seconds} s."))


@database.command()
@click.option("--anywhere", is_flag=True, help="On the primary's node where there is no standby.")
@JSON
@pass_app
def verify(app: App, anywhere: bool, as_json: bool) -> int:
    """Restore the newest backup with all WAL since into a server of its own on the standby's node, and look at it.

    Every page's checksum, every index, the tables beside the living ones, and how old its newest row is. That server is removed
    afterwards, and the result is a metric. The living database is not touched. Exit status 1 where something is wrong.
    """
    from avadm.operations.database_nodes import WORK_S

    nodes = _nodes(app)
    roles = nodes.roles()
    standbys = [n for n, role in roles.items() if role == "standby"]
    node = standbys[0] if standbys or not anywhere else nodes.with_role("primary")
    found = nodes.ask(node, "verify", *(["--anywhere"] if anywhere else []), timeout=WORK_S)
    if as_json:
        print_json({"site": app.site_file().site.name, "node": node, **found})
    elif found["good"]:
        console.print(
            Text(
                f"{found['label']} is good: restored on {node} in {found['seconds']} s, up to {found['lag_s']} s before it began."
            )
        )
    else:
        console.print(Text(f"What {node} restored is not good:"))
        for line in found["wrong"]:
            console.print(Text(f"  {line}"))
    return EXIT_GOOD if found["good"] else EXIT_FOUND_BAD


@database.command()
@click.option(
    "--to",
    required=True,
    metavar="TIME",
    help="2026-11-24T12:30:00Z or with another zone; `latest` for all there is.",
)
@click.option("--over-living", "word", metavar="SITE", help="The site's name: replace a database that lives.")
@click.option("--break-lock", is_flag=True, help="Remove the lock of another run that is known to be dead.")
@JSON
@pass_app
def restore(app: App, to: str, word: str | None, break_lock: bool, as_json: bool) -> None:
    """Bring PostgreSQL back to a time, on all its nodes.

    Refused while a member lives, unless the site's name is given. The data are restored beside the present ones first; then the
    members are stopped, the present data renamed, never removed, and the others copy the first one's. All nodes have to answer.
    """
    from avadm.operations.database_restore import restore as run
    from avadm.operations.database_restore import target
    from avadm.state.lock.nodes import LockNodes
    from avadm.state.lock.site import lock_site
    from avadm.state.site_state import state_folder

    when = target(to, datetime.now(UTC))
    nodes, site_file = _nodes(app), app.site_file()

    keepers = LockNodes(site_file, nodes.fleet)
    state = state_folder(site_file.path, site_file.site.name)
    with lock_site(keepers, state, "database restore", print_progress, break_lock=break_lock):
        folder = run(nodes, when, word, print_progress)
    done = folder.read_json("restore.json")
    if as_json:
        print_json(done)
        return
    console.print(
        Text(f"Restored to {done['to']} in {done['seconds']:.0f} s; {done['node']} is the primary.")
    )
    for name, path in done["kept"].items():
        console.print(Text(f"Kept: {name}:{path}. Remove it by hand when it is no longer needed."))
    console.print(Text(f"Written down in {folder.path / 'restore.json'}"))


def _nodes(app: App) -> DatabaseNodes:
    """Return the site's nodes of PostgreSQL; AvadmError on a site without backups."""
    from avadm.operations.database_nodes import DatabaseNodes

    site = app.site_file().site
    found = DatabaseNodes(app.fleet(), site)
    found.names()
    return found


def _time(at: int) -> str:
    return f"{datetime.fromtimestamp(at, UTC):%Y-%m-%dT%H:%M:%SZ}"
