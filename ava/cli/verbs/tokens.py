"""`ava tokens`."""

from __future__ import annotations

import click

from ava.cli.app import App, as_json
from ava.cli.output import ago, note, print_json, say, table


@click.group()
def tokens() -> None:
    """Make and end tokens for programs; each may do what you may."""


@tokens.command("list")
@as_json
@click.pass_obj
def list_(app: App, json_: bool) -> None:
    """List your tokens, without their secrets."""
    found = app.client().tokens()
    if json_:
        print_json(found)
        return
    rows = [
        (t.id, t.label, ago(t.created), f"{t.until:%Y-%m-%d}" if t.until else "", ago(t.used)) for t in found
    ]
    table(("ID", "LABEL", "AGE", "UNTIL", "USED AGO"), rows)


@tokens.command()
@click.option("--label", default="", metavar="TEXT")
@click.option("--days", type=click.IntRange(1, 3660), default=30, show_default=True)
@as_json
@click.pass_obj
def make(app: App, label: str, days: int, json_: bool) -> None:
    """Make a token and print it, this once; keep it in a file for --token-file."""
    made = app.client().make_token(label, days)
    if json_:
        print_json(made)
    else:
        say(made.token)


@tokens.command()
@click.argument("id", metavar="ID")
@click.pass_obj
def end(app: App, id: str) -> None:
    """End a token."""
    app.client().end_token(id)
    note(f"Ended {id}.")
