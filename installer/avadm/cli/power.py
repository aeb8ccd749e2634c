"""`avadm power`: stop the whole site in order, and start it again."""

from __future__ import annotations

from typing import Any

import click

from avadm.cli.main import App, pass_app
from avadm.cli.operation import operate, operation_options
from avadm.cli.times import DURATION, in_units


@click.group()
def power() -> None:
    """Stop the whole site, and start it again."""


@power.command()
@click.option(
    "--notice",
    type=DURATION,
    default="30m",
    show_default=True,
    metavar="DURATION",
    help="How long before they are stopped the owners of AVA's runs are notified.",
)
@click.option(
    "--stop-runs", is_flag=True, help="Stop AVA's runs when the notice is over; else runs refuse it."
)
@click.option("--poweroff", is_flag=True, help="Switch the nodes off in the end, but for that of avadm.")
@click.option(
    "--timeout",
    type=click.IntRange(1),
    default=600,
    show_default=True,
    metavar="SECONDS",
    help="Limit, once the notice is over, without a run that leaves.",
)
@click.option(
    "--as", "whom", metavar="NAME", help="AVA's administrator in whose name; needed where there are several."
)
@operation_options
@pass_app
def down(
    app: App,
    /,
    notice: int,
    stop_runs: bool,
    poweroff: bool,
    timeout: int,
    whom: str | None,
    **options: Any,
) -> int:
    """Stop the whole site: runs, AVA, pods, clients, ceph, etcd. The machines stay on without --poweroff.

    Owners of runs are notified first. Of ceph only `noout` is set. Once the first daemon is stopped, a failure undoes nothing:
    the same command continues, `avadm power up` goes back.
    """
    from avadm.kube.node_runs import LONGEST_NOTICE_S
    from avadm.operations.power_down import Down
    from avadm.operations.power_down import down as plan

    if notice > LONGEST_NOTICE_S:
        raise click.BadParameter("expected 7d at most.", param_hint="--notice")
    asked = Down(
        notice, in_units(notice), stop_runs, poweroff, frozenset(options["accepted"]), float(timeout), whom
    )
    ended = "The site is down; `avadm power up` starts it."
    return operate(app, plan(asked), done=ended, **options)


@power.command()
@operation_options
@pass_app
def up(app: App, /, **options: Any) -> int:
    """Start the whole site, and wait until each part serves. Switch the machines on first.

    Works whether the nodes were only stopped or switched off, and after a loss of power. Lets pods come again where `down` had
    cordoned, then unsets `noout` and ends the silence.
    """
    from avadm.operations.power_up import up as plan

    return operate(app, plan(frozenset(options["accepted"])), done="The site serves.", **options)
