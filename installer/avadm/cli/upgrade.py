"""`avadm upgrade`: bring components to the versions of another profile, one node after another; AVA to that of this avadm."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import click

from avadm.cli.main import App, pass_app
from avadm.cli.operation import operate, operation_options
from avadm.cli.options import drain_options, drain_timeout, drained, given_drain_options
from avadm.errors import AvadmError


@click.command()
@click.argument("components", metavar="[COMPONENT]...", nargs=-1)
@click.option("--to", metavar="PROFILE", help="Profile: its name, or the path of a file. Not for ava.")
@drain_options
@drain_timeout(1800)
@operation_options
@pass_app
def upgrade(
    app: App,
    /,
    components: tuple[str, ...],
    to: str | None,
    notice: int,
    stop_runs: bool,
    administrator: str | None,
    timeout: int,
    **options: Any,
) -> int:
    """Bring components to the versions of another profile, one node after another.

    COMPONENT is alertmanager, ceph, docker, etcd, haproxy, kubernetes, postgresql or prometheus; without one, all in which the
    profiles differ. After each node the component must be well and run the new version; nodes of Kubernetes are drained where
    pods would be stopped. Where the plan does not say "no rollback", a node that fails gets its former version back. The same
    command continues an upgrade that was stopped.

    `avadm upgrade ava`, without --to, brings AVA to the version of this avadm: its database is dumped and migrated, then its
    processes are replaced. Pods of users are left alone.
    """
    from avadm.operations import upgrade_ava
    from avadm.operations.upgrade import DRAINED, build

    if upgrade_ava.NAME in components:
        if set(components) != {upgrade_ava.NAME} or to is not None:
            found = " ".join([*components, *(["--to", to] if to is not None else [])])
            raise AvadmError.of("upgrade-alone", where="COMPONENT", found=found, wanted=upgrade_ava.NAME)
        _refuse_drain_options(components)
        return operate(app, upgrade_ava.build(options["accepted"]), done="Upgraded.", **options)
    if to is None:
        raise click.MissingParameter(param_hint="'--to'", param_type="option")
    if components and not DRAINED & set(components):
        _refuse_drain_options(components)
    drain = drained(notice, stop_runs, administrator, timeout)
    planned = build(components, to, accepted=options["accepted"], drain=drain)
    return operate(app, planned, done="Upgraded.", **options)


def _refuse_drain_options(components: Sequence[str]) -> None:
    """Refuse the options of a drain that the command line names, for components whose upgrade drains no node.

    Raises:
        click.UsageError: it names some.
    """
    if given := given_drain_options():
        names = ", ".join(dict.fromkeys(components))
        raise click.UsageError(
            f"Invalid {', '.join(given)}: the upgrade of {names} drains no node. Leave {'it' if len(given) == 1 else 'them'} out."
        )
