"""`ava usage`."""

from __future__ import annotations

import click

from ava.cli.app import App, as_json
from ava.cli.output import print_json, table


@click.group()
def usage() -> None:
    """Show GPU, CPU and memory hours."""


@usage.command()
@click.option("--month", metavar="YYYY-MM", help="Default: the current month.")
@click.option("--group", metavar="GROUP", help="One of your groups.")
@click.option("--user", metavar="USER", help="Another user (admin only).")
@click.option("--csv", "csv_", is_flag=True, help="Print CSV.")
@as_json
@click.pass_obj
def show(app: App, month: str | None, group: str | None, user: str | None, csv_: bool, json_: bool) -> None:
    """Show the usage of a month by user and group.

    Usage counts from when a run's pods have nodes; reservation counts from its admission, like the quota.
    """
    ava = app.client()
    if csv_:
        click.echo(ava.usage_csv(month=month, group=group, user=user), nl=False)
        return
    report = ava.usage(month=month, group=group, user=user)
    if json_:
        print_json(report)
        return
    rows = [
        (
            r.user,
            r.group,
            str(r.runs),
            f"{r.gpu_hours:.2f}",
            f"{r.cpu_hours:.2f}",
            f"{r.memory_gib_hours:.1f}",
            f"{r.reserved_gpu_hours:.2f}",
        )
        for r in report.rows
    ]
    columns = ("USER", "GROUP", "RUNS", "GPU HOURS", "CORE HOURS", "GiB HOURS", "RESERVED GPU HOURS")
    table(columns, rows, right=columns[2:])
