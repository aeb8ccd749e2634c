"""`ava key`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Literal

import click

from ava.cli.app import App, as_json
from ava.cli.output import done, print_json, table
from ava.domain.problems import ApiError, Problem

KIND = click.Choice(["ssh", "deploy"])
Kind = Literal["ssh", "deploy"]


@click.group()
def key() -> None:
    """Manage SSH public keys (for workbenches) and deploy keys (private, for git)."""


@key.command("list")
@as_json
@click.pass_obj
def list_(app: App, json_: bool) -> None:
    """List your keys; for deploy keys the public part."""
    ava = app.client()
    found = [*ava.keys("ssh"), *ava.keys("deploy")]
    if json_:
        print_json(found)
    else:
        table(
            ("KIND", "NAME", "FINGERPRINT", "KEY"),
            [(k.kind, k.name, k.fingerprint, k.value[:60]) for k in found],
        )


@key.command("set")
@click.argument("kind", type=KIND)
@click.argument("name")
@click.argument("file", type=click.Path(path_type=Path), metavar="FILE")
@as_json
@click.pass_obj
def set_(app: App, kind: Kind, name: str, file: Path, json_: bool) -> None:
    """Store or replace a key from FILE (- reads standard input)."""
    try:
        text = sys.stdin.read(20_000) if str(file) == "-" else file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        problem = Problem(
            "file-unreadable",
            "Cannot read the key.",
            str(file),
            type(error).__name__,
            "a key file",
            "Specify another file.",
        )
        raise ApiError(400, problem) from error
    stored = app.client().put_key(kind, name, text)
    done(f"Stored {kind} key {stored.name}, {stored.fingerprint}.", stored, json_)


@key.command()
@click.argument("kind", type=KIND)
@click.argument("name")
@as_json
@click.pass_obj
def delete(app: App, kind: Kind, name: str, json_: bool) -> None:
    """Delete a key."""
    app.client().delete_key(kind, name)
    done(f"Deleted {kind} key {name}.", {"deleted": name, "kind": kind}, json_)
