"""`ava cluster`."""

from __future__ import annotations

import click

from ava.cli.app import App, as_json
from ava.cli.output import ago, cores, note, print_json, size, table


@click.group()
def cluster() -> None:
    """Show nodes, GPU models and free resources."""


@cluster.command()
@click.option("--free", is_flag=True, help="Only nodes with a free GPU.")
@as_json
@click.pass_obj
def show(app: App, free: bool, json_: bool) -> None:
    """Show the nodes with GPU models and free resources.

    A model with 1/4 is shared: each card has four slots, and slots are counted.
    """
    found = app.client().cluster()
    nodes = [n for n in found.nodes if not free or (n.open and n.free.gpu > 0)]
    if json_:
        print_json(found.model_copy(update={"nodes": nodes}))
        return
    if found.seen is None:
        note("The scheduler has not reported yet.")
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
            "" if n.open else "unschedulable",
        )
        for n in nodes
    ]
    columns = ("NODE", "CLUSTER", "POOL", "MODEL", "FREE GPU", "FREE CPU", "FREE MEMORY", "")
    table(columns, rows, right=("FREE GPU", "FREE CPU", "FREE MEMORY"))
    if not found.fresh:
        note(f"{ago(found.seen)} old: the scheduler is not reporting.")
