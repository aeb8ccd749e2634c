"""`avadm node add`, `node remove` and `node replace`: a node joins a running site, leaves it, or another takes its place."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from avadm.cli.main import App, pass_app
from avadm.cli.operation import operate, operation_options
from avadm.cli.options import drain_options, drain_timeout, drained, existing_key, password_file

if TYPE_CHECKING:
    from avadm.cluster.connection import Cluster
    from avadm.operations.model import Operation
    from avadm.site.load import SiteFile


F = TypeVar("F", bound=Callable[..., Any])


def disk_options(function: F) -> F:
    """Add --serial and --device-class: the disks of a new node, and their class."""
    serials = click.option(
        "--serial",
        "serials",
        multiple=True,
        metavar="DISK",
        help="A disk for an OSD, by serial number, WWN or by-id path; repeatable.",
    )
    device_class = click.option(
        "--device-class",
        type=click.Choice(["ssd", "hdd", "nvme"]),
        help="CRUSH device class of these disks, where the kernel is wrong.",
    )
    return serials(device_class(function))


@click.command()
@click.argument("name")
@click.option("--role", default="", metavar="R", help="Take only this role from the node, which stays.")
@click.option(
    "--dead", is_flag=True, help="The node does not answer and never will: nothing on it is touched."
)
@drain_options
@drain_timeout(1800)
@operation_options
@pass_app
def remove(
    app: App,
    /,
    name: str,
    role: str,
    dead: bool,
    notice: int,
    stop_runs: bool,
    administrator: str | None,
    timeout: int,
    accepted: tuple[str, ...],
    **options: Any,
) -> int:
    """Remove a node from the site, or one role from a node.

    AVA's runs leave it as by `node drain`, its other pods move elsewhere, its OSDs are emptied and purged when ceph calls
    that safe, and nothing of it is left: daemons, keys, certificates, the node in Kubernetes and Calico, its entry in the
    site file. Then the other nodes are brought up to date. Its disks are not written. The same command continues.
    """
    from avadm.operations import node_remove

    drain = drained(notice, stop_runs, administrator, timeout)

    def build(cluster: Cluster) -> Operation:
        return node_remove.build(cluster, name, role, dead, accepted, options=drain)

    what = f"The role {role} of {name}" if role else name
    return operate(app, build, accepted=accepted, done=f"{what} is removed.", **options)


@click.command()
@click.argument("name")
@click.option("--address", required=True, help="Its address on the management network.")
@click.option(
    "--role", "--roles", "roles", multiple=True, required=True, metavar="R", help="A role; repeatable."
)
@click.option("--rack", help="Its rack; needed where the site has several.")
@click.option("--storage-address", help="Its address on the storage network, where there is one.")
@disk_options
@click.option("--gpus", type=click.IntRange(1, 16), help="How many GPUs it has.")
@click.option("--gpu-model", metavar="MODEL", help="Their model, e.g. tesla-v100.")
@click.option(
    "--local-volumes-gib", type=click.IntRange(1), metavar="GIB", help="What local volumes may take there."
)
@click.option(
    "--host-key", metavar="KEY", help='Its public ssh host key, "TYPE BASE64", pinned without asking.'
)
@click.option("--accept-host-keys", is_flag=True, help="Pin its host key without asking.")
@password_file
@existing_key
@operation_options
@pass_app
def add(
    app: App,
    /,
    name: str,
    address: str,
    roles: tuple[str, ...],
    rack: str | None,
    storage_address: str | None,
    serials: tuple[str, ...],
    device_class: str | None,
    gpus: int | None,
    gpu_model: str | None,
    local_volumes_gib: int | None,
    host_key: str | None,
    accept_host_keys: bool,
    password_file: Path | None,
    existing: tuple[Path, ...],
    accepted: tuple[str, ...],
    **options: Any,
) -> int:
    """Add a node to the site: bootstrap, its disks proven blank, preflight, the site file, apply.

    The site file is written only when the node is fit. Then the node is installed, and what others keep about it
    (hosts files, packet filters, scrape targets) is brought up to date. The same command continues.
    """
    from avadm.cli.bootstrap import bootstrap_task
    from avadm.operations import node_add

    entry: dict[str, Any] = {"name": name, "address": address}
    entry |= {"storage_address": storage_address} if storage_address else {}
    entry |= {"rack": rack} if rack else {}
    entry["roles"] = list(roles)
    entry |= {"host_key": host_key} if host_key else {}
    entry |= {"gpus": {"count": gpus, "model": gpu_model or ""}} if gpus else {}
    entry |= {"local_volumes_gib": local_volumes_gib} if local_volumes_gib else {}

    def let_in(site_file: SiteFile) -> None:
        node_add.bootstrap(
            bootstrap_task(
                site_file,
                [site_file.site.node(name)],
                accept_host_keys=accept_host_keys,
                password_file=password_file,
                existing=existing,
            )
        )

    def build(cluster: Cluster) -> Operation:
        return node_add.build(cluster, entry, serials, device_class, let_in)

    return operate(app, build, accepted=accepted, done=f"{name} is added.", **options)


@click.command()
@click.argument("name")
@click.option(
    "--name", "new", default="", metavar="NEW", help="The new node's name [default: the same, reinstalled]."
)
@click.option("--address", default="", help="The new node's address on the management network.")
@click.option("--storage-address", default="", help="Its address on the storage network, where there is one.")
@disk_options
@click.option("--dead", is_flag=True, help="The former node does not answer and never will.")
@click.option(
    "--host-key",
    default="",
    metavar="KEY",
    help='The new public ssh host key, "TYPE BASE64", pinned without asking.',
)
@click.option("--accept-host-keys", is_flag=True, help="Pin the new host key without asking.")
@password_file
@existing_key
@operation_options
@pass_app
def replace(
    app: App,
    /,
    name: str,
    new: str,
    address: str,
    storage_address: str,
    serials: tuple[str, ...],
    device_class: str | None,
    dead: bool,
    host_key: str,
    accept_host_keys: bool,
    password_file: Path | None,
    existing: tuple[Path, ...],
    accepted: tuple[str, ...],
    **options: Any,
) -> int:
    """Replace a node by another one, or by the same one reinstalled.

    With --name NEW --address A the new node gets all roles of the former one, which is then removed. Without --name the
    machine was reinstalled: it keeps its place in ceph, its monitor and its member of etcd are new ones. The same
    command continues.
    """
    from avadm.cli.bootstrap import bootstrap_task
    from avadm.operations import node_add, node_replace

    if new not in ("", name) and not address:
        raise click.UsageError("--name NEW needs --address A.")
    wanted = node_replace.Replacement(
        name, new, address, storage_address, serials, device_class, host_key, dead
    )

    def let_in(site_file: SiteFile) -> None:
        node_add.bootstrap(
            bootstrap_task(
                site_file,
                [site_file.site.node(new or name)],
                accept_host_keys=accept_host_keys,
                password_file=password_file,
                existing=existing,
            )
        )

    def build(cluster: Cluster) -> Operation:
        return node_replace.build(cluster, wanted, let_in, accepted)

    done = f"{name} is replaced" + (f" by {new}." if not wanted.same else ".")
    return operate(app, build, accepted=accepted, done=done, **options)
