"""`avadm runs`: earlier runs, and what happened in one of them."""

from __future__ import annotations

from typing import Any

import click
from rich.table import Table
from rich.text import Text

from avadm.cli.output import console, heading, print_json, visible
from avadm.cli.plan import short
from avadm.cli.progress import duration
from avadm.cli.summary_text import print_summary
from avadm.cli.tables import print_table
from avadm.engine.summary import of_run
from avadm.errors import DAMAGE, AvadmError
from avadm.quantity import quantity
from avadm.state import summary as summaries
from avadm.state.prune import DAYS, KEEP, candidates, prune
from avadm.state.run_folder import LATEST, RunFolder, find_run, list_runs
from avadm.state.summary import RunSummary

CHANGES_SHOWN = 15
_STYLE = {"good": "green", "failed": "bold red", "canceled": "yellow", "unfinished": "yellow"}


@click.group()
def runs() -> None:
    """List, show and remove earlier runs."""


def overview(folder: RunFolder) -> dict[str, Any]:
    """Return one run as `runs list --json` shows it; a run without summary was killed or still runs."""
    try:
        return _overview(folder)
    except DAMAGE:
        nothing = dict.fromkeys(("site", "changed", "seconds"))
        about = {"id": folder.id, "started": f"{folder.started:%Y-%m-%dT%H:%M:%SZ}", "verb": folder.verb}
        return {**about, **nothing, "phases": [], "result": "unreadable", "folder": str(folder.path)}


def _overview(folder: RunFolder) -> dict[str, Any]:
    summary, plan = summaries.read(folder), folder.read_mapping("plan.json")
    seconds, changed = summary.get("seconds"), summary.get("changed")
    names = [str(p["name"]) for p in summary.get("phases") or plan.get("phases") or [] if isinstance(p, dict)]
    return {
        "id": folder.id,
        "started": f"{folder.started:%Y-%m-%dT%H:%M:%SZ}",
        "verb": folder.verb,
        "site": folder.site,
        "phases": names,
        "result": str(summary.get("result", "unfinished")),
        "changed": None if changed is None else int(changed),
        "seconds": None if seconds is None else round(seconds * 10) / 10,
        "folder": str(folder.path),
    }


@runs.command("list")
@click.option("-n", "--number", type=click.IntRange(1), default=20, show_default=True, help="Number of runs.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def list_(number: int, as_json: bool) -> None:
    """List the last runs, newest last."""
    rows = [overview(f) for f in list_runs()[-number:]]
    if as_json:
        print_json(rows)
        return
    if not rows:
        console.print("There is no run yet; `avadm apply` makes one.")
        return
    table = Table(box=None, pad_edge=False, header_style="dim")
    # Last: a run of a whole site has many.
    for name in ("run", "result", "changed", "time", "phases"):
        table.add_column(name, no_wrap=name in ("run", "result", "time"))
    for row in rows:
        took = duration(row["seconds"]) if row["seconds"] is not None else ""
        changed = "" if row["changed"] is None else str(row["changed"])
        result = Text(row["result"], style=_STYLE.get(row["result"], ""))
        table.add_row(row["id"], result, changed, took, ", ".join(row["phases"]))
    print_table(table, whole=("run", "result", "changed", "time"))


@runs.command()
@click.argument("run", default=LATEST, metavar="[ID|latest]")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def show(run: str, as_json: bool) -> None:
    """Show a run: phases, failures with remedies, slowest tasks, where its log is."""
    folder = find_run(run)
    try:
        _show(folder, as_json)
    except DAMAGE as error:
        raise AvadmError.of(
            "run-unreadable",
            where=str(folder.path),
            found=f"{type(error).__name__}: {error}"[:200],
            wanted="summary.json and events.jsonl as avadm wrote them",
            name=folder.log.name,
        ) from error


def _show(folder: RunFolder, as_json: bool) -> None:
    data = of_run(folder)
    if as_json:
        print_json({**data, "folder": str(folder.path)})
        return
    heading(f"{folder.id}")
    plan = folder.read_mapping("plan.json")
    if "steps" in plan:
        _print_steps(folder, str(plan["command"]))
    else:
        _print_phases(data)
    console.print(Text(f"\nFolder   {folder.path}"))


def _print_steps(folder: RunFolder, command: str) -> None:
    """Print how an operation went, step by step; the phases that it ran have runs of their own."""
    if not folder.log.exists():
        console.print(Text(f"Unfinished: it runs still, or was killed. Continue: {visible(command)}"))
        return
    for line in folder.log.read_text(encoding="utf-8").rstrip().split("\n"):
        console.print(Text(visible(line)))


def _print_phases(data: RunSummary) -> None:
    """Print the phases of a run, what they changed, and what took longest."""
    print_summary(data, console)
    if data["changes"]:
        heading("Changed")
        for row in data["changes"][:CHANGES_SHOWN]:
            console.print(Text(f"  {row['phase']}: {row['task']} on {short(row['hosts'])}"))
        if (more := len(data["changes"]) - CHANGES_SHOWN) > 0:
            console.print(f"  … and {quantity(more, 'more task')}")
    if data["slowest"]:
        heading("Slowest tasks")
        for slow in data["slowest"][:10]:
            console.print(
                Text(f"  {slow['seconds']:7.1f} s  {slow['phase']}: {slow['task']} ({slow['host']})")
            )


@runs.command("prune")
@click.option("--keep", type=click.IntRange(1), default=KEEP, show_default=True, help="Runs to keep.")
@click.option("--days", type=click.IntRange(1), default=DAYS, show_default=True, help="Days to keep a run.")
@click.option("--dry-run", is_flag=True, help="Only print what would be removed.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def prune_(keep: int, days: int, dry_run: bool, as_json: bool) -> None:
    """Remove the folders of old runs; each `avadm apply` does so too, with these numbers.

    Never removed are runs at work, the last one of each site and verb, those that a site's state names, acceptance
    reports of the last year, and what `disk zap` wrote down.
    """
    found = candidates(keep=keep, days=days) if dry_run else prune(keep=keep, days=days)
    if as_json:
        print_json({"removed": [r.id for r in found], "dry_run": dry_run})
        return
    for run in found:
        console.print(Text(f"{'would remove' if dry_run else 'removed'} {run.id}"))
    console.print(f"{len(found)} of {quantity(len(list_runs()) + (0 if dry_run else len(found)), 'run')}.")
