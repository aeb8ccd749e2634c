"""`ava consent`."""

from __future__ import annotations

import click

from ava.cli.app import App, as_json
from ava.cli.output import note, print_json
from ava.cli.runs import resolve_run


@click.command()
@click.argument("runs", metavar="RUN...", nargs=-1, required=True)
@as_json
@click.pass_obj
def consent(app: App, runs: tuple[str, ...], json_: bool) -> None:
    """Agree that trainings are ended for maintenance of their node (idempotent).

    They are stopped when the notice is over; `ava stop` stops them now.
    """
    ava = app.client()
    agreed = [ava.consent(resolve_run(ava, run)) for run in runs]
    if json_:
        print_json(agreed)
        return
    for run in agreed:
        note(f"{run.name} ({run.id}): {run.state}. {run.reason}")
