"""The packet filter of each node: whether it is the site's, and whom it refused lately."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from ipaddress import ip_address, ip_network
from typing import Any

from avadm.checks.evidence import SiteNode, Snapshot
from avadm.checks.framework import Check, bad, warn
from avadm.findings import Finding

SHOWN = 4
"""How many of those that were refused are named."""
APPLY = "`avadm apply filter` brings the site's rules; `systemctl status avadm-packet-filter` there tells of the last boot."


def _node(s: Snapshot, name: str) -> SiteNode:
    return next(n for n in s.site.nodes if n.name == name)


def _loaded(s: Snapshot, node: str, data: Any) -> Iterator[Finding]:
    wanted = _node(s, node).rules
    if not wanted:
        if data["loaded"]:
            yield warn("it filters, although the site file has network.filter.enabled: false")
    elif not data["kept"]:
        yield bad("there is no packet filter: everybody reaches every port")
    elif not data["loaded"]:
        yield bad("the rules of the packet filter are not loaded: everybody reaches every port")
    elif data["tried"]:
        yield warn("new rules are being tried, and will be taken back")
    elif not data["same"]:
        yield bad("the kernel has other rules than those that were applied")
    elif data["kept"] != wanted:
        yield warn("its rules are not those that follow from the site file")


def _refused(s: Snapshot, node: str, data: Any) -> Iterator[Finding]:
    """Name who of the site was refused, and who else wanted a port that there is: no mere noise of the network."""
    listens = _node(s, node).listens
    reports = []
    for address, protocol, port, ago in data.get("refused", ()):
        who = _who(s, address)
        if who or any(first <= port <= last for first, last in listens):
            reports.append(f"{who or address} to {port}/{protocol} {ago // 60} min ago")
    if reports:
        more = f" and {len(reports) - SHOWN} more" if len(reports) > SHOWN else ""
        yield warn(f"refused: {', '.join(reports[:SHOWN])}{more}")


def _who(s: Snapshot, address: str) -> str:
    """Return whose an address is; "" where it is of no node of the site."""
    name = s.site.node_of(address)
    if name != address:
        return name
    return (
        f"a pod ({address})" if any(ip_address(address) in ip_network(n) for n in s.site.pod_networks) else ""
    )


_check = partial(Check, topic="network")


CHECKS = (
    _check(
        "packet-filter",
        "a node's packet filter is not loaded, or not what follows from the site file",
        ("packet_filter",),
        _loaded,
        remedy=APPLY,
        good="each node filters by the site's rules",
    ),
    _check(
        "packet-filter-refused",
        "a node or pod, or somebody who wants a service, was refused in the last quarter of an hour",
        ("packet_filter",),
        _refused,
        remedy="See who runs there; docs/reference/ports.md says who may come. What shall be allowed besides: "
        "network.filter.allow of the site file, then `avadm apply filter`.",
        good="no node of the site was refused lately",
    ),
)
