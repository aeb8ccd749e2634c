"""`ava token`."""

from __future__ import annotations

from typing import get_args

import click

from ava.cli.app import App, as_json
from ava.cli.output import ago, done, print_json, say, table
from ava.schemas.users import Scope


@click.group()
def token() -> None:
    """Manage access tokens for programs; scopes limit what a token can do."""


@token.command("list")
@as_json
@click.pass_obj
def list_(app: App, json_: bool) -> None:
    """List your tokens without their secrets."""
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


@token.command()
@click.option("--label", default="", metavar="TEXT")
@click.option("--days", type=click.IntRange(1, 3660), default=30, show_default=True)
@click.option(
    "--scope",
    "scopes",
    type=click.Choice(get_args(Scope)),
    multiple=True,
    help="read: read access; runs: read, plus start, change and stop runs and data sets; registry: push and pull images "
    "(docker login). Repeatable; default: full access.",
)
@as_json
@click.pass_obj
def create(app: App, label: str, days: int, scopes: tuple[str, ...], json_: bool) -> None:
    """Create a token and print it once; save it to a file for --token-file.

    A token with a scope cannot create tokens, change your account, or act as administrator.
    """
    created = app.client().make_token(label, days, sorted(set(scopes)))
    if json_:
        print_json(created)
    else:
        say(created.token)


@token.command()
@click.argument("id", metavar="ID")
@as_json
@click.pass_obj
def revoke(app: App, id: str, json_: bool) -> None:
    """Revoke a token."""
    app.client().end_token(id)
    done(f"Revoked {id}.", {"ended": id}, json_)
