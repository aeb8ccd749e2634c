"""`avadm ava usage`: what was used in a month, for billing."""

from __future__ import annotations

import csv
import sys
from dataclasses import asdict
from typing import Literal

import click
from rich.table import Table

from avadm.cli.ava_people import as_json, as_whom
from avadm.cli.main import App, pass_app
from avadm.cli.output import print_json, stderr
from avadm.cli.tables import print_table
from avadm.errors import EXIT_GOOD


@click.command()
@click.option("--month", required=True, metavar="YYYY-MM", help="Months are UTC's.")
@click.option(
    "--by", type=click.Choice(["user", "group"]), help="Sums by one of them; else a row for each of both."
)
@click.option("--csv", "as_csv", is_flag=True, help="Print CSV.")
@as_json
@as_whom
@pass_app
def usage(
    app: App, month: str, by: Literal["user", "group"] | None, as_csv: bool, as_json: bool, whom: str | None
) -> int:
    """Export what users and groups used in a month, for billing.

    It is counted from the charges: of a month that is over it is the same at any later time.
    """
    from avadm.platform_users import connect, usage

    if as_csv and as_json:
        raise click.UsageError("--csv and --json exclude each other.")
    with connect.administrator(app.site_file(), app.fleet(), whom) as way:
        report = usage.report(way.ava, month, by)
    if as_json:
        print_json({**asdict(report), "rows": [row.shown() for row in report.rows]})
    elif as_csv:
        writer = csv.writer(sys.stdout, lineterminator="\r\n")
        writer.writerow(("month", "final", *usage.COLUMNS))
        for row in report.rows:
            writer.writerow((month, str(report.final).lower(), *row.shown().values()))
    else:
        table = Table("USER", "GROUP", "RUNS", "GPU HOURS", "CORE HOURS", "GiB HOURS", box=None)
        for row in report.rows:
            table.add_row(*map(str, row.shown().values()))
        print_table(table, whole=("USER", "GROUP", "RUNS", "GPU HOURS", "CORE HOURS", "GiB HOURS"))
    if not report.final:
        stderr.print(f"· {month} is not over: this is what was used until now.")
    return EXIT_GOOD
