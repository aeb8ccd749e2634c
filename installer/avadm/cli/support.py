"""`avadm support`: what somebody who helps needs, without what no one may have."""

from __future__ import annotations

from contextlib import nullcontext
from datetime import UTC, datetime
from pathlib import Path

import click
from rich.text import Text

from avadm.cli.main import App, pass_app
from avadm.cli.output import console, print_json, stderr
from avadm.cli.times import INSTANT


@click.group()
def support() -> None:
    """Collect a redacted bundle for somebody who helps."""


@support.command()
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="The bundle [default: support-SITE-TIME.tar.gz here].",
)
@click.option(
    "--since",
    type=INSTANT,
    default="1h",
    show_default=True,
    help="Take logs from then on: 15m (ago), 2h, 3d, or a time, UTC.",
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@pass_app
def collect(app: App, output: Path | None, since: float, as_json: bool) -> None:
    """Collect logs, states and configurations of all nodes into one file, secrets taken out; nothing is changed.

    The file holds host names, addresses and names of users: give it only to whom you would tell them. `avadm doctor
    FILE` judges it anywhere; manifest.json in it says what was masked and what was left out.
    """
    from avadm.doctor.support import make

    site_file = app.site_file()
    stamp = f"{datetime.now(UTC):%Y%m%dT%H%M%SZ}"
    path = output or Path(f"support-{site_file.site.name}-{stamp}.tar.gz")
    begun = f"{datetime.fromtimestamp(since, UTC):%Y-%m-%d %H:%M:%S} UTC"  # as journalctl reads it
    shown = stderr.status("asking the nodes") if stderr.is_terminal and not as_json else nullcontext()
    with shown as status:
        snapshot = make(
            site_file, app.fleet(), path, begun, lambda words: status.update(words) if status else None
        )
    silent = sorted(name for name, facts in snapshot.nodes.items() if facts.silent)
    if as_json:
        print_json({"bundle": str(path.absolute()), "bytes": path.stat().st_size, "silent": silent})
        return
    console.print(Text(f"{path}  {path.stat().st_size / 2**20:.1f} MiB, for its owner alone"))
    if silent:
        console.print(Text(f"! without {', '.join(silent)}: not reached", style="yellow"))
    console.print(Text(f"Look through it before it leaves the site; `avadm doctor {path}` judges it."))
