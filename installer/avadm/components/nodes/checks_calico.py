"""The network of pods: addresses (all used, leaked, or BGP down: distinguished), plug-ins, DNS."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from ipaddress import IPv4Address, IPv4Network
from typing import Any

from avadm.checks.evidence import Snapshot
from avadm.checks.framework import Check, bad, unknown, warn
from avadm.findings import Finding
from avadm.quantity import quantity

FREE_WARN = 0.1
LEAKED, LEAKED_SHARE = 16, 0.25
"""Addresses more than pods: what is on its way, and what is no pod's (tunnels, ingress), is less."""


def _exhausted(s: Snapshot, node: str, data: Any) -> Iterator[Finding]:
    pools = {p: numbers for p, numbers in data["pools"].items() if p != s.site.tunnels}
    texts, free, blocks, most = [], 0, 0, 0
    for pool, (total, used) in sorted(pools.items()):
        own = {b: v for b, v in data["blocks"].items() if _inside(b, pool)}
        size = max((t for t, _ in own.values()), default=0)
        room = total // size if size else 0
        texts.append(
            f"pool {pool}: {used} of {quantity(total, 'address', 'addresses')} are in use, in {len(own)} of {room} blocks"
        )
        # Addresses come from any pool. One without a block yet has room for them all.
        free, blocks, most = free + total - used, blocks + len(own), most + (room or total)
    text = "; ".join(texts)
    if pools and free <= 0:
        yield bad(f"{text}: no pod gets an address", "cluster")
    elif blocks and blocks >= most and (empty := _without(s, blocks)):
        yield warn(f"{text}: {quantity(empty, 'node')} can have no block of their own", "cluster")
    elif free < FREE_WARN * sum(total for total, _ in pools.values()):
        yield warn(text, "cluster")
    if not pools:
        yield bad("there is no pool: no pod gets an address", "cluster")


def _inside(block: str, pool: str) -> bool:
    # The site's networks are IPv4's alone.
    return ":" not in block + pool and IPv4Network(block).subnet_of(IPv4Network(pool))


def _without(s: Snapshot, blocks: int) -> int:
    """Return how many nodes of Kubernetes are without a block of their own, at least."""
    return max(0, len(s.site.with_role("master", "worker")) - blocks)


def _leaked(s: Snapshot, node: str, data: Any) -> Iterator[Finding]:
    kube = s.first("kubernetes")
    if kube is None:
        yield unknown("Kubernetes could not be asked how many pods have an address", "cluster")
        return
    used = sum(u for pool, (_, u) in data["pools"].items() if pool != s.site.tunnels)
    pods = sum(row["addressed"] for row in kube["counts"].values())
    if used - pods > max(LEAKED, LEAKED_SHARE * used):
        yield warn(f"{quantity(used, 'address', 'addresses')} taken, by {quantity(pods, 'pod')}", "cluster")


def _pool(s: Snapshot, node: str, data: Any) -> Iterator[Finding]:
    for network in s.site.pod_networks:
        if data["pools"] and network not in data["pools"]:
            there = ", ".join(sorted(data["pools"]))
            yield bad(
                f"no pool is {network}, a network of pods of the site file (there is {there})", "cluster"
            )
    for pool in sorted(set(data["pools"]) - {*s.site.pod_networks, s.site.tunnels} if s.site.pods else ()):
        text = f"the pool {pool} is no network of pods of the site file: filter and policies take its pods for strangers"
        yield bad(text, "cluster", remedy="Name it in network.more_pods, then `avadm apply`.")


def _tunnels(s: Snapshot, node: str, data: Any) -> Iterator[Finding]:
    if not s.site.tunnels:
        return
    if s.site.tunnels not in data["pools"]:
        yield bad(f"no pool is {s.site.tunnels}, the site file's network of tunnels", "cluster")
    network = IPv4Network(s.site.tunnels)
    for name, address in sorted(data["tunnels"].items()):
        if not address:
            yield bad("the tunnel has no address", name)
        elif IPv4Address(address) not in network:
            yield bad(f"the tunnel's address is {address}, outside {network}", name)


