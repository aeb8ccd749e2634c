"""Rules over the compute cluster: its roles go together, its virtual addresses are free, its GPUs are described."""

from __future__ import annotations

from collections.abc import Iterator
from ipaddress import IPv4Address

from avadm.components.objects.object_pools import etcd_copies
from avadm.findings import Finding
from avadm.quantity import quantity
from avadm.site.draft import Draft
from avadm.site.placement import registry_name
from avadm.site.rules.roles import NODES, absent, even
from avadm.site.source import KeyPath

KUBERNETES_ROLES = ("etcd", "master", "worker", "gpu", "dns", "ingress", "registry")
QUORUM = "1, 3 or 5"
RANGE = 256
"""Most addresses of Services: one node holds them all, and takes them one by one when another dies."""


def complete(draft: Draft) -> Iterator[Finding]:
    """Where any node has a role of Kubernetes, there are etcd, masters and workers."""
    if not draft.whole("roles") or not draft.has(*KUBERNETES_ROLES):
        return
    needs = {
        "etcd": "keeps the state of Kubernetes",
        "master": "serves its API",
        "worker": "runs its pods",
    }
    numbers = {"etcd": QUORUM, "master": QUORUM}
    yield from absent(draft, needs, numbers, ", or no node a role of Kubernetes")


def quorums(draft: Draft) -> Iterator[Finding]:
    """Numbers of etcd members and masters are odd but on the way to another one, and one is not enough to lose any."""
    if not draft.whole("roles"):
        return
    for role in ("etcd", "master"):
        nodes = draft.site.with_role(role)
        names = f"{len(nodes)}: {', '.join(n.name for n in nodes)}"
        if nodes and len(nodes) % 2 == 0:
            yield draft.finding(f"quorum-even-{role}", NODES, names, f"{QUORUM} {role}", severity=even(nodes))
        elif len(nodes) == 1:
            yield draft.finding(f"quorum-single-{role}", NODES, names, f"3 or 5 {role}")
        elif len(nodes) > 7:
            yield draft.finding("quorum-large", NODES, len(nodes), f"3 or 5 {role}")


def copies(draft: Draft) -> Iterator[Finding]:
    """Snapshots of the one member of etcd lie on another node too."""
    if not draft.whole("roles") or not draft.ok("components", "object_store"):
        return
    members = draft.site.with_role("etcd")
    if len(members) == 1 and not etcd_copies(draft.site):
        yield draft.finding(
            "etcd-copies",
            NODES,
            f"1 etcd: {members[0].name}, and no object store into which they are copied",
            "3 or 5 etcd, or components.object_store with rgw nodes or with external.etcd_copies",
        )


def together(draft: Draft) -> Iterator[Finding]:
    """GPU nodes are workers; what runs as pods is where kubelet is."""
    either = ("master", "worker")
    homes = {"gpu": ("worker",), "dns": either, "ingress": ("worker",), "registry": either}
    for i, node in draft.nodes("roles"):
        for role, needed in homes.items():
            if role in node.roles and not set(needed) & set(node.roles):
                yield draft.finding(
                    "role-alone",
                    ("nodes", i, "roles"),
                    ", ".join(node.roles),
                    f"{role} and {' or '.join(needed)}",
                    host=node.name,
                    name=node.name,
                    role=role,
                    names=" or ".join(needed),
                    value=needed[-1],
                )
        if {"ingress", "master"} <= set(node.roles) and draft.site.network.api_vip is not None:
            yield draft.finding(
                "roles-apart",
                ("nodes", i, "roles"),
                ", ".join(node.roles),
                "ingress or master",
                host=node.name,
                name=node.name,
            )


def gpus(draft: Draft) -> Iterator[Finding]:
    """GPU nodes say which GPUs they have, and no one else does."""
    for i, node in draft.nodes("roles", "gpus"):
        if "gpu" in node.roles and node.gpus is None:
            yield draft.finding(
                "gpus-missing",
                ("nodes", i),
                "nothing",
                "gpus: {count: 8, model: tesla-v100}",
                host=node.name,
                name=node.name,
            )
        elif node.gpus is not None and "gpu" not in node.roles:
            yield draft.finding(
                "gpus-unused",
                ("nodes", i, "gpus"),
                ", ".join(node.roles) or "no role",
                "the role gpu",
                host=node.name,
                name=node.name,
            )
    workers = draft.site.with_role("worker")
    if draft.site.components.kubernetes.gpu_taint and workers and all("gpu" in n.roles for n in workers):
        yield draft.finding(
            "gpu-taint-everywhere",
            ("components", "kubernetes", "gpu_taint"),
            "each worker has the role gpu",
            "a worker without it",
        )


