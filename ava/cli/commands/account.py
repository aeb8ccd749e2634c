"""`ava account`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from ava.cli.app import App, as_json
from ava.cli.output import done, note, print_json, table

if TYPE_CHECKING:
    from ava.schemas.users import UserOut

UNCONFIRMED = (
    "Your e-mail address is not confirmed, so AVA sends no notifications to it. Open the link in the e-mail, or send it again: "
    "ava account send-confirmation"
)


def email_text(user: UserOut) -> str:
    """Return an account's e-mail address, marked if not confirmed."""
    return f"{user.email} (not confirmed)" if user.email_confirmed is False else user.email


@click.group()
def account() -> None:
    """Show your account, set the default group, confirm your e-mail address."""


@account.command()
@as_json
@click.pass_obj
def show(app: App, json_: bool) -> None:
    """Show your name, e-mail address and default group."""
    me = app.client().me()
    if json_:
        print_json(me)
        return
    table(
        ("NAME", "UID", "EMAIL", "DEFAULT GROUP"),
        [(me.name, str(me.uid), email_text(me), me.default_group or "")],
    )
    if me.email_confirmed is False:
        note(UNCONFIRMED)


@account.command("send-confirmation")
@as_json
@click.pass_obj
def send_confirmation(app: App, json_: bool) -> None:
    """Send the link to confirm your e-mail address again."""
    me = app.client().send_confirmation()
    done(f"Sent a link to {me.email}. Open it in a browser.", me, json_)


@account.command("set-default-group")
@click.argument("group")
@as_json
@click.pass_obj
def set_default_group(app: App, group: str, json_: bool) -> None:
    """Set the group that new runs are charged to."""
    me = app.client().set_default_group(group)
    done(f"New runs are charged to {me.default_group}; existing runs are unchanged.", me, json_)
