"""Commands of release 0.1 still work under their former names."""

from __future__ import annotations

import click
import pytest

from ava.cli.former import RENAMED, current_arguments
from ava.cli.main import COMMANDS, Commands, cli

CONTEXT = click.Context(cli)


def verbs(noun: str) -> tuple[str, ...]:
    group = Commands(name="ava").get_command(CONTEXT, noun)
    return tuple(group.commands) if isinstance(group, click.Group) else ()


def current(*args: str) -> list[str]:
    return current_arguments(list(args), verbs)[0]


@pytest.mark.parametrize("name", RENAMED.values(), ids=" ".join)
def test_each_new_name_exists(name: tuple[str, ...]) -> None:
    assert name[0] in COMMANDS and (len(name) == 1 or name[1] in verbs(name[0]))


@pytest.mark.parametrize(
    ("former", "new"),
    [
        ("admin user ann active --json", "user approve ann --json"),
        ("admin user --stop-runs ann disabled", "user disable --stop-runs ann"),
        ("admin user ann", "user list -h"),
        ("admin member vision ann ben", "group add-member vision ann ben"),
        ("admin member vision ann --remove --stop-runs", "group remove-member vision ann --stop-runs"),
        ("admin quota vision --gpu 4", "group set vision --gpu 4"),
        ("data space", "storage show"),
        ("data space home ann --limit=1GiB", "storage set home ann --limit=1GiB"),
        ("images", "image list"),
        ("images --json", "image list --json"),
        ("images mine --group vision", "image list --mine --group vision"),
        ("workbench keep w1", "workbench set w1 --idle-stop off"),
        ("workbench keep --end w1", "workbench set w1 --idle-stop on"),
        ("keys list", "key list"),
        ("why mnist", "explain mnist"),
        ("scale mnist 3", "service scale mnist 3"),
        ("queue", "queue list"),
        ("queue --json", "queue list --json"),
        ("queue default", "queue show default"),
        ("cluster --free", "cluster show --free"),
        ("usage", "usage show"),
        ("service mnist", "service show mnist"),
    ],
)
def test_former_names_are_translated_with_a_warning(former: str, new: str) -> None:
    args, warning = current_arguments(former.split(), verbs)
    assert " ".join(args) == new
    assert warning and warning.startswith("`ava ") and "deprecated" in warning


@pytest.mark.parametrize(
    "args",
    [
        "queue show default",
        "queue --help",
        "usage show",
        "data create x",
        "run --image x -- why",
        "stop admin",
    ],
)
def test_current_names_are_left_alone(args: str) -> None:
    assert current_arguments(args.split(), verbs) == (args.split(), None)


def test_former_names_run_with_a_warning_on_standard_error(capfd: pytest.CaptureFixture[str]) -> None:
    from ava.cli.main import run

    assert run(["why", "--help"]) == 0
    shown = capfd.readouterr()
    assert "`ava why` is deprecated: use `ava explain`." in shown.err
    assert "Usage:" in shown.out and "deprecated" not in shown.out
