"""`ava logout`."""

from __future__ import annotations

from dataclasses import replace

import click

from ava.cli import saved_login
from ava.cli.app import App, as_json
from ava.cli.output import done
from ava.domain.problems import ApiError


@click.command()
@as_json
@click.pass_obj
def logout(app: App, json_: bool) -> None:
    """Revoke and delete the saved token (idempotent)."""
    known = saved_login.load()
    if known.token is None:
        done("You were not logged in.", {"logged_out": False}, json_)
        return
    try:
        app.client().logout()
    except ApiError as refused:
        if refused.status != 401:
            raise
    saved_login.save(replace(known, token=None))
    done("Logged out.", {"logged_out": True}, json_)
