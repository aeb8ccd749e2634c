"""What all verbs of `ava` have in common."""

from __future__ import annotations

import re
from collections.abc import Iterator

import click
import pytest

from ava.cli.main import COMMANDS, Commands, cli
from ava.images import catalogue


def leaves(command: click.Command, path: str = "") -> Iterator[tuple[str, click.Command]]:
    if not isinstance(command, click.Group):
        yield path, command
        return
    context = click.Context(command)
    for name in COMMANDS if isinstance(command, Commands) else command.list_commands(context):
        found = command.get_command(context, name)
        assert found is not None
        yield from leaves(found, f"{path} {name}".strip())


ALL = dict(leaves(cli))


@pytest.mark.parametrize("path", sorted(ALL))
def test_every_verb_has_json(path: str) -> None:
    assert any("--json" in parameter.opts for parameter in ALL[path].params)


def test_examples_name_images_of_the_catalogue() -> None:
    texts = [cli.help or "", *(command.help or "" for command in ALL.values())]
    named = {image for text in texts for image in re.findall(r"--image ([a-z][\w.:-]*)", text)}
    assert named and named <= set(catalogue.known())
