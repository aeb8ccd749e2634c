"""`ava audit`."""

from __future__ import annotations

from itertools import islice

import click

from ava.cli.app import App, as_json
from ava.cli.output import print_json, table


@click.group()
def audit() -> None:
    """Read the audit log (admin only)."""


@audit.command("list")
@click.option("--who", metavar="USER")
@click.option("--object", "object_", metavar="TEXT", help="For example 'run r1…', 'group vision'.")
@click.option("--action", metavar="TEXT", help="For example 'runs.stop', 'sessions.open'.")
@click.option("--limit", "-n", type=click.IntRange(1, 10_000), default=50, show_default=True)
@as_json
@click.pass_obj
def list_(
    app: App, who: str | None, object_: str | None, action: str | None, limit: int, json_: bool
) -> None:
    """List changes and refused logins, newest first."""
    found = list(islice(app.client().audit(who=who, object=object_, action=action, most=limit), limit))
    if json_:
        print_json(found)
        return
    rows = [(f"{a.time:%Y-%m-%d %H:%M:%S}", a.who, a.action, a.object, a.outcome, a.address) for a in found]
    table(("TIME (UTC)", "WHO", "ACTION", "OBJECT", "OUTCOME", "ADDRESS"), rows)
