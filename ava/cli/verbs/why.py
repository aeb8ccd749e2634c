"""`ava why`."""

from __future__ import annotations

import click

from ava.cli.app import App, as_json, run_argument
from ava.cli.output import print_json, say
from ava.cli.runs import resolve_run


@click.command()
@run_argument
@as_json
@click.pass_obj
def why(app: App, run: str, json_: bool) -> None:
    """Say why a run waits, does not start or has ended, and what can be done."""
    ava = app.client()
    found = ava.why(resolve_run(ava, run))
    if json_:
        print_json(found)
        return
    say(f"{found.run} is {found.state}." + (f" {found.reason}" if found.reason else ""))
    if found.position is not None:
        before = found.position
        say(
            "It is looked at next in its queue."
            if before == 0
            else f"{before} runs of its queue are looked at before it."
        )
    for reason in found.reasons:
        say(f"- {reason.what}")
        if reason.found or reason.wanted:
            say(f"  {reason.where}: {reason.found or '?'}; wanted: {reason.wanted or '?'}")
        if reason.remedy:
            say(f"  {reason.remedy}")
    if not found.reasons and found.state == "queued":
        say("- The scheduler has not looked at it yet; that takes some seconds.")
