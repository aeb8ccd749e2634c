"""Interfaces: on the site file's subnet, full duplex, fast enough, and with the MTU that the whole network has."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from typing import Any, NamedTuple

from avadm.catalogue import finding
from avadm.checks.evidence import PreflightContext
from avadm.checks.framework import Check
from avadm.findings import Finding
from avadm.site.hardware import minimum
from avadm.site.model import Node


class Nic(NamedTuple):
    """One node's interface on one network, as the probe tells it."""

    node: Node
    network: str
    fact: dict[str, Any]

    def finding(self, code: str, found: str, wanted: str) -> Finding:
        """Return a finding about this interface."""
        return finding(
            code, f"{self.fact['name']} ({self.network} network)", found, wanted, host=self.node.name
        )


def judge(context: PreflightContext) -> list[Finding]:
    """Return what is wrong with each interface; equality is asked for where the site file states nothing."""
    nics = list(_nics(context))
    return [*_prefix(context, nics), *_duplex(nics), *_mtu(context, nics), *_speed(context, nics)]


def _nics(context: PreflightContext) -> Iterator[Nic]:
    for node, fact in context.each("nics"):
        for network, address in (("management", node.address), ("storage", node.storage_address)):
            # An address that is on no interface is the check `names`' affair.
            if str(address) in fact:
                yield Nic(node, network, fact[str(address)])


def _prefix(context: PreflightContext, nics: list[Nic]) -> Iterator[Finding]:
    """Yield an error per interface that counts other machines as its neighbours than the site file does."""
    for nic in nics:
        wanted = getattr(context.site.network, nic.network)
        if wanted is None:
            continue
        rack = context.site.network.rack_prefix if nic.network == "management" else None
        length = rack or wanted.prefixlen
        if nic.fact["prefix"] != length:
            yield nic.finding("nics-netmask", f"/{nic.fact['prefix']}", f"/{length} ({wanted})")


def _duplex(nics: list[Nic]) -> Iterator[Finding]:
    for nic in nics:
        if nic.fact["duplex"] == "half":
            yield nic.finding("nics-duplex", "half", "full")


def _mtu(context: PreflightContext, nics: list[Nic]) -> Iterator[Finding]:
    """Yield an error per interface with another MTU than its network: stated, or that of most nodes."""
    net = context.site.network
    for network, stated in (("management", net.mtu), ("storage", net.storage_mtu)):
        here = [n for n in nics if n.network == network]
        if not here:
            continue
        usual = Counter(n.fact["mtu"] for n in here).most_common(1)[0][0]
        for nic in here:
            if nic.fact["mtu"] != (stated or usual):
                yield nic.finding(
                    "nics-mtu",
                    str(nic.fact["mtu"]),
                    f"{stated} (site file)" if stated else f"{usual}, as most nodes",
                )


def _speed(context: PreflightContext, nics: list[Nic]) -> Iterator[Finding]:
    """Yield an error where a link is slower than its roles' minimum, a warning where it differs from its equals."""
    equals: dict[tuple[str, frozenset[str]], list[Nic]] = defaultdict(list)
    for nic in nics:
        equals[nic.network, frozenset(nic.node.roles)].append(nic)
        least = minimum(context.site, context.profile, nic.node).nic_gbit
        speed = nic.fact["speed"]
        if least is not None and (speed is None or speed < 1000 * least):
            yield nic.finding(
                "nics-speed",
                "unknown" if speed is None else f"{speed / 1000:g} Gbit/s",
                f"at least {least:g} Gbit/s",
            )
    for group in equals.values():
        usual = Counter(n.fact["speed"] for n in group).most_common(1)[0][0]
        for nic in group:
            if nic.fact["speed"] is not None and usual is not None and nic.fact["speed"] < usual:
                yield nic.finding(
                    "nics-speed-unequal",
                    f"{nic.fact['speed'] / 1000:g} Gbit/s",
                    f"{usual / 1000:g} Gbit/s, as most of them",
                )


CHECK = Check("nics", "interfaces: subnet, duplex, speed, MTU", ("nics",), judge, scope="all")
