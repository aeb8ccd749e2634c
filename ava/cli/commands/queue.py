"""`ava queue`."""

from __future__ import annotations

from typing import Any

import click

from ava.cli.app import App, as_json
from ava.cli.output import ago, cores, done, number, print_json, size, table
from ava.cli.quota import quota, quota_options


@click.group()
def queue() -> None:
    """Show queues and the runs waiting in them; change queues (admin only)."""


@queue.command("list")
@as_json
@click.pass_obj
def list_(app: App, json_: bool) -> None:
    """List queues with priority, usage and quota."""
    queues = app.client().queues()
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


@queue.command()
@click.argument("name", metavar="QUEUE")
@as_json
@click.pass_obj
def show(app: App, name: str, json_: bool) -> None:
    """Show the runs waiting in a queue, in order; other users' runs have no names."""
    waiting = app.client().waiting(name)
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


@queue.command("set")
@click.argument("name")
@click.option("--pool", metavar="POOL")
@click.option("--priority", type=click.IntRange(-1000, 1000))
@click.option("--new", is_flag=True, help="Fail if the queue exists.")
@quota_options
@as_json
@click.pass_obj
def set_(
    app: App, /, name: str, pool: str | None, priority: int | None, new: bool, json_: bool, **amounts: str
) -> None:
    """Create or change a queue (admin only)."""
    limits = {k: v for k, v in quota(**amounts).items() if k not in ("storage", "disk")}
    settings: dict[str, Any] = {"quota": limits, "pool": pool, "priority": priority}
    stored = app.client().put_queue(name, new=new, **{k: v for k, v in settings.items() if v is not None})
    done(f"Set queue {name}.", stored, json_)


@queue.command()
@click.argument("name")
@as_json
@click.pass_obj
def delete(app: App, /, name: str, json_: bool) -> None:
    """Delete a queue without unfinished runs (admin only)."""
    app.client().delete_queue(name)
    done(f"Deleted queue {name}.", {"deleted": name}, json_)
