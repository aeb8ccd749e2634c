"""`ava pool`."""

from __future__ import annotations

from typing import Any

import click

from ava.cli.app import App, as_json
from ava.cli.output import done


@click.group()
def pool() -> None:
    """Manage pools of nodes (admin only)."""


@pool.command("set")
@click.argument("name")
@click.option("--gpu/--no-gpu", required=True, help="Runs with GPUs, or runs without.")
@click.option("--label", "labels", multiple=True, metavar="KEY=VALUE", help="Label of its nodes; repeatable.")
@click.option("--cpu-ratio", type=click.FloatRange(1, 100), default=1.0, show_default=True)
@click.option("--memory-ratio", type=click.FloatRange(1, 100), default=1.0, show_default=True)
@click.option(
    "--gpu-slots", type=click.IntRange(1, 64), default=1, show_default=True, help="Pods on one card."
)
@click.option("--new", is_flag=True, help="Fail if the pool exists.")
@as_json
@click.pass_obj
def set_(app: App, /, name: str, gpu: bool, labels: tuple[str, ...], json_: bool, **settings: Any) -> None:
    """Create or change a pool of nodes."""
    selector = {k: v for k, _, v in (text.partition("=") for text in labels)}
    stored = app.client().put_pool(name, gpu=gpu, selector=selector, **settings)
    done(f"Set pool {name}.", stored, json_)


@pool.command()
@click.argument("name")
@as_json
@click.pass_obj
def delete(app: App, /, name: str, json_: bool) -> None:
    """Delete a pool that no queue and no run uses."""
    app.client().delete_pool(name)
    done(f"Deleted pool {name}.", {"deleted": name}, json_)
