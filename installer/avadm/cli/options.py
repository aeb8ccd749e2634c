"""Options that several verbs have, and former names of options, which work with a warning and are not shown."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import copy
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import click

F = TypeVar("F", bound=Callable[..., Any])


class Renamed(click.Option):
    """An option with former names.

    Args:
        names: as of click.Option.
        former: names that still work with a warning, and are not in the help.
        more: as of click.Option.
    """

    def __init__(self, names: Sequence[str], *, former: Sequence[str] = (), **more: Any) -> None:
        super().__init__([*names, *former], **more)
        self._former = set(former)

    def add_to_parser(self, parser: Any, ctx: click.Context) -> None:
        """Add the option; one that is given by a former name prints a warning."""
        super().add_to_parser(parser, ctx)
        current = next(name for name in self.opts if name not in self._former and name.startswith("--"))
        for name in self._former:
            option = copy(parser._long_opt[name])
            option.process = partial(_warned, name, current, option.process)
            parser._long_opt[name] = option

    def get_help_record(self, ctx: click.Context) -> tuple[str, str] | None:
        """Return the option's line of the help, without its former names."""
        every, self.opts = self.opts, [name for name in self.opts if name not in self._former]
        try:
            return super().get_help_record(ctx)
        finally:
            self.opts = every


def _warned(former: str, current: str, process: Callable[[Any, Any], None], value: Any, state: Any) -> None:
    click.echo(f"`{former}` is now `{current}`; the former name is removed in release 0.3.", err=True)
    process(value, state)


def dry_run(help: str) -> Callable[[F], F]:
    """Return the option --dry-run, whose value is ``check``."""
    return click.option("--dry-run", "check", cls=Renamed, former=["--check"], is_flag=True, help=help)


def only(name: str, help: str) -> Callable[[F], F]:
    """Return the option --only ID, which chooses checks and may be repeated; its value is ``name``."""
    return click.option(
        "--only", name, cls=Renamed, former=["--check"], metavar="ID", multiple=True, help=help
    )


def password_file(function: F) -> F:
    """Add --password-file: where the login's password of nodes is read from."""
    return click.option(
        "--password-file",
        type=click.Path(path_type=Path),
        metavar="FILE",
        help="File (0600) with the login's password [or env: AVADM_SSH_PASSWORD; else you are asked].",
    )(function)


def existing_key(function: F) -> F:
    """Add --existing-key, whose value is ``existing``: keys that let the controller in before its own does."""
    return click.option(
        "--existing-key",
        "existing",
        type=click.Path(path_type=Path),
        multiple=True,
        metavar="FILE",
        help="A private key that the nodes let in already; may be given more than once.",
    )(function)
