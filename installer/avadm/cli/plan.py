"""`avadm plan`: phases, nodes and order, changing nothing."""

from __future__ import annotations

import shlex
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from rich.table import Table
from rich.text import Text

from avadm.artifacts import requirements
from avadm.artifacts.requirements import Missing
from avadm.catalogue import finding
from avadm.cli.main import App, pass_app
from avadm.cli.output import as_dicts, console, print_findings, print_json, stderr
from avadm.cli.progress import first_line
from avadm.cli.tables import print_table
from avadm.drift.detection import detect_drift, is_current, unasked
from avadm.drift.report import DriftReport, restrict, summarize, warned
from avadm.drift.saved_plan import SavedPlan
from avadm.engine.session import Session, schedule
from avadm.errors import EXIT, EXIT_GOOD, AvadmError
from avadm.findings import Finding, Severity
from avadm.inventory.desired import Desired
from avadm.plan.graph import ScheduledPhase
from avadm.quantity import quantity
from avadm.state.lock.nodes import LockNodes, LockReplies, look
from avadm.state.summary import RunSummary

if TYPE_CHECKING:
    from avadm.site.model import Site

NAMES_SHOWN = 6
ORDER = ("failed", "unreachable", "stale", "peers", "drift", "unproven", "pending", "done")
"""States of a host in a plan; a phase's state is the first of those that its hosts have."""


def one_limit(_ctx: click.Context, _param: click.Parameter, value: tuple[str, ...]) -> str | None:
    """Return ``--limit a,b --limit c`` as the one limit that `select` takes; an empty one never means all."""
    limit = ",".join(name for part in value for name in part.replace(",", " ").split())
    if value and not limit:
        raise click.BadParameter("names no node")
    return limit or None


limit_option = click.option(
    "--limit",
    multiple=True,
    callback=one_limit,
    metavar="NODES",
    help="Only these nodes: names, patterns or roles, with commas.",
)


def selected(site: Site, limit: str | None) -> list[str]:
    """Return the names of the nodes of a limit; none where there is no limit.

    Raises:
        AvadmError: a part of the limit matches no node.
    """
    from avadm.cli.nodes import select

    return [n.name for n in select(site, limit)] if limit else []


def command_line(*words: str) -> str:
    """Return an avadm command for people to copy, with the site file that this command was given."""
    ctx = click.get_current_context(silent=True)
    site = ctx.find_root().params.get("site_path") if ctx else None
    return shlex.join(["avadm", *(["--site", str(site)] if site else []), *words])


