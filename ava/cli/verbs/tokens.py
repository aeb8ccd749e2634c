"""`ava tokens`."""

from __future__ import annotations

from typing import get_args

import click

from ava.cli.app import App, as_json
from ava.cli.output import ago, done, print_json, say, table
from ava.schemas.users import Scope


@click.group()
def tokens() -> None:
    """Make and end tokens for programs; each may do what you may, or what its scopes say."""


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
        (
            t.id,
            t.label,
            ago(t.created),
            f"{t.until:%Y-%m-%d}" if t.until else "",
            ago(t.used),
            ", ".join(t.scopes or ["all"]),
        )
        for t in found
    ]
    table(("ID", "LABEL", "AGE", "UNTIL", "USED AGO", "SCOPES"), rows)


@tokens.command()
@click.option("--label", default="", metavar="TEXT")
@click.option("--days", type=click.IntRange(1, 3660), default=30, show_default=True)
@click.option(
    "--scope",
    "scopes",
    type=click.Choice(get_args(Scope)),
    multiple=True,
    help="What the token may do: read; runs (read, and start, change and stop work and data sets); registry (push and pull "
    "images, for docker login). May be repeated; without it the token may do all that you may.",
)
@as_json
@click.pass_obj
def make(app: App, label: str, days: int, scopes: tuple[str, ...], json_: bool) -> None:
    """Make a token and print it, this once; keep it in a file for --token-file.

    A token with a scope makes no further tokens, changes nothing of your account, and has no administrator's rights.
    """
    made = app.client().make_token(label, days, sorted(set(scopes)))
    if json_:
        print_json(made)
    else:
        say(made.token)


@tokens.command()
@click.argument("id", metavar="ID")
@as_json
@click.pass_obj
def end(app: App, id: str, json_: bool) -> None:
    """End a token."""
    app.client().end_token(id)
    done(f"Ended {id}.", {"ended": id}, json_)
