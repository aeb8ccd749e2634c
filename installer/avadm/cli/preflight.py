"""`avadm preflight`: are the nodes fit for what the site file wants of them?"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import click
from rich.table import Table
from rich.text import Text

from avadm.cli.main import App, pass_app
from avadm.cli.options import only
from avadm.cli.output import MARKS, console, print_json
from avadm.cli.tables import print_table
from avadm.errors import EXIT_COULD_NOT_RUN, EXIT_FOUND_BAD, EXIT_GOOD, AvadmError
from avadm.findings import Severity, errors
from avadm.quantity import quantity

if TYPE_CHECKING:
    from avadm.checks.framework import Check, Group, Report
    from avadm.checks.waivers import Waived
    from avadm.site.load import SiteFile
    from avadm.site.model import Node

SHOWN = 3  # different values of one finding that are reported


@click.command()
@click.option("--limit", metavar="NODES", help="Only these nodes: names, patterns or roles, with commas.")
@only("wanted", "Only this check; several may be given.")
@click.option("--versions", is_flag=True, help="Compare what runs with the profile's versions instead.")
@click.option("--list", "only_list", is_flag=True, help="List the checks.")
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
@click.option(
    "--junit",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Also write the result as JUnit XML.",
)
@pass_app
def preflight(
    app: App,
    limit: str | None,
    wanted: tuple[str, ...],
    versions: bool,
    only_list: bool,
    as_json: bool,
    junit: Path | None,
) -> int:
    """Check that the nodes are fit, changing nothing on them (package lists are fetched where they are old).

    Exit status 1 when a check found an error, 2 when no node could be asked; warnings and what the site file waives
    are shown only.
    """
    from avadm.checks.preflight import CHECKS
    from avadm.cli.nodes import select

    checks = _choose(CHECKS, wanted)
    if only_list:
        return _list(checks, as_json)
    site_file = app.site_file(draft=True)
    nodes = select(site_file.site, limit)
    outcome = (_versions if versions else _facts)(app, site_file, nodes, checks if wanted else None)
    if junit is not None:
        _write_junit(outcome, junit)
    if as_json:
        print_json(outcome.as_dict())
    else:
        _print(outcome)
    if outcome.none_asked:
        return EXIT_COULD_NOT_RUN
    return EXIT_FOUND_BAD if errors(outcome.everything) else EXIT_GOOD


def _versions(app: App, site_file: SiteFile, nodes: list[Node], _: object) -> Report:
    """Return what runs against the profile's versions."""
    from avadm.checks.framework import Report
    from avadm.checks.versions import check

    begun = time.monotonic()
    names = [n.name for n in nodes]
    found = {"versions": check(site_file, app.fleet(), names=names)}
    titles = {"versions": "what runs is the profile's version"}
    return Report(site_file.site.name, names, titles, found, seconds=time.monotonic() - begun)


def _facts(app: App, site_file: SiteFile, nodes: list[Node], checks: tuple[Check, ...] | None) -> Report:
    """Ask the nodes and return what the checks (all, where None) say of it."""
    from avadm.checks import waivers
    from avadm.checks.collect import collect
    from avadm.checks.framework import Report, run
    from avadm.checks.preflight import CHECKS

    begun = time.monotonic()
    only = None if checks is None else {fact for c in checks for fact in c.facts}
    context = collect(site_file.site, site_file.profile, nodes, app.fleet(), only)
    found = run(context, checks or CHECKS)
    if "reachability" not in found and context.unreachable:
        found |= run(context, _choose(CHECKS, ("reachability",)))
    names = [n.name for n in nodes]
    asked = [name for name in names if name not in context.unreachable]
    if not asked:  # what was not checked is not good
        found = {"reachability": found["reachability"]}
    stands, waived = waivers.apply(
        found,
        waivers.of_scope(site_file, "preflight"),
        asked,
        datetime.now(tz=UTC).date(),
        {c.id for c in CHECKS},
    )
    titles = {c.id: c.title for c in CHECKS} | {waivers.ID: waivers.TITLE}
    seconds = time.monotonic() - begun
    return Report(site_file.site.name, names, titles, stands, waived, seconds, none_asked=not asked)


