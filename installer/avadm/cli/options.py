"""Options that several verbs have, and former names of options, which work with a warning and are not shown."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import copy
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click
from click.core import ParameterSource

from avadm.cli.times import DURATION

if TYPE_CHECKING:
    from avadm.operations.drain import DrainOptions

F = TypeVar("F", bound=Callable[..., Any])
DRAIN = frozenset({"notice", "stop_runs", "administrator", "timeout"})
"""Arguments that the options of a drain become."""
ADMINISTRATOR = click.option(
    "--as",
    "administrator",
    metavar="NAME",
    help="AVA's administrator in whose name; needed where there are several.",
)


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


def former_flag(name: str, value: str, current: str) -> Callable[[F], F]:
    """Return a flag that another option has replaced: it works with a warning and is not shown.

    Args:
        name: the flag.
        value: name of the function's argument.
        current: what is written in its place.
    """

    def warn(context: click.Context, parameter: click.Parameter, given: bool) -> bool:
        if given:
            _warn(name, current)
        return given

    return click.option(name, value, is_flag=True, hidden=True, callback=warn)


def drain_options(function: F) -> F:
    """Add --notice, --stop-runs and --as: how nodes with runs of AVA are drained; `drained` takes them."""
    options = [
        click.option(
            "--notice",
            type=DURATION,
            default="30m",
            show_default=True,
            metavar="DURATION",
            help="How long before the owners of AVA's workbenches on the nodes are notified.",
        ),
        click.option("--stop-runs", is_flag=True, help="End AVA's trainings too when the notice is over."),
        ADMINISTRATOR,
    ]
    for option in reversed(options):
        function = option(function)
    return function


def drained(notice: int, stop_runs: bool, administrator: str | None, timeout: int) -> DrainOptions:
    """Return how nodes are drained, by the values of these options.

    Raises:
        click.BadParameter: the notice is longer than AVA lets it be.
    """
    from avadm.kube.node_runs import LONGEST_NOTICE_S, Notice
    from avadm.operations.drain import DrainOptions

    if notice > LONGEST_NOTICE_S:
        raise click.BadParameter("expected 7d at most.", param_hint="--notice")
    return DrainOptions(Notice(notice, stop_runs), administrator or "", timeout)


def given_drain_options() -> list[str]:
    """Return the options of a drain that the command line names, in their order: ``--notice``."""
    context = click.get_current_context()
    return [
        one.opts[0]
        for one in context.command.params
        if one.name in DRAIN and context.get_parameter_source(one.name) is ParameterSource.COMMANDLINE
    ]


def drain_timeout(default: int) -> Callable[[F], F]:
    """Return the option --timeout of a drain, in seconds."""
    return click.option(
        "--timeout",
        type=click.IntRange(1),
        default=default,
        show_default=True,
        metavar="SECONDS",
        help="Limit of the eviction from each node, and, once the notice is over, without a run that leaves.",
    )


def _warned(former: str, current: str, process: Callable[[Any, Any], None], value: Any, state: Any) -> None:
    _warn(former, current)
    process(value, state)


def _warn(former: str, current: str) -> None:
    click.echo(f"`{former}` is now `{current}`; the former name is removed in release 0.3.", err=True)


def dry_run(help: str) -> Callable[[F], F]:
    """Return the option --dry-run, whose value is ``check``."""
    return click.option("--dry-run", "check", cls=Renamed, former=["--check"], is_flag=True, help=help)


def _separated(context: click.Context, option: click.Parameter, values: Sequence[str]) -> tuple[str, ...]:
    # An empty word stays, and is refused as no check: without it nothing would be asked for, which means all.
    return tuple(word.strip() for value in values for word in value.split(","))


def only(name: str, help: str, former: Sequence[str] = ("--check",)) -> Callable[[F], F]:
    """Return the option --only ID[,ID], which chooses checks and may be repeated; its value is ``name``."""
    return click.option(
        "--only",
        name,
        cls=Renamed,
        former=list(former),
        metavar="ID[,ID]",
        multiple=True,
        callback=_separated,
        help=help,
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
