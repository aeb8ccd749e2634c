"""What all verbs of `ava` have in common."""

from __future__ import annotations

import re
from collections.abc import Iterator

import click
import pytest

from ava.cli.main import VERBS, Verbs, cli
from ava.images import catalogue

SCRIPTS = {"completion", "workbench ssh-config"}
"""Verbs whose output is a file for another program."""
CHANGES = {
    *("logout", "images delete", "keys delete", "tokens end", "workbench keep"),
    *(f"admin {verb}" for verb in ("delete-pool", "delete-queue", "delete-user", "make-user")),
    *("admin member", "admin pool", "admin queue", "admin quota", "admin user"),
    *(f"data {verb}" for verb in ("delete", "get", "make", "put", "rm", "share", "unshare")),
}
"""Verbs that show nothing: what they did is their exit status."""


def leaves(command: click.Command, path: str = "") -> Iterator[tuple[str, click.Command]]:
    if not isinstance(command, click.Group):
        yield path, command
        return
    context = click.Context(command)
    for name in VERBS if isinstance(command, Verbs) else command.list_commands(context):
        found = command.get_command(context, name)
        assert found is not None
        yield from leaves(found, f"{path} {name}".strip())


ALL = dict(leaves(cli))


@pytest.mark.parametrize("path", sorted(ALL))
def test_every_verb_that_shows_something_prints_it_as_json_where_asked(path: str) -> None:
    has = any("--json" in parameter.opts for parameter in ALL[path].params)
    assert has is (path not in SCRIPTS | CHANGES)


def test_examples_name_images_of_the_catalogue() -> None:
    texts = [cli.help or "", *(command.help or "" for command in ALL.values())]
    named = {image for text in texts for image in re.findall(r"--image ([a-z][\w.:-]*)", text)}
    assert named and named <= set(catalogue.known())
