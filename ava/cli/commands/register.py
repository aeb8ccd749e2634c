"""`ava register`."""

from __future__ import annotations

import click

from ava.cli.app import App, as_json
from ava.cli.commands.login import password
from ava.cli.output import note, print_json


@click.command()
@click.option("--name", "-u", required=True, metavar="NAME", help="Account name.")
@click.option("--email", required=True, metavar="ADDRESS")
@as_json
@click.pass_obj
def register(app: App, name: str, email: str, json_: bool) -> None:
    """Request an account; prompts for a password (at least 12 characters) or reads it from standard input."""
    created = app.client(anonymous=True).register(name, email, password("New password"))
    if json_:
        print_json(created)
    else:
        note(f"Registered {created.name}. Log in once an administrator has approved the account.")
