"""`ava queue`."""

from __future__ import annotations

import click

from ava.cli.app import App, as_json
from ava.cli.output import ago, cores, number, print_json, size, table


@click.command()
@click.argument("name", required=False, metavar="[QUEUE]")
@as_json
@click.pass_obj
def queue(app: App, name: str | None, json_: bool) -> None:
    """Show queues; of one, what waits in it in order. Other people's runs have no names."""
    ava = app.client()
    if name is None:
        queues = ava.queues()
        if json_:
            print_json(queues)
            return
        rows = [
            (
                q.name,
                str(q.priority),
                q.pool or "by request",
                f"{q.used.gpu}/{number(q.quota.gpu)}",
                f"{cores(q.used.cpu)}/{cores(q.quota.cpu)}",
                f"{size(q.used.memory)}/{size(q.quota.memory)}",
                str(q.waiting),
            )
            for q in queues
        ]
        columns = ("QUEUE", "PRIORITY", "POOL", "GPU", "CPU", "MEMORY", "WAITING")
        table(columns, rows, right=("PRIORITY", "GPU", "CPU", "MEMORY", "WAITING"))
        return
    waiting = ava.waiting(name)
    if json_:
        print_json(waiting)
        return
    table(
        ("POSITION", "RUN", "NAME", "OWNER", "PRIORITY", "GPU", "CPU", "MEMORY", "WAITS"),
        [
            (
                str(w.position + 1),
                w.run or "",
                w.name or "(another user's)",
                w.owner or "",
                str(w.priority),
                str(w.asks.gpu),
                cores(w.asks.cpu),
                size(w.asks.memory),
                ago(w.created),
            )
            for w in waiting
        ],
        right=("POSITION", "PRIORITY", "GPU", "CPU", "MEMORY", "WAITS"),
    )
