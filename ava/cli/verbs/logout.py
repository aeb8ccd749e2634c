"""`ava logout`."""

from __future__ import annotations

from dataclasses import replace

import click

from ava.cli import settings
from ava.cli.app import App
from ava.cli.output import note
from ava.domain.problems import Refused


@click.command()
@click.pass_obj
def logout(app: App) -> None:
    """End the token and forget it, also where it has ended already."""
    known = settings.load()
    if known.token is None:
        note("You were not logged in.")
        return
    try:
        app.client().logout()
    except Refused as refused:
        if refused.status != 401:
            raise
    settings.save(replace(known, token=None))
    note("Logged out.")