@click.command()
@click.argument("phases", nargs=-1, metavar="[PHASE]...")
@limit_option
@click.option("--offline", is_flag=True, help="Use the state and inputs only; do not ask the nodes.")
@click.option(
    "--deep", is_flag=True, help="Ask each task of the phases that have to run what it would change."
)
@click.option(
    "--out",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Save the plan to this file, for `avadm apply --plan`.",
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@pass_app
@click.pass_context
def plan(
    ctx: click.Context,
    app: App,
    phases: tuple[str, ...],
    limit: str | None,
    offline: bool,
    deep: bool,
    out: Path | None,
    as_json: bool,
) -> None:
    """Show which phases would run on which nodes, in which order, and why; changes nothing on the nodes.

    Each node is asked once whether what its done phases keep is still so: drift made by hand is named. --deep makes
    a dry run of what has to run, which takes about as long as a run that changes nothing; it needs the artifacts of
    these phases (`avadm artifacts build`). Without --deep missing artifacts are named, and a plan saved without them
    will be refused by `avadm apply --plan`.
    """
    if offline and (deep or out):
        raise click.UsageError("--offline asks no node, so there is nothing for --deep or --out.")
    site_file = app.site_file()
    limited = selected(site_file.site, limit)
    nodes = LockNodes(site_file, app.idle_fleet() if offline else app.fleet())
    session = Session.open(site_file, nodes, LockReplies() if offline else look(nodes), write=False)
    desired, state = Desired.read(site_file, session.keyring), session.records.state
    steps = schedule(site_file.site, state, phases, limited)
    verdicts = (
        unasked(desired, state, steps)
        if offline
        else detect_drift(desired, session.records, session.fleet, steps)
    )
    # By the cache's own records: a plan reads no artifact whole.
    phases_to_run = [s.phase for s in steps if not verdicts[s.name].proven]
    lacking = requirements.missing(
        site_file.site, phases_to_run, deep=False, versions=site_file.profile.versions
    )
    if deep and lacking:
        raise AvadmError([one.finding() for one in lacking])
    if out:
        SavedPlan.of(desired, phases, limited, steps, verdicts).save(out)
    unstable = [_unstable(out)] if lacking and out else []
    rows = [_row(s, verdicts[s.name], is_current(desired, state, s)) for s in steps]
    command = command_line("apply", *phases, *(["--limit", limit] if limit else []))
    tried = _dry_run(session, desired, steps, limited, verdicts, command, as_json) if deep else None
    if as_json:
        waves = [[s.name for s in steps if s.wave == w] for w in sorted({s.wave for s in steps})]
        data = {
            "site": site_file.site.name,
            "phases": rows,
            "waves": waves,
            "findings": as_dicts(
                [*(replace(one.finding(), severity=Severity.WARNING) for one in lacking), *unstable]
            ),
            "warnings": warned(verdicts),
        }
        if tried:
            data |= {"changes": tried["changes"], "failures": tried["failures"]}
        print_json(data)
    else:
        _print(steps, rows, verdicts, session.note, tried)
        print_findings(_folded(lacking) + unstable)
        again = command if lacking or not out else command_line("apply", "--plan", str(out))
        first = "avadm artifacts build, then " if lacking else ""
        words = f"Nothing was changed. To do it: {first}{again}"
        if not phases_to_run and not out:
            words = "Nothing to do, by what is recorded; no node was asked." if offline else "Nothing to do."
        console.print(Text(f"\n{words}"))
    ctx.exit(EXIT[tried["result"]] if tried else EXIT_GOOD)


def _unstable(out: Path) -> Finding:
    """Return that a saved plan will be refused: artifacts are inputs of the phases that install them."""
    return finding(
        "plan-unstable",
        where=str(out),
        found="a plan made before its artifacts",
        wanted="a plan made with all artifacts in the cache",
    )


def _dry_run(
    session: Session,
    desired: Desired,
    steps: list[ScheduledPhase],
    limited: list[str],
    verdicts: dict[str, DriftReport],
    command: str,
    as_json: bool,
) -> RunSummary:
    """Return the summary of a dry run of what is not proven unchanged."""
    from avadm.cli.progress import displays, printed_notes
    from avadm.engine.request import Request
    from avadm.engine.run import execute
    from avadm.state.lock.controller import lock_controller

    request = Request(command, limit=limited, check=True)
    show = displays(stderr if as_json else console)
    with lock_controller(session.records.folder, "plan"):
        return execute(session, steps, "plan", request, printed_notes(stderr), show, desired, verdicts)


def _print(
    steps: list[ScheduledPhase],
    rows: list[dict[str, Any]],
    verdicts: dict[str, DriftReport],
    note: str,
    tried: RunSummary | None,
) -> None:
    """Print the plan for people: what runs in which order, why, and (after a dry run) what it would change."""
    console.print("Phases of one step run at once.\n")
    if note:
        console.print(Text(f"! {note}\n", style="yellow"))
    print_table(_table(steps, rows), whole=("step", "phase", "state"))
    for text in warned(verdicts):
        console.print(Text(f"! {text}", style="yellow"))
    for step in steps:
        reasons = verdicts[step.name].reasons
        # Of a phase that never ran the table says all.
        if {r.state for r in reasons} == {"pending"} and {r.host for r in reasons} == set(step.hosts):
            continue
        for line in summarize(reasons):
            console.print(
                Text(f"{step.name}: {line}", style="dim" if line.startswith("pending") else "yellow")
            )
    if tried is None:
        return
    console.print()
    for change in tried["changes"]:
        console.print(Text(f"{change['phase']}: would change on {short(change['hosts'])}: {change['task']}"))
    for failure in tried["failures"]:
        console.print(
            Text(f"{failure['phase']}: unknown on {failure['host'] or 'the controller'}: {failure['task']}: ")
            + Text(first_line(failure["message"], 200)),
            style="red",
        )
    if not tried["changes"] and not tried["failures"]:
        console.print("No task would change anything.")


def _row(step: ScheduledPhase, verdict: DriftReport, current: bool) -> dict[str, Any]:
    """Return one phase of the plan as JSON-ready data, with the state and reasons of each host and of the cluster."""
    states: dict[str, dict[str, Any]] = {h: {"state": "done", "reasons": []} for h in step.hosts}
    for reason in verdict.reasons:
        entry = states.setdefault(reason.host or "cluster", {"state": "done", "reasons": []})
        entry["state"] = reason.state
        entry["reasons"].append(reason.text)
    worst = [s for s in ORDER if any(e["state"] == s for e in states.values())]
    about = {
        "current": current,
        "state": worst[0],
        "proven": verdict.text if verdict.proven else "",
        "runs_on": [] if verdict.proven else list(restrict(step, verdict).hosts),
    }
    return {**step.as_dict(), **about, "hosts_state": states}


def _folded(lacking: list[Missing]) -> list[Finding]:
    """Return one warning for all missing artifacts: they have one remedy."""
    if not lacking:
        return []
    what = (
        f"{quantity(len(lacking), 'artifact')} missing: `avadm apply` refuses the phases that install them."
    )
    return [
        replace(
            lacking[0].finding(),
            what=what,
            where="avadm artifacts list",
            found=", ".join(one.title for one in lacking),
            severity=Severity.WARNING,
        )
    ]


def _table(steps: list[ScheduledPhase], rows: list[dict[str, Any]]) -> Table:
    table = Table(box=None, pad_edge=False, header_style="dim")
    for name in ("step", "phase", "what", "after", "state", "nodes"):
        table.add_column(name, no_wrap=name != "nodes")
    wave = 0
    for step, row in zip(steps, rows, strict=True):
        state = row["state"]
        state += " (needed)" if step.pulled_in else ""
        number = str(step.wave) if step.wave != wave else ""
        wave = step.wave
        table.add_row(
            number,
            step.name,
            step.phase.title,
            ", ".join(step.needs),
            state,
            short(row["runs_on"] or step.hosts),
        )
    return table


def short(names: tuple[str, ...] | list[str]) -> str:
    """Return node names for people: all of a few, else how many and the first ones."""
    if len(names) <= NAMES_SHOWN:
        return ", ".join(names)
    return f"{len(names)}: {', '.join(names[: NAMES_SHOWN - 1])} …"
