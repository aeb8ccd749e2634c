"""`ava login`."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import click

from ava.cli import saved_login
from ava.cli.app import App, as_json
from ava.cli.commands.account import UNCONFIRMED
from ava.cli.output import note, print_json, say


def password(prompt: str = "Password") -> str:
    """Return a password from the terminal without showing it, or one line of standard input."""
    if sys.stdin.isatty():
        return str(click.prompt(prompt, hide_input=True, err=True))
    return sys.stdin.readline().rstrip("\r\n")


@click.command()
@click.option("--name", "-u", metavar="NAME", help="Account name; default: prompt.")
@click.option(
    "--days", type=click.IntRange(1, 3660), default=30, show_default=True, help="Lifetime of the token."
)
@as_json
@click.pass_obj
def login(app: App, name: str | None, days: int, json_: bool) -> None:
    """Log in and save a token in ~/.config/ava, readable only by you.

    Prompts for the password, or reads it from standard input if that is not a terminal:

    \b
    ava --server https://ava.example.org login -u ann < password-file
    """  # noqa: D301
    known = saved_login.load()
    who = name or known.name or click.prompt("Name", err=True)
    ava = app.client(anonymous=True)
    token = ava.login(who, password(), days=days)
    server = app.server or known.server
    ca = str(Path(app.ca).absolute()) if app.ca else known.ca if server == known.server else None
    file = saved_login.save(replace(known, server=server, ca=ca, name=who, token=token))
    me = ava.me()
    if json_:
        print_json(me)
        return
    say(f"Logged in to {server} as {me.name}.")
    note(
        f"Token saved in {file}, valid for {days} days."
        + ("" if me.default_group else " You do not belong to a group yet: ask an administrator to add you.")
    )
    if me.email_confirmed is False:
        note(UNCONFIRMED)
