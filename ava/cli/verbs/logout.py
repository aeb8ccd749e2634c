"""`ava logout`."""

from __future__ import annotations

from dataclasses import replace

import click

from ava.cli import settings
from ava.cli.app import App, as_json
from ava.cli.output import done
from ava.domain.problems import Refused


@click.command()
@as_json
@click.pass_obj
def logout(app: App, json_: bool) -> None:
    """End the token and forget it, also where it has ended already."""
    known = settings.load()
    if known.token is None:
        done("You were not logged in.", {"logged_out": False}, json_)
        return
    try:
        app.client().logout()
    except Refused as refused:
        if refused.status != 401:
            raise
    settings.save(replace(known, token=None))
    done("Logged out.", {"logged_out": True}, json_)
