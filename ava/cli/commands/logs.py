"""`ava logs`."""

from __future__ import annotations

from datetime import datetime

import click

from ava.cli.app import App, as_json, run_argument
from ava.cli.output import note, print_json_line
from ava.cli.runs import follow as follow_run
from ava.cli.runs import print_line, resolve_run
from ava.cli.times import INSTANT


@click.command()
@run_argument
@click.option("--follow", "-f", is_flag=True, help="Follow until the run ends.")
@click.option(
    "--tail",
    "-n",
    type=click.IntRange(0, 10_000),
    default=1000,
    show_default=True,
    help="Number of newest lines.",
)
@click.option("--since", type=INSTANT, help="Lines since 15m, 2h or 3d ago, or since a time (UTC).")
@click.option("--pod", metavar="POD", help="Only this pod; see `ava show`.")
@click.option("--raw", is_flag=True, help="Do not escape control characters.")
@as_json
@click.pass_obj
def logs(
    app: App,
    run: str,
    follow: bool,
    tail: int,
    since: datetime | None,
    pod: str | None,
    raw: bool,
    json_: bool,
) -> None:
    """Show the log of a run, also after its pods were deleted. RUN is an id, or a definition's name for its newest run."""
    ava = app.client()
    id = resolve_run(ava, run)
    if json_:
        rows = ava.follow(id, tail=tail, pod=pod) if follow else ava.logs(id, tail=tail, since=since, pod=pod)
        for row in rows:
            print_json_line(row)
        return
    if follow:
        follow_run(ava, id, tail=tail, pod=pod, raw=raw)
        return
    lines = ava.logs(id, tail=tail, since=since, pod=pod)
    several = len({line.pod for line in lines}) > 1
    for line in lines:
        print_line(line.pod, line.text, several=several, raw=raw)
    if not lines:
        note("No log lines yet. See `ava explain`.")
