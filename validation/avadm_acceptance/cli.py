"""`avadm accept`: measure against the targets, list them, verify a report."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import click
from rich.table import Table
from rich.text import Text

from avadm.cli.main import App, pass_app
from avadm.cli.options import only as only_option
from avadm.cli.output import console, print_json, stderr
from avadm.cli.tables import print_table
from avadm.errors import EXIT_FOUND_BAD, EXIT_GOOD
from avadm.quantity import quantity
from avadm_validation.suites import ALONE, NAMES

if TYPE_CHECKING:
    from avadm_validation.measuring.context import Progress
    from avadm_validation.protocol.model import CheckResult, Report

_ALL = ", ".join(name for name in NAMES if name not in ALONE)
STYLES = {
    "PASS": "bold green",
    "FAIL": "bold red",
    "INCONCLUSIVE": "yellow",
    "BLOCKED": "bold yellow",
    "PROJECTED": "cyan",
    "EXCEPTED": "cyan",
    "NOT RUN": "dim",
}


@click.group()
def accept() -> None:
    """Measure the cluster against its targets and write the report."""


@accept.command("list")
@click.option("--json", "as_json", is_flag=True, help="Print the checks as JSON.")
@click.option("--kind", type=click.Choice(["stated", "lab"]), default="stated", help="Criteria to judge by.")
def list_checks(as_json: bool, kind: Literal["stated", "lab"]) -> int:
    """List the checks with their criteria."""
    from avadm_validation import registry
    from avadm_validation.protocol.verdict import fmt

    checks = [c for suite in registry.suites().values() for c in suite.all_checks]
    criteria = registry.criteria(kind)
    if as_json:
        data = [
            {
                "id": c.ID,
                "title": c.TITLE[0],
                "title_zh": c.TITLE[1],
                "needs": c.NEEDS or None,
                "criteria": [x.model_dump(by_alias=True) for x in criteria.needed(c.ID)],
            }
            for c in checks
        ]
        print_json({"suite": ", ".join(NAMES), "kind": kind, "checks": data})
        return EXIT_GOOD
    table = Table("check", "what", "criteria")
    chinese = _chinese()
    between = "\n" if console.is_terminal else "; "
    for c in checks:
        lines = [f"{x.metric} {x.op} {fmt(x.threshold)} {x.unit} ({x.scope})" for x in criteria.needed(c.ID)]
        table.add_row(c.ID, c.TITLE[1] if chinese else c.TITLE[0], between.join(lines), end_section=True)
    print_table(table, whole=("check",))
    return EXIT_GOOD


def _chinese() -> bool:
    """Return whether the user's language is Chinese, by the variables of the locale in their order."""
    names = (os.environ.get(name) for name in ("LC_ALL", "LC_MESSAGES", "LANG"))
    return next((name for name in names if name), "").startswith("zh")


@accept.command()
@click.option(
    "--suite",
    type=click.Choice(["all", *NAMES]),
    default="all",
    help=f"Suite to run; all: {_ALL}, those that the site has.",
)
@only_option("only", "Only this check (with the preconditions); several may be given.")
@click.option("--effort", type=click.Choice(["quick", "full"]), default="full", help="How much to measure.")
@click.option(
    "--language",
    type=click.Choice(["en", "zh"]),
    help="Language of titles and targets in the report: English, or Chinese where your locale is.",
)
@click.option("--seed", type=int, help="Seed of random choices, to repeat a run.")
@click.option("--break-lock", is_flag=True, help="Remove the lock of another run that is known to be dead.")
@click.option(
    "--allow-inconclusive",
    is_flag=True,
    help="Exit 0 although checks are INCONCLUSIVE, where nothing failed or was blocked; they are still named.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the report as JSON.")
@pass_app
def run(
    app: App,
    suite: str,
    only: tuple[str, ...],
    effort: Literal["quick", "full"],
    language: Literal["en", "zh"] | None,
    seed: int | None,
    break_lock: bool,
    allow_inconclusive: bool,
    as_json: bool,
) -> int:
    """Run a suite from the site's client nodes; exit 1 unless every check is PASS, PROJECTED or EXCEPTED."""
    from avadm.cli.plan import command_line
    from avadm.errors import AvadmError
    from avadm.state.lock.nodes import LockNodes
    from avadm.state.lock.site import lock_nodes
    from avadm.state.run_folder import RunFolder, discard
    from avadm_acceptance import measurement, selection
    from avadm_acceptance.record import AcceptanceRecord

    chosen = selection.choose(only, suite)
    site_file, fleet = app.site_file(), app.fleet()
    folder = RunFolder.create("accept")
    record = AcceptanceRecord(folder, site_file.site.name, command_line("accept", "run"))
    show, report = _Progress(), None

    def step(what: Progress) -> None:
        record.step(what)
        show.step(what)

    def done(result: CheckResult) -> None:
        record.done(result)
        show.done(result)

    def tell(note: str) -> None:
        stderr.print(Text(f"! {note}", style="yellow"))
        record.note(note)

    try:
        with lock_nodes(LockNodes(site_file, fleet), "accept", tell, break_lock=break_lock):
            report = measurement.run(
                site_file,
                fleet,
                folder,
                only=chosen,
                suite=suite,
                effort=effort,
                seed=seed,
                language=language or ("zh" if _chinese() else "en"),
                progress=step,
                finished=done,
            )
    except AvadmError:
        if not (folder.path / "report" / "raw").exists():
            discard(folder)
        raise
    finally:
        show.close()
        if folder.path.exists():
            record.finish(report)
    if as_json:
        print_json(report.model_dump(mode="json", by_alias=True))
    else:
        _print(report, folder.path / "report")
    return exit_status(report, allow_inconclusive)


