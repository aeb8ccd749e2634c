"""`ava storage`."""

from __future__ import annotations

from typing import Literal

import click

from ava.cli.app import App, as_json
from ava.cli.commands.data_files import find_set
from ava.cli.output import ago, note, print_json, say, size
from ava.cli.quota import amount_of
from ava.cli.specfile import memory
from ava.schemas.data_sets import FolderOut, HomeOut


@click.group()
def storage() -> None:
    """Show and limit the storage of homes, group folders and data sets."""


@storage.command()
@click.argument("kind", type=click.Choice(["home", "group", "set"]))
@click.argument("name", default="me")
@as_json
@click.pass_obj
def show(app: App, kind: Literal["home", "group", "set"], name: str, json_: bool) -> None:
    """Show usage and limit of a home, a group's folder or a data set."""
    ava = app.client()
    if kind == "home":
        _print(ava.home(name), json_)
    elif kind == "group":
        _print(ava.group_folder(name), json_)
    else:
        _print(find_set(ava, name).folder, json_)


@storage.command("set")
@click.argument("kind", type=click.Choice(["home", "set"]))
@click.argument("name")
@click.option("--limit", metavar="AMOUNT", required=True, help="Such as 100GiB, or none.")
@as_json
@click.pass_obj
def set_(app: App, kind: Literal["home", "set"], name: str, limit: str, json_: bool) -> None:
    """Set the limit of a home or a data set (admin only); a group's is its quota: ava group set."""
    ava, amount = app.client(), amount_of(limit, memory)
    if kind == "home":
        _print(ava.limit_home(name, amount), json_)
    else:
        _print(ava.limit_data_set(find_set(ava, name).id, amount).folder, json_)


def _print(folder: FolderOut | None, json_: bool) -> None:
    """Print usage and limit of a folder; a data set with another source has none."""
    if json_ or folder is None:
        print_json(folder.model_dump(mode="json") if folder else {})
        return
    if folder.trouble:
        note(f"! {folder.trouble}")
    say(
        f"{size(folder.used or 0)} of {size(folder.quota)}, {folder.files or 0} files, {ago(folder.seen)} ago"
    )
    if isinstance(folder, HomeOut) and folder.data_sets_most is not None:
        say(f"data sets: {size(folder.data_sets)} of {size(folder.data_sets_most)} by their limits")
