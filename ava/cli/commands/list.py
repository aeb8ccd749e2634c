"""`ava list`."""

from __future__ import annotations

from itertools import islice
from typing import Literal

import click

from ava.cli.app import App, as_json
from ava.cli.output import ago, cores, print_json, size, table

KINDS = click.Choice(["workbench", "training", "service"])
PHASES = click.Choice(["queued", "admitted", "finished"])


@click.command("list")
@click.option("--kind", type=KINDS)
@click.option("--phase", type=PHASES, help="queued: waiting; admitted: charged; finished.")
@click.option(
    "--limit",
    "-n",
    type=click.IntRange(1, 10_000),
    default=50,
    show_default=True,
    help="Number of newest runs.",
)
@click.option("--all", "all_", is_flag=True, help="All users' runs (admin only).")
@as_json
@click.pass_obj
def list_(
    app: App,
    kind: Literal["workbench", "training", "service"] | None,
    phase: Literal["queued", "admitted", "finished"] | None,
    limit: int,
    all_: bool,
    json_: bool,
) -> None:
    """List runs, newest first."""
    runs = list(islice(app.client().runs(kind=kind, phase=phase, all=all_, most=limit), limit))
    if json_:
        print_json(runs)
        return
    owner = ["OWNER"] if all_ else []
    rows = [
        [
            run.id,
            run.name,
            *([run.owner] if all_ else []),
            run.kind,
            run.state,
            run.group,
            str(run.asks.gpu),
            cores(run.asks.cpu),
            size(run.asks.memory),
            ago(run.created),
            run.reason,
        ]
        for run in runs
    ]
    columns = ["ID", "NAME", *owner, "KIND", "STATE", "GROUP", "GPU", "CPU", "MEMORY", "AGE", "REASON"]
    table(columns, rows, right=("GPU", "CPU", "MEMORY", "AGE"))
