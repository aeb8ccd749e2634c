"""The parts of a site beside its storage, for a first site file: their roles on nodes, their addresses, and GPUs."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from ipaddress import IPv4Address, IPv4Network

from avadm.site.draft_file import Addresses, NewNode, invalid

PARTS = ("kubernetes", "ava", "objects", "logs", "cache")
IMPLIED = {"ava": ("kubernetes", "logs")}
"""The platform reads its runs' logs from the log stores and nowhere else."""
LEAST_NODES = 3
"""Nodes without GPUs that any part needs: storage keeps its copies on them, and two of them run what must not be alone."""
MASTERS_FROM = 4
"""So many nodes that neither store nor have GPUs leave a worker beside three masters."""
GATEWAY_ADDRESSES = 4
"""Highest addresses of a subnet that are left out: gateways are often there."""
BALANCED = 6
"""Addresses of Services of the type LoadBalancer."""
_bad = partial(invalid, check="site-parts")
_GPU = re.compile(
    r"(?P<name>[^=:,\s]+)=(?P<count>[0-9]{1,2}):(?P<model>[A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?)"
)


def parse_parts(texts: Iterable[str]) -> tuple[str, ...]:
    """Return the parts that ``--with`` names, and what they imply, each once; AvadmError for an unknown one."""
    wanted = [word.strip() for text in texts for word in text.split(",") if word.strip()]
    for word in wanted:
        if word not in PARTS:
            raise _bad("Unknown part of a site.", "--with", word, f"some of {', '.join(PARTS)}")
    known = {*wanted, *(part for word in wanted for part in IMPLIED.get(word, ()))}
    return tuple(part for part in PARTS if part in known)


def parse_gpus(texts: Iterable[str]) -> dict[str, tuple[int, str]]:
    """Return node name to number and model of its GPUs, of ``NAME=COUNT:MODEL``."""
    found: dict[str, tuple[int, str]] = {}
    for text in (word.strip() for whole in texts for word in whole.split(",")):
        match = _GPU.fullmatch(text)
        if match is None or not 1 <= int(match["count"]) <= 16:
            raise _bad(
                "Invalid GPUs of a node.", "--gpu", text, "NAME=COUNT:MODEL, such as gpu1=8:tesla-v100"
            )
        if match["name"] in found:
            raise _bad(f"The GPUs of {match['name']} are there twice.", "--gpu", text, "each node once")
        found[match["name"]] = (int(match["count"]), match["model"])
    return found


def with_gpus(
    nodes: Sequence[NewNode], gpus: Mapping[str, tuple[int, str]], parts: Sequence[str]
) -> list[NewNode]:
    """Return the nodes with their GPUs; AvadmError for a name that no node has, and where nothing would use them."""
    known = {n.name: n for n in nodes}
    for name, (count, model) in gpus.items():
        if name not in known:
            names = ", ".join([*known][:8]) + (", …" if len(known) > 8 else "")
            raise _bad("No node has this name.", "--gpu", name, f"one of {names}")
        if "kubernetes" not in parts and "gpu" not in known[name].roles:
            raise _bad(
                "GPUs are used by Kubernetes.", "--gpu", f"{name}={count}:{model}", "--with kubernetes too"
            )
    return [replace(n, gpus=gpus.get(n.name)) for n in nodes]


