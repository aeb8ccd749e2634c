"""`ava service`."""

from __future__ import annotations

import click

from ava.cli.app import App, as_json, run_argument
from ava.cli.output import note, print_json, say
from ava.cli.runs import resolve_run


@click.group()
def service() -> None:
    """Show and scale model services."""


@service.command()
@run_argument
@as_json
@click.pass_obj
def show(app: App, run: str, json_: bool) -> None:
    """Show a service: address, replicas, revision, and why a rollout stopped."""
    ava = app.client()
    found = ava.service(resolve_run(ava, run))
    if json_:
        print_json(found)
        return
    revision = f"{found.revision}"
    if found.settled != found.revision:
        revision += f", rollout in progress; serving {found.settled}"
    rows = (
        ("run", found.run),
        ("address", found.address or "none: services have no addresses on this site"),
        ("access", "public" if found.access == "public" else "members of its group, with a token"),
        ("replicas", f"{found.ready} ready, {found.wanted} wanted"),
        ("revision", revision),
        ("trouble", found.trouble or "none"),
    )
    for name, value in rows:
        say(f"{name:<10}{value}")


@service.command()
@run_argument
@click.argument("replicas", type=click.IntRange(1, 512))
@as_json
@click.pass_obj
def scale(app: App, run: str, replicas: int, json_: bool) -> None:
    """Set the number of replicas: ava service scale mnist 3."""
    ava = app.client()
    found = ava.scale(resolve_run(ava, run), replicas)
    if json_:
        print_json(found)
        return
    note(f"{found.ready} of {found.wanted} replicas are ready.")