def _write_junit(outcome: Report, path: Path) -> None:
    from avadm.checks.junit import write_junit

    try:
        write_junit(outcome, path)
    except OSError as e:
        raise AvadmError.of("junit", where=str(path), found=e.strerror or str(e)) from e


def _choose(checks: tuple[Check, ...], wanted: Sequence[str]) -> tuple[Check, ...]:
    """Return the checks named, all where none is; AvadmError for an unknown one."""
    known = {c.id for c in checks}
    if unknown := [w for w in wanted if w not in known]:
        raise AvadmError.of(
            "unknown-check", where="--only", found=", ".join(unknown), wanted=", ".join(c.id for c in checks)
        )
    return tuple(c for c in checks if not wanted or c.id in wanted)


def _list(checks: tuple[Check, ...], as_json: bool) -> int:
    """Print the checks."""
    if as_json:
        print_json({"checks": [{"id": c.id, "title": c.title, "roles": sorted(c.roles)} for c in checks]})
    else:
        table = Table("check", "what it makes sure of", "nodes")
        for c in checks:
            table.add_row(c.id, c.title, ", ".join(sorted(c.roles)) or "all")
        print_table(table, whole=("check",))
    return EXIT_GOOD


def _print(outcome: Report) -> None:
    """Print what was found, the worst first and the same thing on many nodes once; then what is well."""
    from avadm.checks.framework import group, worst

    groups = group(outcome.everything)
    for g in groups:
        mark, style = MARKS[g.finding.severity]
        console.print(Text(f"{mark} {_headline(g)}", style=style))
        _details(g)
    by: dict[str, list[Waived]] = defaultdict(list)
    for w in (w for some in outcome.waived.values() for w in some):
        by[f"waived by {w.waiver.who} until {w.waiver.until}: {w.waiver.why}"].append(w)
    for words, some in by.items():
        for g in group(w.finding for w in some):
            console.print(Text(f"~ {_headline(g)}", style="cyan"))
            console.print(Text(f"    {words}"))
    good = [name for name, findings in outcome.found.items() if worst(findings) is Severity.INFO]
    if good:
        console.print(Text(f"✓ {', '.join(good)}", style="green"))
    bad = sum(g.finding.severity is Severity.ERROR for g in groups)
    waived = sum(map(len, outcome.waived.values()))
    console.print(
        f"{quantity(len(outcome.nodes), 'node')}, {quantity(len(outcome.found), 'check')}, {outcome.seconds:.1f} s: "
        + (f"{quantity(bad, 'error')} to fix first" if bad else "nothing stands in the way")
        + (f"; {quantity(waived, 'finding')} waived." if waived else ".")
    )


def _headline(group: Group) -> str:
    """Return ``12 nodes: kernel 4.15, expected 4.18: cpu01-12``."""
    from avadm.cli.nodes import compact

    f = group.finding
    values = sorted(group.found.items(), key=lambda v: -v[1])
    several = len(values) > 1
    found = ", ".join(f"{value} ({n}×)" if several and n > 1 else value for value, n in values[:SHOWN])
    found += f" and {quantity(len(values) - SHOWN, 'other')}" if len(values) > SHOWN else ""
    count = f"{quantity(len(group.hosts), 'node')}: " if len(group.hosts) > 1 else ""
    wanted = f", expected {f.wanted}" if f.wanted else ""
    where = f": {compact(group.hosts)}" if group.hosts else ""
    return f"{count}{f.check} {found}{wanted}{where}"


def _details(group: Group) -> None:
    f = group.finding
    console.print(Text(f"    {f.what}" + (f" ({f.where})" if f.where else "")))
    if f.remedy:
        console.print(Text(f"    remedy: {f.remedy}"))
