"""What all verbs that operate on a running site share: the plan first, then the question, then the run; `avadm operation`."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import click
from rich.text import Text

from avadm.cli.main import App, confirm, pass_app
from avadm.cli.output import as_dicts, console, print_findings, print_json, print_progress, stderr
from avadm.errors import EXIT_COULD_NOT_RUN, EXIT_GOOD, AvadmError

if TYPE_CHECKING:
    from avadm.cluster.connection import Cluster
    from avadm.operations.model import Operation
    from avadm.operations.run import Build

F = TypeVar("F", bound=Callable[..., Any])


def operation_options(function: F) -> F:
    """Add --dry-run, --yes, --accept, --break-lock and --json; they are given on to `operate`."""
    options = [
        click.option("--dry-run", is_flag=True, help="Show the plan; change nothing."),
        click.option(
            "--yes",
            "-y",
            is_flag=True,
            help="Do not ask before it begins; needed without a terminal, and with --json.",
        ),
        click.option(
            "--accept",
            "accepted",
            metavar="ID",
            multiple=True,
            help="Accept this refusal; may be repeated. No option accepts all.",
        ),
        click.option("--break-lock", is_flag=True, help="Remove the lock of an interrupted run."),
        click.option("--json", "as_json", is_flag=True, help="Print JSON, progress on stderr."),
    ]
    for option in reversed(options):
        function = option(function)
    return function


def operate(
    app: App,
    build: Build,
    *,
    dry_run: bool,
    yes: bool,
    accepted: Sequence[str],
    break_lock: bool,
    as_json: bool,
    done: str,
) -> int:
    """Plan an operation, show it, ask, run it; return the exit status.

    Args:
        app: the site.
        build: plans it.
        dry_run: end after the plan.
        yes: do not ask.
        accepted: ids of refusals that the user accepts.
        break_lock: remove another run's lock.
        as_json: print JSON.
        done: what is printed when it ended well.

    Raises:
        AvadmError: it was refused, could not ask, or a step failed.
        Declined: the answer was no.
    """
    from avadm.operations import run as operations

    site_file, fleet = app.site_file(), app.fleet()
    planned = operations.plan(site_file, fleet, build)
    against = operations.refused(planned, accepted)
    if dry_run:
        if as_json:
            print_json({"site": site_file.site.name, **planned.as_dict(), "refused": as_dicts(against)})
        else:
            for line in operations.show(planned, accepted):
                console.print(Text(line))
            print_findings(against)
        return EXIT_COULD_NOT_RUN if against else EXIT_GOOD
    if against:
        raise AvadmError(against)
    for line in operations.show(planned, accepted):
        stderr.print(Text(line))
    if not yes:
        if as_json or not sys.stdin.isatty():
            raise AvadmError.of("no-answer", where=planned.command)
        confirm()

    folder = operations.run(
        site_file, fleet, build, accepted, print_progress, break_lock=break_lock, resumes=planned.command
    )
    if as_json:
        print_json({"site": site_file.site.name, "result": "good", "run": folder.id})
    else:
        console.print(Text(done))
    return EXIT_GOOD


@click.group()
def operation() -> None:
    """Give up an operation that is half done."""


@operation.command()
@click.argument("words", metavar="[COMMAND]", default="")
@operation_options
@pass_app
def abandon(app: App, /, words: str, accepted: tuple[str, ...], **options: Any) -> int:
    """Give up a half-done operation whose way forward is closed, e.g. since its new node is lost.

    COMMAND is the command that `avadm status` shows, or how it begins, in quotes; it may be left out where only one is half
    done. Its temporary settings are undone, and other commands are not refused any more. Nothing is repaired: what was done
    stays done. It is refused where a verb of its own goes back, and where the site must not be left as it is.
    """
    from avadm.operations import abandon as abandoning

    def build(cluster: Cluster) -> Operation:
        return abandoning.build(cluster, words, accepted)

    done = "Given up. The site may be half-way between two states: see `avadm plan` and `avadm doctor`."
    return operate(app, build, accepted=accepted, done=done, **options)
