"""The object store: gateways that speak S3, and their one address."""

from __future__ import annotations

from collections.abc import Iterator

from avadm.components.certificate_names import LOCAL, names
from avadm.components.model import (
    At,
    Ceph,
    Component,
    Daemon,
    Packages,
    Peer,
    Phase,
    Port,
    Probe,
    Stage,
    Virtual,
)
from avadm.components.objects import object_pools
from avadm.pki.model import Authority, Leaf
from avadm.site.model import Node, Site

GATEWAY, CLIENT = "objects-gateway", "objects-client"
"""Duties: the node runs a gateway of the site's own object store; programs of it use an object store."""
VIRTUAL = Virtual("rgw", ("components", "object_store", "vip"))


def _port(site: Site) -> int | None:
    store = site.components.object_store
    return store.port if store is not None and object_pools.gateways(site) else None


def _clients(site: Site) -> list[Node]:
    if not site.components.object_store:
        return []
    copies = object_pools.etcd_copies(site)
    return [n for n in site.nodes if "client" in n.roles or (copies and "etcd" in n.roles)]


def _gateway(node: Node, site: Site) -> Leaf:
    """Return the certificate of a node's S3 gateway: all of them serve the one name, and buckets as its subdomains."""
    store, name = site.components.object_store, object_pools.name(site)
    virtual = [str(store.vip)] if store and store.vip else []
    return Leaf(
        f"rgw-{node.name}",
        Authority.OBJECTS,
        f"rgw-{node.name}",
        name,
        names=(name, f"*.{name}", *names(node, site)),
        addresses=(*virtual, str(node.address), *LOCAL[1]),
        server=True,
        client=False,
    )


def leaves(site: Site) -> Iterator[Leaf]:
    """Yield the certificates of the gateways."""
    for node in object_pools.gateways(site):
        yield _gateway(node, site)


COMPONENT = Component(
    phase=Phase(
        "objects",
        "object store (S3)",
        "playbooks/objects.yml",
        ("ceph",),
        ("rgw", "mon", "client"),
        ("ceph_common", "ceph_rgw", "objects_vip", "objects_client"),
        ("vip",),
        component="object_store",
        apart=True,
    ),
    duties={GATEWAY: object_pools.gateways, CLIENT: _clients},
    packages={
        "rgw": Packages(base=("ceph_common", "ceph_rgw", "objects_vip")),
        CLIENT: Packages(base=("objects_client",)),
    },
    ports=(
        Port(
            number=_port,
            key=("components", "object_store", "port"),
            usual=7443,
            # The gateway at the node's own address, haproxy at the virtual one.
            program="radosgw or haproxy",
            what="S3",
            duty="rgw",
            at=At.BOTH,
            peers=(Peer.ALL,),
            tls=True,
            who="keys of S3",
            always=True,
        ),
    ),
    # A gateway is a client of ceph, and its socket is called so: client.rgw.NODE….
    ceph=Ceph(daemons=("rgw",), nodes=frozenset({"rgw"}), kinds=("ceph", "client.rgw", "rgw", "radosgw")),
    leaves=leaves,
    configurations=("/etc/haproxy/*.cfg", "/etc/keepalived/*.conf", "/etc/keepalived/conf.d/*"),
    questions=(Probe("objects", (GATEWAY,), seconds=50),),
    virtual=VIRTUAL,
    daemons=(
        Daemon(
            stage=Stage.JOBS,
            units=("avadm-objects-usage.timer",),
            duties=("rgw",),
            ends=("avadm-objects-usage.service",),
        ),
        Daemon(stage=Stage.GATEWAYS, units=("ceph-radosgw@*.service",), duties=("rgw",)),
    ),
)
