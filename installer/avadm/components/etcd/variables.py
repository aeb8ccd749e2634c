"""Variables of the role etcd."""

from __future__ import annotations

from collections.abc import Sequence

from avadm.components.objects.object_pools import etcd_copies
from avadm.inventory.model import RenderContext, Variables
from avadm.pki.certs import key_pem
from avadm.pki.model import Authority, key_variable
from avadm.pki.store import KeyStore
from avadm.site.model import Node

CLIENT_PORT = 2379
PEER_PORT = 2380


def client_urls(members: Sequence[Node]) -> list[str]:
    """Return where members serve clients."""
    return [f"https://{n.address}:{CLIENT_PORT}" for n in members]


def render(given: RenderContext, out: Variables) -> None:
    """Write the variables of etcd's members; nothing where the site has none."""
    site, profile, store = given.site, given.profile, given.store
    members = site.with_role("etcd")
    if not members:
        return
    knobs = site.components.kubernetes.etcd
    # render/objects.py says where copies of snapshots go.
    client = profile.packages.get("objects_client", []) if etcd_copies(site) else []
    out.all |= {
        "etcd_packages": [*profile.packages.get("etcd", []), *client],
        "etcd_members": {n.name: f"https://{n.address}:{PEER_PORT}" for n in members},
        "etcd_token": f"avadm-{site.name}",
        "etcd_snapshot_minutes": knobs.snapshot_minutes,
        "etcd_snapshots_kept": knobs.snapshots_kept,
        "etcd_ca_certificate": store.trusted(Authority.ETCD),
        "etcd_peer_ca_certificate": store.trusted(Authority.ETCD_PEERS),
    }
    for node in members:
        out.host(node.name).update(_member(node, store))


def _member(node: Node, store: KeyStore) -> dict[str, str]:
    kinds = ("server", "peer", "client")
    return {
        "etcd_address": str(node.address),
        **{f"etcd_{kind}_certificate": store.leaf(f"etcd-{kind}-{node.name}") for kind in kinds},
        "etcd_key": key_pem(key_variable(f"etcd-{node.name}")),
    }
