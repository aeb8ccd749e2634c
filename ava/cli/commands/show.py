"""`ava show`."""

from __future__ import annotations

from datetime import datetime

import click

from ava.cli.app import App, as_json, run_argument
from ava.cli.output import ago, cores, print_json, say, size, table
from ava.cli.runs import resolve_run


@click.command()
@run_argument
@as_json
@click.pass_obj
def show(app: App, run: str, json_: bool) -> None:
    """Show a run and its pods."""
    ava = app.client()
    id = resolve_run(ava, run)
    found, pods = ava.run(id), ava.pods(id)
    if json_:
        print_json({"run": found.model_dump(mode="json"), "pods": [p.model_dump(mode="json") for p in pods]})
        return
    asks = f"{found.asks.gpu} GPU, {cores(found.asks.cpu)} cores, {size(found.asks.memory)}"
    rows = (
        ("run", found.id),
        ("name", f"{found.name} ({found.kind})"),
        ("owner", f"{found.owner}, group {found.group}"),
        ("queue", f"{found.queue}, priority {found.priority}, cluster {found.cluster}"),
        ("requests", f"{asks} in {found.pods} pod{'s' if found.pods != 1 else ''}"),
        ("state", found.state + (f". {found.reason}" if found.reason else "")),
        ("created", _when(found.created)),
        ("reserved", f"since admission, {_when(found.admitted)}" if found.admitted else ""),
        ("used", f"since its pods had nodes, {_when(found.started)}" if found.started else ""),
    )
    for name, value in rows:
        if value:
            say(f"{name:<10}{value}")
    if pods:
        say("")
        columns = ("POD", "ROLE", "ATTEMPT", "PHASE", "NODE", "RESTARTS", "REASON")
        table(
            columns,
            [
                (
                    p.name,
                    f"{p.role} {p.index}",
                    str(p.attempt),
                    p.phase,
                    p.node,
                    str(p.restarts),
                    " ".join(filter(None, (p.reason, p.message))),
                )
                for p in pods
            ],
            right=("RESTARTS", "ATTEMPT"),
        )


def _when(time: datetime) -> str:
    return f"{time:%Y-%m-%d %H:%M:%S} UTC, {ago(time)} ago"
