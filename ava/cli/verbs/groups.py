"""`ava groups`."""

from __future__ import annotations

import click

from ava.cli.app import App, as_json
from ava.cli.output import cores, note, number, print_json, size, table


@click.command()
@click.option("--all", "all_", is_flag=True, help="Everybody's, for administrators.")
@click.option("--default", "default", metavar="GROUP", hidden=True)
@as_json
@click.pass_obj
def groups(app: App, all_: bool, default: str | None, json_: bool) -> None:
    """Show your groups, what they may have and what they have now; `ava account default-group` chooses the charged one."""
    ava = app.client()
    if default is not None:
        ava.set_default_group(default)
        if not json_:
            note(f"Later runs are charged to {default}; those that are there stay where they are.")
    found, mine = ava.groups(all=all_), ava.me().default_group
    if json_:
        print_json(found)
        return
    rows = [
        (
            g.name,
            "default" if g.name == mine else "",
            f"{g.used.gpu}/{number(g.quota.gpu)}",
            f"{cores(g.used.cpu)}/{cores(g.quota.cpu)}",
            f"{size(g.used.memory)}/{size(g.quota.memory)}",
            size(g.quota.storage),
            size(g.quota.disk),
        )
        for g in found
    ]
    columns = ("GROUP", "", "GPU", "CPU", "MEMORY", "STORAGE", "DISK")
    table(columns, rows, right=columns[2:])
