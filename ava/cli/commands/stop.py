"""`ava stop`."""

from __future__ import annotations

import click

from ava.cli.app import App, as_json
from ava.cli.output import note, print_json
from ava.cli.runs import resolve_run, wait_until_finished


@click.command()
@click.argument("runs", metavar="RUN...", nargs=-1, required=True)
@click.option("--wait", is_flag=True, help="Wait until they have ended.")
@as_json
@click.pass_obj
def stop(app: App, runs: tuple[str, ...], wait: bool, json_: bool) -> None:
    """Stop runs (idempotent). They are charged until their pods are deleted."""
    ava = app.client()
    stopped = [ava.stop(resolve_run(ava, run)) for run in runs]
    if wait:
        stopped = [wait_until_finished(ava, run.id, quiet=json_) for run in stopped]
    if json_:
        print_json(stopped)
        return
    for run in stopped:
        note(f"{run.name} ({run.id}): {run.state}")
