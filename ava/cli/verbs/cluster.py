"""`ava cluster`."""

from __future__ import annotations

import click

from ava.cli.app import App, as_json
from ava.cli.output import ago, cores, note, print_json, size, table


@click.command()
@click.option("--free", is_flag=True, help="Only nodes with a free GPU.")
@as_json
@click.pass_obj
def cluster(app: App, free: bool, json_: bool) -> None:
    """Show the nodes, their GPU models, and what is free on them now.

    A model with 1/4 is shared: four slots to a card, which are what is counted.
    """
    found = app.client().cluster()
    nodes = [n for n in found.nodes if not free or (n.open and n.free.gpu > 0)]
    if json_:
        print_json(found.model_copy(update={"nodes": nodes}))
        return
    if found.seen is None:
        note("The scheduler has not said anything yet.")
        return
    rows = [
        (
            n.name,
            n.cluster,
            ", ".join(n.pools),
            n.gpu_model if n.gpu_slots == 1 else f"{n.gpu_model} 1/{n.gpu_slots}",
            f"{n.free.gpu}/{n.capacity.gpu}",
            f"{cores(n.free.cpu)}/{cores(n.capacity.cpu)}",
            f"{size(n.free.memory)}/{size(n.capacity.memory)}",
            "" if n.open else "takes nothing now",
        )
        for n in nodes
    ]
    columns = ("NODE", "CLUSTER", "POOL", "MODEL", "FREE GPU", "FREE CPU", "FREE MEMORY", "")
    table(columns, rows, right=("FREE GPU", "FREE CPU", "FREE MEMORY"))
    if not found.fresh:
        note(f"This is {ago(found.seen)} old: the scheduler does not answer at the moment.")