def place(nodes: Sequence[NewNode], parts: Sequence[str]) -> list[NewNode]:
    """Return the nodes with the roles of storage, monitoring and these parts.

    Nodes with GPUs compute and do nothing else. Of the others the first store: up to four all of them, of more a quarter, at
    least three. Three masters are on nodes of their own where four and more do not store, else one is on the first that
    stores. The rest runs pods; what is in the way of each other, by port or virtual address, is on different nodes.
    """
    if given := [n.name for n in nodes if n.roles]:
        raise _bad(
            "Roles are proposed or given, not both.",
            "--with",
            f"roles of {given[0]} in --node",
            "--node NAME=ADDRESS",
        )
    plain = [n.name for n in nodes if not n.gpus]
    if len(plain) < LEAST_NODES:
        raise _bad(
            "There are too few nodes without GPUs.", "--with", str(len(plain)), f"at least {LEAST_NODES}"
        )
    storage = plain[: len(plain) if len(plain) <= 4 else max(3, len(plain) // 4)]
    others = plain[len(storage) :]
    kubernetes = "kubernetes" in parts
    masters = others[:3] if len(others) >= MASTERS_FROM else storage[:1]
    masters = masters if kubernetes else []
    # What neither stores nor is a master comes first; where there is little of it, nodes that store do it too.
    free = [*others, *storage] if len(others) - len(masters) < 2 else others
    free = [name for name in free if name not in masters]
    ingress = free[:2] if kubernetes else []
    gateways = [name for name in storage if name not in (*masters, *ingress)][:2] or storage[-1:]
    quorum = storage[: 5 if len(plain) >= 64 and len(storage) >= 5 else 3]
    computing = [*free, *(n.name for n in nodes if n.gpus)]
    three = free[:3] if len(free) >= 3 else free[:1]
    roles: dict[str, list[str]] = {n.name: [] for n in nodes}
    for wanted, names, chosen in (
        (True, ("mon", "mgr"), quorum),
        (True, ("osd",), storage),
        (True, ("mds",), free[:3]),
        (True, ("client",), computing),
        (True, ("prometheus", "alertmanager"), free[-3:] if len(free) > 3 else free[:3]),
        (kubernetes, ("etcd", "master"), masters),
        (kubernetes, ("worker",), computing),
        (kubernetes, ("dns",), three),
        (kubernetes, ("ingress",), ingress),
        (kubernetes, ("registry",), free[2:3] or free[:1]),
        (kubernetes, ("gpu",), [n.name for n in nodes if n.gpus]),
        ("ava" in parts, ("database",), free[-2:]),
        ("objects" in parts, ("rgw",), gateways),
        ("cache" in parts, ("alluxio_master",), three),
        ("cache" in parts, ("alluxio_worker",), computing),
        ("cache" in parts and not kubernetes, ("alluxio_client",), computing),
    ):
        for name in dict.fromkeys(chosen if wanted else ()):
            roles[name] += names
    return [replace(n, roles=tuple(roles[n.name])) for n in nodes]


def log_stores(nodes: Sequence[NewNode]) -> list[str]:
    """Return the two nodes that keep the logs: none with GPUs, and no masters where that can be."""
    plain = [n for n in nodes if not n.gpus]
    return [n.name for n in sorted(plain, key=lambda n: "master" in n.roles)[:2]]


def addresses(nodes: Sequence[NewNode], subnet: IPv4Network, parts: Sequence[str]) -> Addresses:
    """Return proposed virtual addresses: from the top of the subnet, none of a node's.

    Raises:
        AvadmError: the subnet has too few.
    """
    taken = {n.address for n in nodes}
    last = int(subnet.broadcast_address) - 1
    last -= GATEWAY_ADDRESSES if subnet.num_addresses >= 64 else 0
    free = iter(a for i in range(last, int(subnet.network_address), -1) if (a := IPv4Address(i)) not in taken)

    def one(role: str, least: int = 1) -> IPv4Address | None:
        if sum(role in n.roles for n in nodes) < least:
            return None
        if (found := next(free, None)) is None:
            raise _bad(
                "The management subnet has no free address for this.", "--management", role, "a larger subnet"
            )
        return found

    found = Addresses(
        ingress=one("ingress"), api=one("master"), database=one("database", 2), objects=one("rgw", 2)
    )
    if "kubernetes" in parts:
        run = sorted(a for _, a in zip(range(BALANCED), free, strict=False))
        if len(run) == BALANCED and int(run[-1]) - int(run[0]) == BALANCED - 1:
            found = replace(found, first=run[0], last=run[-1])
    return found
