"""Resolving, waiting for and following runs."""

from __future__ import annotations

import time
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

import click

from ava.cli.output import note, print_problems, say, stderr, visible
from ava.domain.names import is_id
from ava.domain.problems import ApiError, Problem

if TYPE_CHECKING:
    from ava.client import Client
    from ava.schemas.runs import RunOut

PERIOD = 1.0
"""Seconds between two polls."""
SHORT, SHORT_FOR = 0.25, 6.0
"""Seconds between the first polls, and for how long: with its image on the node a run starts within a few seconds."""
ENDED = frozenset({"succeeded", "failed", "stopped", "aborted", "timed-out", "lost"})


def resolve_run(ava: Client, text: str) -> str:
    """Return a run's id, given its id or the name of its definition (then the newest run); ApiError 404."""
    if is_id(text) and _exists(ava, text):
        return text
    for definition in ava.definitions(name=text):
        for run in ava.runs(definition=definition.id, most=1):
            return run.id
    raise ApiError(
        404,
        Problem(
            "not-found",
            f"Run {text} not found.",
            "RUN",
            text,
            "a run's id, or the name of a definition that has run",
            "See `ava list`.",
        ),
    )


def _exists(ava: Client, id: str) -> bool:
    try:
        ava.run(id)
    except ApiError as refused:
        if refused.status != 404:
            raise
        return False
    return True


def wait_until_finished(ava: Client, id: str, *, quiet: bool = False) -> RunOut:
    """Return a run once it has ended; on a terminal its progress is shown."""
    status: Any = stderr.status("") if stderr.is_terminal and not quiet else nullcontext()
    printed = ""
    with status as shown:
        for run in ava.watch(id):
            if run.state in ENDED:
                return run
            line = _line(run)
            if shown is not None:
                shown.update(visible(line))
            elif line != printed and not quiet:
                note(line)
            printed = line
    raise AssertionError("a run is watched until it has ended")


def _line(run: RunOut) -> str:
    return f"{run.name} ({run.id}): {run.state}" + (f". {run.reason}" if run.reason else "")


def follow(ava: Client, id: str, *, tail: int = 100, pod: str | None = None, raw: bool = False) -> None:
    """Print a run's log until it has ended; before it starts, print what it waits for."""
    _wait_for_log(ava, id)
    several = ava.run(id).pods > 1 and pod is None
    for line in ava.follow(id, tail=tail, pod=pod):
        print_line(line.pod, line.text, several=several, raw=raw)


def _wait_for_log(ava: Client, id: str) -> None:
    """Wait until a run has pods that may have a log, or has ended."""
    printed = ""
    for run in ava.watch(id):
        if _may_have_log(ava, run):
            return
        printed = _print_state(run, printed)
        if run.state == "starting":
            break
    # Pods that start change nothing of the run itself.
    began = time.monotonic()
    while not _may_have_log(ava, run := ava.run(id)):
        printed = _print_state(run, printed)
        time.sleep(SHORT if time.monotonic() - began < SHORT_FOR else PERIOD)


def _may_have_log(ava: Client, run: RunOut) -> bool:
    if run.state not in ("queued", "starting"):
        return True
    return any(p.phase != "Pending" for p in ava.pods(run.id))


def _print_state(run: RunOut, printed: str) -> str:
    line = _line(run)
    if line != printed:
        note(line)
    return line


def print_line(pod: str, text: str, *, several: bool, raw: bool) -> None:
    """Print one line of a log; control characters are escaped unless ``raw``."""
    head = f"{pod} | " if several else ""
    click.echo(head + (text if raw else visible(text.replace("\r", "\n").strip("\n"))))


def finished(run: RunOut) -> int:
    """Print how a run ended; return the exit status."""
    note(_line(run))
    return 0 if run.state == "succeeded" else 1


def started(run: RunOut, *, json: bool) -> None:
    """Print which run was started."""
    from ava.cli.output import print_json

    if json:
        print_json(run)
    else:
        say(run.id)
        note(
            f"{run.name} is {run.state} in group {run.group}, queue {run.queue}. Follow it: ava logs -f {run.id}"
        )


def report_started(ava: Client, run: RunOut, *, wait: bool, follow_: bool, json: bool) -> int:
    """Wait or follow as requested after a start; return the exit status."""
    if not (wait or follow_):
        started(run, json=json)
        return 0
    if not json:
        started(run, json=False)
    if follow_ and not json:
        try:
            follow(ava, run.id)
        except ApiError as lost:
            # The run continues without its log, and its outcome is what this command ends with.
            print_problems(lost.problems)
    end = wait_until_finished(ava, run.id, quiet=json)
    if json:
        from ava.cli.output import print_json

        print_json(end)
        return 0 if end.state == "succeeded" else 1
    return finished(end)
