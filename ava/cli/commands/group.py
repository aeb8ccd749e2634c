"""`ava group`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from ava.cli.app import App, as_json
from ava.cli.commands.user import open_runs
from ava.cli.output import cores, done, note, number, print_json, size, table
from ava.cli.quota import quota, quota_options

if TYPE_CHECKING:
    from ava.client import Client


@click.group()
def group() -> None:
    """Manage groups, their members and quotas (changes: admin only)."""


@group.command("list")
@click.option("--all", "all_", is_flag=True, help="All groups (admin only).")
@click.option("--default", "default", metavar="GROUP", hidden=True)
@as_json
@click.pass_obj
def list_(app: App, all_: bool, default: str | None, json_: bool) -> None:
    """List your groups with usage and quota."""
    ava = app.client()
    if default is not None:
        ava.set_default_group(default)
        if not json_:
            note(f"New runs are charged to {default}; existing runs are unchanged.")
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


@group.command()
@click.argument("name")
@quota_options
@as_json
@click.pass_obj
def create(app: App, /, name: str, json_: bool, **amounts: str) -> None:
    """Create a group with a quota."""
    created = app.client().make_group(name, quota(**amounts))
    done(f"Created group {created.name}, gid {created.gid}.", created, json_)


@group.command("set")
@click.argument("name", metavar="GROUP")
@quota_options
@as_json
@click.pass_obj
def set_quota(app: App, /, name: str, json_: bool, **amounts: str) -> None:
    """Set the quota of a group; not below its current usage."""
    changed = app.client().set_quota(name, quota(**amounts))
    done(f"Set the quota of group {name}.", changed, json_)


@group.command("add-member")
@click.argument("name", metavar="GROUP")
@click.argument("users", nargs=-1, required=True, metavar="USER...")
@as_json
@click.pass_obj
def add_member(app: App, name: str, users: tuple[str, ...], json_: bool) -> None:
    """Add users to a group."""
    ava = app.client()
    for user in users:
        ava.add_member(name, user)
    _members(ava, name, json_)


@group.command("remove-member")
@click.argument("name", metavar="GROUP")
@click.argument("users", nargs=-1, required=True, metavar="USER...")
@click.option("--stop-runs", is_flag=True, help="Also stop their runs that are charged to the group.")
@as_json
@click.pass_obj
def remove_member(app: App, name: str, users: tuple[str, ...], stop_runs: bool, json_: bool) -> None:
    """Remove users from a group; their runs continue, but cannot grow."""
    ava = app.client()
    for user in users:
        ava.remove_member(name, user, stop_runs=stop_runs)
        if left := open_runs(ava, user, name):
            again = f"ava group remove-member {name} {user} --stop-runs"
            note(
                f"{user}: these runs keep the group's folder until they end: {', '.join(left)}. Stop them: {again}"
            )
    _members(ava, name, json_)


def _members(ava: Client, name: str, json_: bool) -> None:
    """Print the members of a group."""
    members = ava.members(name)
    done(f"Group {name}: " + ", ".join(m.name for m in members), members, json_)
