"""`avadm upgrade`: bring components to the versions of another profile, one node after another."""

from __future__ import annotations

from typing import Any

import click

from avadm.cli.main import App, pass_app
from avadm.cli.operation import operate, operation_options


@click.command()
@click.argument("components", metavar="[COMPONENT]...", nargs=-1)
@click.option("--to", required=True, metavar="PROFILE", help="Profile: its name, or the path of a file.")
@operation_options
@pass_app
def upgrade(app: App, /, components: tuple[str, ...], to: str, **options: Any) -> int:
    """Bring components to the versions of another profile, one node after another.

    COMPONENT is alertmanager, ceph, docker, etcd, haproxy, kubernetes, postgresql or prometheus; without one, all in which the
    profiles differ. After each node the component must be well and run the new version; nodes of Kubernetes are drained where
    pods would be stopped. Where the plan does not say "no rollback", a node that fails gets its former version back. The same
    command continues an upgrade that was stopped.
    """
    from avadm.operations.upgrade import build

    return operate(app, build(components, to, accepted=options["accepted"]), done="Upgraded.", **options)
