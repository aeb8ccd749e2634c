"""`avadm plan`: phases, nodes and order, changing nothing."""

from __future__ import annotations

from typing import Any

import click
from rich.table import Table

from avadm.cli.main import App, pass_app
from avadm.cli.output import console, print_json
from avadm.engine.prepare import Context
from avadm.plan.phases import Step

NAMES_SHOWN = 6


def split_limit(_ctx: click.Context, _param: click.Parameter, value: tuple[str, ...]) -> tuple[str, ...]:
    """Return the node names of ``--limit a,b --limit c``."""
    return tuple(name for part in value for name in part.replace(",", " ").split())


@click.command()
@click.argument("phases", nargs=-1, metavar="[PHASE]...")
@click.option("--limit", multiple=True, callback=split_limit, metavar="NODE,...", help="Only these nodes.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@pass_app
def plan(app: App, phases: tuple[str, ...], limit: tuple[str, ...], as_json: bool) -> None:
    """Show which phases would run on which nodes, in which order, and what runs at once."""
    context = Context.of(app.site_file())
    steps = context.plan(phases, limit)
    rows = [{**s.as_dict(), "current": context.current(s)} for s in steps]
    if as_json:
        waves = [[s.name for s in steps if s.wave == w] for w in sorted({s.wave for s in steps})]
        print_json({"site": context.site_file.site.name, "phases": rows, "waves": waves})
        return
    console.print(
        f"Plan for site [bold]{context.site_file.site.name}[/bold]; phases of one step run at once.\n"
    )
    console.print(_table(steps, rows))
    command = " ".join(["avadm apply", *phases, *(["--limit", ",".join(limit)] if limit else [])])
    console.print(f"\nNothing was changed. To do it: {command}")


def _table(steps: list[Step], rows: list[dict[str, Any]]) -> Table:
    table = Table(box=None, pad_edge=False, header_style="dim")
    for name in ("step", "phase", "what", "after", "state", "nodes"):
        table.add_column(name, no_wrap=name != "nodes")
    wave = 0
    for step, row in zip(steps, rows, strict=True):
        state = "done" if row["current"] else "to do"
        state += " (needed)" if step.pulled_in else ""
        number = str(step.wave) if step.wave != wave else ""
        wave = step.wave
        table.add_row(number, step.name, step.phase.title, ", ".join(step.needs), state, short(step.hosts))
    return table


def short(names: tuple[str, ...] | list[str]) -> str:
    """Return node names for people: all of a few, else how many and the first ones."""
    if len(names) <= NAMES_SHOWN:
        return ", ".join(names)
    return f"{len(names)}: {', '.join(names[: NAMES_SHOWN - 1])} …"
