"""`ava register`."""

from __future__ import annotations

import click

from ava.cli.app import App, as_json
from ava.cli.output import note, print_json
from ava.cli.verbs.login import password


@click.command()
@click.option("--name", "-u", required=True, metavar="NAME", help="The account's name.")
@click.option("--email", required=True, metavar="ADDRESS")
@as_json
@click.pass_obj
def register(app: App, name: str, email: str, json_: bool) -> None:
    """Ask for an account; the password (12 characters or more) is asked for, or read from standard input."""
    made = app.client(anonymous=True).register(name, email, password("New password"))
    if json_:
        print_json(made)
    else:
        note(f"{made.name} is registered. Log in once an administrator has approved it.")
