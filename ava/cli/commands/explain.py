"""`ava explain`."""

from __future__ import annotations

import click

from ava.cli.app import App, as_json, run_argument
from ava.cli.output import print_json, say
from ava.cli.runs import resolve_run


@click.command()
@run_argument
@as_json
@click.pass_obj
def explain(app: App, run: str, json_: bool) -> None:
    """Explain why a run is waiting, does not start, or has ended, and what to do."""
    ava = app.client()
    found = ava.why(resolve_run(ava, run))
    if json_:
        print_json(found)
        return
    say(f"{found.run} is {found.state}." + (f" {found.reason}" if found.reason else ""))
    if found.position is not None:
        before = found.position
        say("It is next in its queue." if before == 0 else f"{before} runs are ahead of it in its queue.")
    for reason in found.reasons:
        say(f"- {reason.what}")
        if reason.found or reason.wanted:
            say(f"  {reason.where}: {reason.found or '?'}; expected: {reason.wanted or '?'}")
        if reason.remedy:
            say(f"  {reason.remedy}")
    if not found.reasons and found.state == "queued":
        say("- The scheduler has not considered it yet; this takes a few seconds.")
