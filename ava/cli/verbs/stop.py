"""`ava stop`."""

from __future__ import annotations

import click

from ava.cli.app import App, as_json
from ava.cli.output import note, print_json
from ava.cli.waiting import the_run, until_ended


@click.command()
@click.argument("runs", metavar="RUN...", nargs=-1, required=True)
@click.option("--wait", is_flag=True, help="Wait until they have ended.")
@as_json
@click.pass_obj
def stop(app: App, runs: tuple[str, ...], wait: bool, json_: bool) -> None:
    """Stop runs. They are charged until their pods are gone. Twice does no harm."""
    ava = app.client()
    stopped = [ava.stop(the_run(ava, run)) for run in runs]
    if wait:
        stopped = [until_ended(ava, run.id, quiet=json_) for run in stopped]
    if json_:
        print_json(stopped)
        return
    for run in stopped:
        note(f"{run.name} ({run.id}): {run.state}")