@accept.command()
@click.argument("report", type=click.Path(exists=True, path_type=Path))
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
def verify(report: Path, as_json: bool) -> int:
    """Compute every hash, value and verdict of a REPORT again from its raw files; exit 1 where one differs."""
    from avadm_acceptance.measurement import verified

    found, problems = verified(report)
    samples = sum(len(m.samples) for c in found.checks for m in c.metrics)
    facts = {"checks": len(found.checks), "samples": samples, "raw_files": len(found.evidence)}
    if as_json:
        print_json({"report": str(report), "agrees": not problems, **facts, "problems": problems})
    else:
        for problem in problems:
            console.print(Text(f"✗ {problem}", style="red"))
        text = ", ".join(f"{n} {name.replace('_', ' ')}" for name, n in facts.items())
        console.print(
            f"{text}: " + (f"{len(problems)} do not agree." if problems else "all computed again, all agree.")
        )
    return EXIT_FOUND_BAD if problems else EXIT_GOOD


class _Progress:
    """Progress on standard error: one live line on a terminal, a plain line per step elsewhere."""

    def __init__(self) -> None:
        self._live = stderr.is_terminal
        self._status = stderr.status("") if self._live else None
        self._told: set[str] = set()
        self._begun = time.monotonic()

    def step(self, step: Progress) -> None:
        """Show what is being done now."""
        much = f", {quantity(step.repetitions, 'repetition')}" if step.repetitions > 1 else ""
        text = f"{step.check}: {step.text}{much}" + (f", {step.seconds:.0f} s" if step.seconds >= 1 else "")
        elapsed = time.monotonic() - self._begun
        if self._status:
            self._status.start()
            self._status.update(f"{text}  [dim]({elapsed:.0f} s so far)[/dim]")
        elif step.check not in self._told:
            stderr.print(Text(f"{elapsed:6.0f} s  {text}"))
        self._told.add(step.check)

    def done(self, result: CheckResult) -> None:
        """Print a check's line."""
        line = Text(f"{result.id:<17}")
        line.append(f"{result.verdict:<13}", style=STYLES[result.verdict])
        line.append(_headline(result) + (f"  ({result.seconds:.0f} s)" if result.seconds else ""))
        stderr.print(line)

    def close(self) -> None:
        """End the live line."""
        if self._status:
            self._status.stop()


def exit_status(report: Report, allow_inconclusive: bool) -> int:
    """Return the exit status of a run: good where all is, or where nothing worse than INCONCLUSIVE is and that is allowed."""
    good = report.good or (allow_inconclusive and bool(undecided(report)))
    return EXIT_GOOD if good else EXIT_FOUND_BAD


def undecided(report: Report) -> str:
    """Return what a reader must know where nothing failed and something could not be decided; "" for any other report."""
    open_ = [c.id for c in report.checks if c.verdict == "INCONCLUSIVE"]
    if not open_ or any(c.verdict in ("FAIL", "BLOCKED", "NOT RUN") for c in report.checks):
        return ""
    again = " ".join(f"--only {i}" for i in open_)
    causes = "".join(
        f"\n  {c.id}: {c.reasons[0]}" for c in report.checks if c.verdict == "INCONCLUSIVE" and c.reasons
    )
    return (
        f"Nothing failed, but {len(open_)} of {quantity(len(report.checks), 'check')} could not be decided "
        "(INCONCLUSIVE): they were not "
        f"measured, or varied too much, or the machine was too busy.{causes}\n"
        f"Measure them again on an idle machine: avadm accept run --effort full {again}"
    )


def _headline(result: CheckResult) -> str:
    from avadm_validation.protocol.verdict import fmt

    if result.measured is None:
        return result.reasons[0] if result.reasons else ""
    judged = [m for m in result.metrics if m.criterion and m.verdict is not None]
    # The one that decided: of its verdict, in its unit, with its value.
    deciding = [
        m for m in judged if (m.verdict, m.unit, m.mean) == (result.verdict, result.unit, result.measured)
    ]
    name = next((m.name for m in (*deciding, *judged)), "")
    text = f"{name} {fmt(result.measured)} {result.unit}"
    if result.op and result.threshold is not None:
        text += f" ({result.op} {fmt(result.threshold)})"
    return text


def _print(report: Report, folder: Path) -> None:
    """Print what was found, worst last, and where the report lies."""
    from avadm_validation import registry

    suites = registry.suites()
    for note in report.notes:
        console.print(Text(f"! {note}", style="yellow"))
    for check in report.checks:
        if check.verdict in ("PASS", "PROJECTED"):
            continue
        console.print(Text(f"{check.id}: {check.verdict}", style=STYLES[check.verdict]))
        for reason in check.reasons[: None if suites[registry.suite_of(check.id)].every_reason else 4]:
            console.print(Text(f"    {reason}"))
        if check.remedy:
            console.print(Text(f"    remedy {check.remedy}"))
    counts = ", ".join(f"{n} {v}" for v, n in report.counts.items() if n)
    console.print(f"\n{counts}  (class {report.class_}, effort {report.effort})")
    if text := undecided(report):
        console.print(Text(text, style="yellow"))
    for name in ("report.html", "report.json"):
        if (folder / name).is_file():
            console.print(f"Report: {folder / name}")
            break