def _ready(s: Snapshot, node: str, data: Any) -> Iterator[Finding]:
    if not data["ready"]:
        words = data["said"].rpartition("calico/node is not ready: ")[2]
        bgp = "BGP" in words
        remedy = (
            "See that port 179 (TCP) is open to the neighbours that are named, and that calico-node runs there."
            if bgp
            else "`journalctl -u calico-node -e` there; `systemctl restart calico-node`: pods' traffic continues meanwhile."
        )
        yield bad(words or "calico-node does not answer", remedy=remedy)


def _plugins(s: Snapshot, node: str, data: Any) -> Iterator[Finding]:
    if not data["folder"]:
        yield bad("/opt/cni/bin is missing")
        return
    if not data["configurations"]:
        yield bad("no network of pods is configured: /etc/cni/net.d is empty")
    if data["broken"]:
        yield bad(f"the configuration cannot be read: {data['broken']}")
    missing = sorted(({"loopback"} | set(data["named"])) - set(data["there"]))
    if missing:
        yield bad(f"missing in /opt/cni/bin: {', '.join(missing)}")


def _lock(s: Snapshot, node: str, data: Any) -> Iterator[Finding]:
    if data["lock_is_folder"]:
        yield bad("/run/xtables.lock is a folder: kube-proxy writes no rules of Services")


def _dns(s: Snapshot, node: str, data: Any) -> Iterator[Finding]:
    for address, reply in sorted(data.items()):
        if reply != "ok":
            yield bad(f"{address} does not tell the API's name: {reply}")


KUBE = ("master", "worker")


_check = partial(Check, topic="network")


def _addresses(id_: str, title: str, remedy: str, judge: Any, requirement: str, good: str) -> Check:
    also = ("kubernetes",)
    return _check(
        id_,
        title,
        ("calico_pool",),
        judge,
        roles=("master",),
        scope="site",
        remedy=remedy,
        requirement=requirement,
        good=good,
        also=also,
    )


CHECKS = (
    _addresses(
        "calico-addresses",
        "IP pools that are used up",
        "Where pods really hold them, add a network to network.more_pods of the site file, then `avadm apply`; "
        "where they do not, see calico-leaks.",
        _exhausted,
        "K4",
        "addresses enough",
    ),
    _addresses(
        "calico-leaks",
        "addresses that are allocated but held by no pod",
        "On a master: `avadm-calicoctl ipam check --show-problem-ips`, then `ipam release --ip=ADDRESS` "
        "for each that no pod has. "
        "See that calico-kube-controllers runs: it frees them.",
        _leaked,
        "K4",
        "as many as pods, about",
    ),
    _addresses(
        "calico-pool",
        "a network of pods that is missing from Calico's configuration",
        "`avadm apply nodes` writes the pool; a zone's own pod switch goes into network.pods of the site file first.",
        _pool,
        "K12",
        "the site file's network of pods",
    ),
    _addresses(
        "calico-tunnels",
        "tunnel addresses that policies do not trust: requests of that node to pods in other racks are refused",
        "`avadm apply nodes` writes the pools, and calico-node then changes the address by itself; "
        "where it does not, `journalctl -u calico-node -e` there.",
        _tunnels,
        "K4",
        "each in network.tunnels, or no tunnels",
    ),
    _check(
        "calico-ready",
        "felix or bird of a node that is not ready, BGP sessions that are down",
        ("calico",),
        _ready,
        roles=KUBE,
        remedy="`journalctl -u calico-node -e` there.",
        requirement="K4",
        good="felix and all BGP sessions",
    ),
    _check(
        "cni-plugins",
        "a CNI plugin that is missing, or no configuration",
        ("cni",),
        _plugins,
        roles=KUBE,
        remedy="`avadm apply nodes` puts plug-ins and configuration there again.",
        requirement="K12",
        good="all that the configuration names, and loopback",
    ),
    _check(
        "xtables-lock",
        "the iptables lock is a directory",
        ("cni",),
        _lock,
        roles=KUBE,
        remedy="`rmdir /run/xtables.lock && touch /run/xtables.lock && systemctl restart kube-proxy calico-node` there.",
        requirement="K2",
        good="a file",
    ),
    _check(
        "dns",
        "a cluster DNS that does not answer, or not through its Service",
        ("dns",),
        _dns,
        roles=("dns", "worker"),
        remedy="`journalctl -u coredns -e` on the dns nodes; where those answer and the Service's address does "
        "not, `journalctl -u kube-proxy -e` here.",
        requirement="I5",
        good="the API's name resolves",
    ),
)
