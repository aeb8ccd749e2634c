"""`ava scale`."""

from __future__ import annotations

import click

from ava.cli.app import App, as_json, run_argument
from ava.cli.output import note, print_json
from ava.cli.runs import resolve_run


@click.command()
@run_argument
@click.argument("replicas", type=click.IntRange(1, 512))
@as_json
@click.pass_obj
def scale(app: App, run: str, replicas: int, json_: bool) -> None:
    """Set how many replicas a service has: ava scale mnist 3."""
    ava = app.client()
    found = ava.scale(resolve_run(ava, run), replicas)
    if json_:
        print_json(found)
        return
    note(f"{found.ready} of {found.wanted} replicas are ready.")
