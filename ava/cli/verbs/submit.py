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
@click.option("--name", metavar="NAME", help="Of the definition, in place of the file's.")
@click.option("--key", metavar="KEY", help="Two calls with one key make one run.")
@click.option(
    "--dry-run", "check", cls=Renamed, former=["--check"], is_flag=True, help="Check the file; start nothing."
)
@click.option("--define", is_flag=True, help="Only store the definition; nothing is started.")
@click.option("--wait", is_flag=True, help="Wait for the end; exit status 1 where it has not succeeded.")
@click.option("--follow", "follow", is_flag=True, help="Print the log as it comes; then as with --wait.")
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
    """Start what a file describes. All that is wrong with it is told at once, each with its line."""
    found = specfile.load(file, name)
    if check:
        note(f"{file} is good.")
        return 0
    ava = app.client()
    try:
        if define:
            stored = ava.define(found.name, found.spec, replace=True)
            print_json(stored) if json_ else note(f"{stored.name} is stored as {stored.id}.")
            return 0
        made = ava.start(found.name, found.spec, key=key)
    except ApiError as refused:
        raise found.placed(refused) from refused
    return report_started(ava, made, wait=wait, follow_=follow, json=json_)
