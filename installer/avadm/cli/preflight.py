"""`avadm preflight`: are the nodes fit for what the site file wants of them?"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Sequence
from typing import TYPE_CHECKING

import click
from rich.table import Table

from avadm.cli.main import App, pass_app
from avadm.cli.output import console, print_findings, print_json
from avadm.errors import EXIT_FOUND_BAD, EXIT_GOOD, AvadmError
from avadm.findings import Finding, errors

if TYPE_CHECKING:
    from avadm.checks.base import Check


@click.command()
@click.option("--limit", metavar="NODES", help="Only these nodes: names, patterns or roles, with commas.")
@click.option(
    "--check", "wanted", metavar="ID", multiple=True, help="Only this check; may be given more than once."
)
@click.option("--versions", is_flag=True, help="Instead compare what runs with the profile's versions.")
@click.option("--list", "only_list", is_flag=True, help="List the checks.")
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
@pass_app
def preflight(
    app: App, limit: str | None, wanted: tuple[str, ...], versions: bool, only_list: bool, as_json: bool
) -> int:
    """Check that the nodes are fit, changing nothing on them (package lists are fetched where they are old).

    Exit status 1 when a check found an error; warnings are shown only.
    """
    from avadm.checks.preflight import CHECKS
    from avadm.cli.nodes import select

    checks = _choose(CHECKS, wanted)
    if only_list:
        return _list(checks, as_json)
    site_file = app.site_file()
    nodes = select(site_file.site, limit)
    begun = time.monotonic()
    fleet = app.fleet()
    if versions:
        from avadm.checks.versions import check as check_versions

        found = {"versions": check_versions(site_file, fleet, nodes=nodes)}
        titles = {"versions": "what runs is the profile's version"}
    else:
        from avadm.checks.collect import collect
        from avadm.checks.preflight import judge

        facts = {fact for c in checks for fact in c.facts} if wanted else None
        context = collect(site_file.site, site_file.profile, nodes, fleet, facts)
        found = judge(context, checks)
        if "reachability" not in found and context.unreachable:
            found |= judge(context, _choose(CHECKS, ("reachability",)))
        titles = {c.id: c.title for c in CHECKS}
    seconds = time.monotonic() - begun
    everything = [f for findings in found.values() for f in findings]
    if as_json:
        print_json(_data(site_file.site.name, [n.name for n in nodes], found, titles, seconds))
    else:
        _print(found, titles, len(nodes), seconds)
    return EXIT_FOUND_BAD if errors(everything) else EXIT_GOOD


def _choose(checks: tuple[Check, ...], wanted: Sequence[str]) -> tuple[Check, ...]:
    """Return the checks named, all where none is; AvadmError for an unknown one."""
    known = {c.id for c in checks}
    if unknown := [w for w in wanted if w not in known]:
        raise AvadmError(
            Finding(
                "unknown-check",
                "There is no such check.",
                "--check",
                ", ".join(unknown),
                ", ".join(c.id for c in checks),
            )
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
        console.print(table)
    return EXIT_GOOD


def _data(
    site: str, nodes: list[str], found: dict[str, list[Finding]], titles: dict[str, str], seconds: float
) -> dict[str, object]:
    """Return the result as JSON-ready data."""
    from avadm.checks.base import worst

    return {
        "site": site,
        "nodes": nodes,
        "seconds": round(seconds, 2),
        "checks": [
            {
                "id": name,
                "title": titles[name],
                "result": worst(findings),
                "findings": [f.as_dict() for f in findings],
            }
            for name, findings in found.items()
        ],
    }


def _print(found: dict[str, list[Finding]], titles: dict[str, str], nodes: int, seconds: float) -> None:
    """Print the table of checks, then what was found, the same thing on several nodes once."""
    from avadm.checks.base import worst
    from avadm.cli.nodes import compact

    marks = {
        "ok": "[green]✓ ok[/green]",
        "warning": "[yellow]! warning[/yellow]",
        "error": "[red]✗ error[/red]",
    }
    table = Table("check", "what it makes sure of", "result", "nodes concerned")
    for name, findings in found.items():
        table.add_row(name, titles[name], marks[worst(findings)], compact(f.host for f in findings if f.host))
    console.print(table)
    groups: dict[Finding, list[str]] = defaultdict(list)
    for f in (f for findings in found.values() for f in findings):
        # Where only what was found differs (disk names, offsets), nodes stay apart: the figures matter.
        key = Finding(f.check, f.what, f.where, f.found, f.wanted, f.remedy, f.severity)
        groups[key] += [f.host] if f.host else []
    print_findings(
        [
            Finding(f.check, f.what, f.where, f.found, f.wanted, f.remedy, f.severity, compact(hosts) or None)
            for f, hosts in groups.items()
        ]
    )
    bad = len(errors(list(groups)))
    console.print(
        f"{nodes} nodes, {len(found)} checks, {seconds:.1f} s: "
        + (f"{bad} errors to mend first." if bad else "nothing stands in the way.")
    )
