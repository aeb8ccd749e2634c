"""The object handed to every command, and options that many share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from ava.cli import saved_login
from ava.domain.problems import ApiError, Problem

if TYPE_CHECKING:
    from ava.client import Client

F = TypeVar("F", bound=Callable[..., Any])


@dataclass
class App:
    """Context of a command.

    Attributes:
        server, ca: named on the command line or in the environment, else as at login.
        token_file: file that holds a token, for programs.
        connect: makes the client, for tests.
    """

    server: str | None = None
    ca: Path | None = None
    token_file: Path | None = None
    connect: Callable[..., Client] | None = field(default=None, repr=False)

    def address(self) -> str:
        """Return the server's URL; ApiError if none is configured."""
        server = self.server or saved_login.load().server
        if server is None:
            raise _refused(
                "no-server",
                "No server configured.",
                "--server",
                "nothing",
                "https://HOST",
                "ava --server https://HOST login",
            )
        return server.rstrip("/")

    def client(self, *, anonymous: bool = False) -> Client:
        """Return a client; closed when the command ends.

        Raises:
            ApiError: not logged in, or no server configured.
        """
        from ava.client import Client

        known, server = saved_login.load(), self.address()
        # A token is only sent to the server that issued it.
        token = (
            None if anonymous else self._token(known if server == known.server else saved_login.SavedLogin())
        )
        ca = self.ca or (Path(known.ca) if known.ca and server == known.server else None)
        made = (self.connect or Client)(server, token=token, ca=ca)
        click.get_current_context().call_on_close(made.close)
        return made

    def _token(self, known: saved_login.SavedLogin) -> str:
        if self.token_file is not None:
            try:
                return self.token_file.read_text(encoding="ascii").strip()
            except (OSError, UnicodeDecodeError) as error:
                raise _refused(
                    "token-file",
                    "Cannot read the token.",
                    str(self.token_file),
                    str(error),
                    "a file with a token",
                    "Specify another file.",
                ) from error
        if known.token is None:
            raise _refused(
                "not-logged-in", "You are not logged in.", "ava", "no token", "a login", "ava login"
            )
        return known.token


def _refused(code: str, what: str, where: str, found: str, wanted: str, remedy: str) -> ApiError:
    return ApiError(401, Problem(code, what, where, found, wanted, remedy))


class Renamed(click.Option):
    """An option whose former names work with a warning and are not in its help."""

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


def as_json(command: F) -> F:
    """Add ``--json``."""
    return click.option(
        "--json", "json_", is_flag=True, help="Print JSON on standard output and nothing else."
    )(command)


def run_argument(command: F) -> F:
    """Add the argument RUN."""
    return click.argument("run", metavar="RUN")(command)
