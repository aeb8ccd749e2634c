"""`avadm disk replace`: another disk for an OSD, which keeps its id and its place."""

from __future__ import annotations

from typing import Any

import click

from avadm.cli.main import App, pass_app
from avadm.cli.operation import operate, operation_options


@click.command()
@click.argument("node")
@click.argument("target", metavar="osd.N|DISK")
@click.option(
    "--with",
    "new",
    metavar="DISK",
    help="The new disk: serial number, WWN, by-id path or kernel name [default: the only blank one].",
)
@click.option(
    "--old",
    metavar="DISK",
    help="The old disk, as the site file lists it: serial number or by-id path; where several are missing.",
)
@click.option("--drain", is_flag=True, help="Move the data of a working OSD to others first.")
@operation_options
@pass_app
def replace(
    app: App,
    /,
    node: str,
    target: str,
    new: str | None,
    old: str | None,
    drain: bool,
    **options: Any,
) -> int:
    """Give an OSD another disk; it keeps its id and its place.

    The old disk is never written. The new one must be proven blank and at least as
    large; it takes the old one's place in the site file. If it is bad, run the same command with another one. Without a
    new disk in the node, the command waits until one is inserted.
    """
    from avadm.operations.disk_replace import Wanted, build

    done = f"Replaced: {target} of {node} has its id and its place, and all its data."
    return operate(
        app, build(Wanted(node, target, new, drain, options["accepted"], old)), done=done, **options
    )
