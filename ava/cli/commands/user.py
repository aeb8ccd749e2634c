"""`ava user`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import click

from ava.cli.app import App, as_json
from ava.cli.commands.account import email_text
from ava.cli.output import done, note, print_json, say, table

if TYPE_CHECKING:
    from ava.client import Client


@click.group()
def user() -> None:
    """Manage user accounts (admin only)."""


@user.command("list")
@click.option("--state", type=click.Choice(["pending", "active", "disabled"]))
@as_json
@click.pass_obj
def list_(app: App, state: Literal["pending", "active", "disabled"] | None, json_: bool) -> None:
    """List users; --state pending lists those waiting for approval."""
    found = list(app.client().users(state=state))
    if json_:
        print_json(found)
        return
    rows = [(u.name, u.state, "yes" if u.admin else "", email_text(u), u.default_group or "") for u in found]
    table(("NAME", "STATE", "ADMIN", "EMAIL", "DEFAULT GROUP"), rows)


@user.command()
@click.argument("name")
@click.argument("email")
@click.option("--admin", is_flag=True, help="Create an administrator.")
@as_json
@click.pass_obj
def create(app: App, name: str, email: str, admin: bool, json_: bool) -> None:
    """Create an active account; `ava user invite` creates the link to set its password."""
    created = app.client().make_user(name, email, admin=admin)
    done(
        f"Created user {created.name}, in no group yet. Invite: ava user invite {created.name}",
        created,
        json_,
    )


@user.command()
@click.argument("name")
@as_json
@click.pass_obj
def approve(app: App, name: str, json_: bool) -> None:
    """Activate an account that is pending or disabled."""
    changed = app.client().change_user(name, state="active")
    done(f"{name} is {changed.state}.", changed, json_)


@user.command()
@click.argument("name")
@click.option("--stop-runs", is_flag=True, help="Also stop all runs of the user.")
@as_json
@click.pass_obj
def disable(app: App, name: str, stop_runs: bool, json_: bool) -> None:
    """Disable an account: revokes its sessions and tokens, stops its public services."""
    ava = app.client()
    changes = {"state": "disabled"} | ({"stop_runs": True} if stop_runs else {})
    changed = ava.change_user(name, **changes)
    done(f"{name} is {changed.state}.", changed, json_)
    if left := open_runs(ava, name):
        again = "" if stop_runs else f"; stop them: ava user disable {name} --stop-runs"
        note(f"{name}: still running: {', '.join(left)}{again}")


def open_runs(ava: Client, owner: str, group: str | None = None) -> list[str]:
    """Return the ids of a user's unfinished runs that are not being stopped, optionally of one group."""
    phases: tuple[Literal["queued", "admitted"], ...] = ("queued", "admitted")
    found = [run for phase in phases for run in ava.runs(owner=owner, group=group, phase=phase, all=True)]
    return [run.id for run in found if run.stop is None]


@user.command()
@click.argument("name")
@as_json
@click.pass_obj
def delete(app: App, name: str, json_: bool) -> None:
    """Delete an account that was never approved; its name and address can be registered again."""
    app.client().delete_user(name)
    done(f"Deleted user {name}.", {"deleted": name}, json_)


@user.command()
@click.argument("names", nargs=-1, required=True, metavar="NAME...")
@as_json
@click.pass_obj
def invite(app: App, names: tuple[str, ...], json_: bool) -> None:
    """Create single-use links to set a password, and print them once.

    Links are not stored and cannot be listed. A link expires when the user's password changes or the user is disabled.
    """
    ava, found = app.client(), []
    for name in names:
        created = ava.invite(name)
        link = f"{app.address()}/invitation#{created.invitation}"
        found.append({"user": created.user, "link": link, "until": created.until})
        if not json_:
            # Printed at once: the next name may be refused, and the link is stored nowhere else.
            say(f"{created.user} {link}")
            note(f"{created.user}: valid once, until {created.until:%Y-%m-%d %H:%M} UTC.")
    if json_:
        print_json(found)


@user.command("send-confirmation")
@click.argument("name")
@as_json
@click.pass_obj
def send_confirmation(app: App, name: str, json_: bool) -> None:
    """Send the link to confirm a user's e-mail address again."""
    one = app.client().send_confirmation_to(name)
    done(f"Sent a link to {one.email}.", one, json_)
