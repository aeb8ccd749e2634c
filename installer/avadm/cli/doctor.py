"""`avadm doctor`: what is wrong with the running site, where, how it shows, and what to do."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from textwrap import wrap
from typing import TYPE_CHECKING, cast

import click
from rich.table import Table
from rich.text import Text

from avadm.cli.main import App, pass_app
from avadm.cli.options import only
from avadm.cli.output import MARKS, console, print_json, stderr, visible
from avadm.cli.tables import print_table
from avadm.cli.times import DURATION
from avadm.errors import EXIT_COULD_NOT_RUN, EXIT_FOUND_BAD, EXIT_GOOD
from avadm.findings import Finding, Severity
from avadm.quantity import quantity

if TYPE_CHECKING:
    import tenacity

    from avadm.checks.evidence import Snapshot
    from avadm.checks.framework import Check
    from avadm.doctor.waivers import Judgement

SHOWN = 4
"""Different pieces of evidence of one check that are reported."""
_WRONG = (Severity.ERROR, Severity.UNKNOWN)
AGAIN_S = 15
"""Seconds between two rounds of `--wait`: what Prometheus tells is not newer than its scrape interval."""
_WAIVED = "~", "cyan"
_MARKS = {**MARKS, Severity.INFO: ("✓", "green")}


@click.command()
@click.argument("bundle", required=False, type=click.Path(path_type=Path, dir_okay=False))
@only("wanted", "Only this check, or topic; several may be given.", former=())
@click.option(
    "--wait",
    "wait_s",
    type=DURATION,
    default=0,
    metavar="TIME",
    help="While something is bad, ask again until this time (5m) has passed: for a site that has just been changed.",
)
@click.option("--list", "only_list", is_flag=True, help="List the checks.")
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
@pass_app
def doctor(
    app: App, bundle: Path | None, wanted: tuple[str, ...], wait_s: int, only_list: bool, as_json: bool
) -> int:
    """Ask every node once and say what is wrong, changing nothing.

    Of a site that `avadm power down` stopped only that is reported, unless --only names checks.

    With BUNDLE, a file of `avadm support collect`, no node is asked: what was collected is checked. With --wait the last
    answer counts, and what was bad before is named while it waits. Exit status 1 when something is bad; 2 when nothing
    is, but something could not be looked at; warnings, and what the site file waives, are shown only.
    """
    from avadm.doctor.bundle import read
    from avadm.doctor.checks import choose, relevant
    from avadm.doctor.waivers import judge

    checks = choose(wanted)
    if only_list:
        return _list(checks, as_json)
    if bundle and wait_s:
        raise click.UsageError("--wait asks the nodes again; a bundle never changes. Leave one of them out.")

    def look() -> tuple[Snapshot, Judgement]:
        snapshot = read(bundle) if bundle else _ask(app, checks if wanted else None, quiet=as_json)
        return snapshot, judge(snapshot, checks if wanted else relevant(snapshot, checks))

    snapshot, found = _until_good(look, wait_s)
    if as_json:
        print_json({"checks": found.rows()})
    else:
        _print(snapshot, found)
    return exit_status(snapshot, found)


def _until_good(look: Callable[[], tuple[Snapshot, Judgement]], wait_s: int) -> tuple[Snapshot, Judgement]:
    """Return the first look that is good, or the last one once `wait_s` seconds have passed."""
    import tenacity

    def wanting(seen: tuple[Snapshot, Judgement]) -> bool:
        return exit_status(*seen) != EXIT_GOOD

    def tell(state: tenacity.RetryCallState) -> None:
        seen = [f"{f.check}: {f.found}" for f in _seen(state)[1].stands if f.severity in _WRONG]
        more = f" (and {len(seen) - 1} more)" if len(seen) > 1 else ""
        left = wait_s - (state.seconds_since_start or 0)
        first = visible(seen[0] if seen else "no node has answered")
        stderr.print(f"waiting, {left:.0f} s left: {first}{more}", markup=False, highlight=False)

    return tenacity.Retrying(
        retry=tenacity.retry_if_result(wanting),
        stop=tenacity.stop_after_delay(wait_s),
        wait=tenacity.wait_fixed(AGAIN_S),
        before_sleep=tell,
        retry_error_callback=_seen,
    )(look)


def _seen(state: tenacity.RetryCallState) -> tuple[Snapshot, Judgement]:
    """Return what the last look found; it is asked only after one."""
    seen: tuple[Snapshot, Judgement] = cast("tenacity.Future", state.outcome).result()
    return seen


def exit_status(snapshot: Snapshot, found: Judgement) -> int:
    """Return 2 where no node answered, 1 where something is bad, 2 where something could not be looked at, else 0.

    What is waived counts as looked at, no more.
    """
    seen = {f.severity for f in found.stands} | {Severity.INFO for _ in found.waived}
    if all(facts.silent for facts in snapshot.nodes.values()):
        return EXIT_COULD_NOT_RUN
    if Severity.ERROR in seen:
        return EXIT_FOUND_BAD
    return EXIT_COULD_NOT_RUN if Severity.UNKNOWN in seen or not seen else EXIT_GOOD


def _ask(app: App, checks: Sequence[Check] | None, *, quiet: bool) -> Snapshot:
    from avadm.doctor.collect import collect
    from avadm.doctor.redaction import Cleaner, secrets_of
    from avadm.errors import AvadmError

    site_file = app.site_file()
    try:
        cleaner = Cleaner(secrets_of(site_file))
    except AvadmError:
        cleaner = Cleaner()  # on the screen of who has the site: patterns are enough
    fleet, only = app.fleet(), _facts(checks)
    if quiet or not stderr.is_terminal:
        return collect(site_file, fleet, only, cleaner)
    with stderr.status(f"asking {quantity(len(site_file.site.nodes), 'node')}") as shown:
        waiting = {n.name for n in site_file.site.nodes}

        def show_progress(name: str, done: int, of: int) -> None:
            from avadm.cli.nodes import compact

            waiting.discard(name)
            shown.update(
                f"{done} of {quantity(of, 'node')} have answered"
                + (f", waiting for {compact(waiting)}" if waiting else "")
            )

        return collect(site_file, fleet, only, cleaner, show_progress)


def _facts(checks: Sequence[Check] | None) -> set[str] | None:
    return None if checks is None else {fact for c in checks for fact in (*c.facts, *c.also)}


def _list(checks: Sequence[Check], as_json: bool) -> int:
    if as_json:
        rows = [
            {"id": c.id, "topic": c.topic, "title": c.title, "requirement": c.requirement} for c in checks
        ]
        print_json({"checks": rows})
        return EXIT_GOOD
    table = Table("check", "topic", "what it finds", box=None, pad_edge=False, header_style="dim")
    for c in checks:
        table.add_row(c.id, c.topic, c.title)
    print_table(table, whole=("check", "topic"))
    return EXIT_GOOD


def _print(snapshot: Snapshot, judgement: Judgement) -> None:
    """Print the troubles, the worst first and the same one of many nodes once; then what is waived and a line for each topic."""
    results = judgement.stands
    for severity in (*_WRONG, Severity.WARNING):
        together: dict[tuple[str, str], list[Finding]] = defaultdict(list)
        for r in results:
            if r.severity is severity:
                # What cannot be asked of a silent node is reported once, not for each check.
                key = ("", r.found) if severity is Severity.UNKNOWN else (r.check, r.remedy)
                together[key].append(r)
        for some in together.values():
            console.print(_block(severity, some))
    waived: dict[tuple[str, str], list[Finding]] = defaultdict(list)
    for w in judgement.waived:
        by = f"by {w.waiver.who} until {w.waiver.until}: {w.waiver.why}"
        waived[w.finding.check, by].append(replace(w.finding, remedy=by))
    for some in waived.values():
        console.print(_block(None, some))
    print_table(_topics(judgement), whole=())
    bad, unknown, watch = (
        len({r.check for r in results if r.severity is s}) for s in (*_WRONG, Severity.WARNING)
    )
    words = f"{bad} bad, {watch} to watch, {unknown} not known"
    words += f", {quantity(len(judgement.waived), 'finding')} waived" if judgement.waived else ""
    seen = {r.check for r in results} | {w.finding.check for w in judgement.waived}
    console.print(
        f"\n{quantity(len(snapshot.nodes), 'node')}, {quantity(len(seen), 'check')}, "
        f"{snapshot.seconds:.1f} s: {words}."
    )


def _block(severity: Severity | None, some: Sequence[Finding]) -> Text:
    """Return findings of one check and remedy; of what is waived, where there is no severity, that is the waiver."""
    from avadm.cli.nodes import compact

    mark, style = _WAIVED if severity is None else _MARKS[severity]
    first, ids = some[0], sorted({r.check for r in some})
    places = list(dict.fromkeys(r.where for r in some))
    where = (
        compact(places) if all(re.fullmatch(r"[a-z0-9-]+", p) for p in places) else "; ".join(places[:SHOWN])
    )
    where += f" and {len(places) - SHOWN} more" if len(places) > SHOWN and "; " in where else ""
    name = ids[0] if len(ids) == 1 else quantity(len(ids), "check")
    head = Text.assemble((f"{mark} {name}", style), "  ", (visible(where), "bold"))
    same = len(places) == 1 or len({r.found for r in some}) == 1
    messages = list(dict.fromkeys(r.found if same else f"{r.where}: {r.found}" for r in some))
    lines = [_folded(text) for text in messages[:SHOWN]]
    lines += [Text(f"    and {len(messages) - SHOWN} more", style="dim")] if len(messages) > SHOWN else []
    lines += [_folded(first.remedy, "waived  " if severity is None else "remedy  ")] if first.remedy else []
    return Text("\n").join([head, *lines])


def _folded(text: str, mark: str = "") -> Text:
    """Return a text below its headline, its lines broken between words where there is a screen to fit."""
    width = console.width - 4 - len(mark) if console.is_terminal else 10**6
    broken = wrap(visible(text), max(width, 40), break_long_words=False, break_on_hyphens=False) or [""]
    found = Text("    ").append(mark, style="cyan").append(broken[0])
    for line in broken[1:]:
        found.append("\n" + " " * (4 + len(mark)) + line)
    return found


def _topics(judgement: Judgement) -> Table:
    """Return one row for each topic: how its checks ended."""
    table = Table(box=None, pad_edge=False, show_header=False)
    topic = {c.id: c.topic for c in judgement.checks}
    for name in dict.fromkeys(topic.values()):
        mine = [r for r in judgement.stands if topic[r.check] == name]
        waived = {w.finding.check: None for w in judgement.waived if topic[w.finding.check] == name}
        if not mine and not waived:
            continue
        row = Text()
        for severity, (mark, style) in _MARKS.items():
            well = severity is Severity.INFO
            ids = list(dict.fromkeys(r.check for r in mine if r.severity is severity))
            if well:
                wrong = {r.check for r in mine if r.severity is not severity}
                ids = [i for i in ids if i not in wrong]
            if ids:
                names = "" if well else " " + ", ".join(ids[:SHOWN]) + (" …" if len(ids) > SHOWN else "")
                row.append(f"{mark} {len(ids)}{names}  ", style=style)
        if waived:
            row.append(f"{_WAIVED[0]} {len(waived)} {', '.join(waived)}", style=_WAIVED[1])
        table.add_row(Text(name, style="bold"), row)
    return table
