"""`ava submit -f FILE`."""

from __future__ import annotations

from pathlib import Path

import click

from ava.cli import specfile
from ava.cli.app import App, Renamed, as_json
from ava.cli.output import note, print_json
from ava.cli.runs import report_started
from ava.domain.problems import ApiError


@click.command()
@click.option(
    "--file",
    "-f",
    required=True,
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="YAML or JSON; - is standard input.",
)
@click.option("--name", metavar="NAME", help="Name of the definition, overriding the file.")
@click.option("--key", metavar="KEY", help="Idempotency key.")
@click.option(
    "--dry-run", "check", cls=Renamed, former=["--check"], is_flag=True, help="Check the file; start nothing."
)
@click.option("--define", is_flag=True, help="Save the definition without starting it.")
@click.option("--wait", is_flag=True, help="Wait until the run ends; exit status 1 if it did not succeed.")
@click.option("--follow", "follow", is_flag=True, help="Follow the log, then as --wait.")
@as_json
@click.pass_obj
def submit(
    app: App,
    file: Path,
    name: str | None,
    key: str | None,
    check: bool,
    define: bool,
    wait: bool,
    follow: bool,
    json_: bool,
) -> int:
    """Start a run from a file; all errors are reported at once, with line numbers."""
    found = specfile.load(file, name)
    if check:
        note(f"{file}: valid.")
        return 0
    ava = app.client()
    try:
        if define:
            stored = ava.define(found.name, found.spec, replace=True)
            print_json(stored) if json_ else note(f"Saved {stored.name} as {stored.id}.")
            return 0
        made = ava.start(found.name, found.spec, key=key)
    except ApiError as refused:
        raise found.placed(refused) from refused
    return report_started(ava, made, wait=wait, follow_=follow, json=json_)
