"""`avadm cache`: which nodes are the masters of the cache."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from avadm.cli.main import App, pass_app
from avadm.cli.operation import operate, operation_options

if TYPE_CHECKING:
    from avadm.cluster.connection import Cluster
    from avadm.operations.model import Operation


@click.group()
def cache() -> None:
    """Change which nodes are the masters of the cache."""


@cache.command()
@click.argument("nodes", metavar="NODE...", nargs=-1, required=True)
@operation_options
@pass_app
def masters(app: App, /, nodes: tuple[str, ...], accepted: tuple[str, ...], **options: Any) -> int:
    """Make these nodes, one or three, the masters of the cache, in place of those that it has.

    The journal is backed up and checked, the masters stop, and the new ones start from the backup. Mounts and cached data
    stay; users see a pause. The former journals are kept. Clients whose mount is in use are named. The same command continues.
    """
    from avadm.operations import cache_masters

    def build(cluster: Cluster) -> Operation:
        return cache_masters.build(cluster, nodes, accepted)

    return operate(
        app, build, accepted=accepted, done=f"Masters of the cache: {', '.join(nodes)}.", **options
    )