def virtual_addresses(draft: Draft) -> Iterator[Finding]:
    """A virtual address is there where it is needed, lies in the management subnet and is no one's."""
    net = draft.site.network
    others = taken(draft)
    holders = {"api_vip": ("master", net.api_vip), "ingress_vip": ("ingress", net.ingress_vip)}
    for key, (role, vip) in holders.items():
        path: KeyPath = ("network", key)
        if not draft.ok(*path) or not draft.whole("roles"):
            continue
        if vip is None:
            if draft.has(role):
                yield draft.finding(
                    "vip-missing",
                    ("network",),
                    f"no {key}",
                    f"{key}: a free address of {net.management}",
                    role=role,
                    key=key,
                )
            continue
        if not draft.has(role):
            yield draft.finding("vip-unused", path, vip, f"at least 1 {role}", role=role, key=key)
        yield from free(draft, path, vip, others)
        others.setdefault(vip, f"network.{key}, {draft.where(path)}")


def taken(draft: Draft) -> dict[IPv4Address, str]:
    """Return the nodes' addresses, with whose each is and where it is written."""
    found: dict[IPv4Address, str] = {}
    for i, node in draft.nodes("address", "storage_address"):
        for key, address in (("address", node.address), ("storage_address", node.storage_address)):
            if address is not None:
                found.setdefault(address, f"{node.name}, {draft.where(('nodes', i, key))}")
    return found


def load_balancer(draft: Draft) -> Iterator[Finding]:
    """The range of Services' addresses is one, is in the subnet, is no one's, and somebody announces it."""
    path: KeyPath = ("network", "load_balancer")
    pool, net = draft.site.network.load_balancer, draft.site.network
    if pool is None or not draft.ok(*path):
        return
    size = int(pool.last) - int(pool.first) + 1
    if not 1 <= size <= RANGE:
        yield draft.finding(
            "load-balancer-range" if size < 1 else "load-balancer-range-large",
            path,
            f"{pool.first} to {pool.last}",
            f"first up to last, at most {quantity(RANGE, 'address', 'addresses')}",
        )
        return
    for key, address in (("first", pool.first), ("last", pool.last)):
        yield from free(draft, (*path, key), address, {})
    others = taken(draft)
    for name, vip in (("api_vip", net.api_vip), ("ingress_vip", net.ingress_vip)):
        if vip is not None and draft.ok("network", name):
            others.setdefault(vip, f"network.{name}, {draft.where(('network', name))}")
    for address in pool.addresses():
        if address in others:
            yield draft.finding(
                "load-balancer-taken", path, f"{address}: {others[address]}", "unused addresses"
            )
    if pool.by == "avadm" and draft.whole("roles") and not draft.has("ingress"):
        yield draft.finding(
            "load-balancer-nobody", path, "0 ingress", "at least 1 ingress, better 2, or by: metallb"
        )


def free(draft: Draft, path: KeyPath, vip: IPv4Address, others: dict[IPv4Address, str]) -> Iterator[Finding]:
    """A virtual address is one of the management subnet that none of `others` has."""
    subnet = draft.site.network.management
    if draft.ok("network", "management") and (
        vip not in subnet or vip in (subnet.network_address, subnet.broadcast_address)
    ):
        yield draft.finding(
            "vip-outside", path, vip, f"{subnet.network_address + 1} to {subnet.broadcast_address - 1}"
        )
    elif vip in others:
        yield draft.finding("vip-taken", path, f"{vip}: {others[vip]}", "an unused address")


def registry(draft: Draft) -> Iterator[Finding]:
    """A registry on the shared file system is where that is mounted."""
    knobs = draft.site.components.kubernetes
    if not draft.ok("components", "kubernetes") or knobs.registry_storage != "cephfs":
        return
    path: KeyPath = ("components", "kubernetes", "registry_storage")
    if draft.ok("components", "ceph") and draft.site.components.ceph.filesystem is None:
        yield draft.finding(
            "registry-storage", path, "filesystem: null", "components.ceph.filesystem, or disk"
        )
    for i, node in draft.nodes("roles"):
        if "registry" in node.roles and "client" not in node.roles:
            yield draft.finding(
                "registry-storage-mount",
                ("nodes", i, "roles"),
                ", ".join(node.roles),
                "registry and client",
                host=node.name,
                name=node.name,
            )


def registries(draft: Draft) -> Iterator[Finding]:
    """Registries that others run are named once, and are not the site's own."""
    path: KeyPath = ("components", "kubernetes", "registries")
    if not draft.ok(*path):
        return
    named = draft.site.components.kubernetes.registries
    yield from draft.twice("registry-name", (((*path, i, "name"), r.name, None) for i, r in enumerate(named)))
    if not draft.whole("roles") or not draft.site.with_role("registry"):
        return
    for i, one in enumerate(named):
        if one.name.partition(":")[0] == registry_name(draft.site):
            yield draft.finding(
                "registry-name-own", (*path, i, "name"), one.name, "a registry that others run"
            )


RULES = [complete, quorums, copies, together, gpus, virtual_addresses, load_balancer, registry, registries]
