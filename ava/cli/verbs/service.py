"""`ava service`."""

from __future__ import annotations

import click

from ava.cli.app import App, as_json, run_argument
from ava.cli.output import print_json, say
from ava.cli.runs import resolve_run


@click.command()
@run_argument
@as_json
@click.pass_obj
def service(app: App, run: str, json_: bool) -> None:
    """Show a service: its address, replicas and revision, and why an update has stopped."""
    ava = app.client()
    found = ava.service(resolve_run(ava, run))
    if json_:
        print_json(found)
        return
    revision = f"{found.revision}"
    if found.settled != found.revision:
        revision += f", being rolled out; {found.settled} serves"
    rows = (
        ("run", found.run),
        ("address", found.address or "none: this site gives services no addresses"),
        ("access", "whoever reaches it" if found.access == "public" else "members of its group, by a token"),
        ("replicas", f"{found.ready} ready, {found.wanted} wanted"),
        ("revision", revision),
        ("trouble", found.trouble or "none"),
    )
    for name, value in rows:
        say(f"{name:<10}{value}")
