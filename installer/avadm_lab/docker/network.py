"""The lab's bridge network, and whether its addresses are free on this machine."""

from __future__ import annotations

import json
from ipaddress import IPv4Network, ip_network
from typing import Any

from avadm.catalogue import finding
from avadm.errors import AvadmError
from avadm.findings import Finding
from avadm_lab.docker.client import LABEL, LABEL_FOLDER, Docker
from avadm_lab.layout import Config


def name(config: Config) -> str:
    """Return the network's name, which is also its bridge interface's (15 characters at most)."""
    return f"avadm-{config.name}"


def overlaps(config: Config, networks: list[dict[str, Any]], routes: list[dict[str, Any]]) -> list[Finding]:
    """Return what on this machine already uses addresses of the lab's subnet.

    Args:
        config: the lab.
        networks: `docker network inspect` of all networks.
        routes: `ip -json -4 route show table all`.
    """
    taken: dict[IPv4Network, str] = {}
    for net in networks:
        for entry in (net.get("IPAM") or {}).get("Config") or []:
            if net["Name"] != name(config) and "." in entry.get("Subnet", ""):
                taken[IPv4Network(entry["Subnet"])] = f"docker network {net['Name']}"
    for route in routes:
        if route.get("dst") in (None, "default") or route.get("dev") == name(config):
            continue
        if route.get("type", "unicast") != "unicast":
            continue  # this machine's own and broadcast addresses follow from a network named already
        destination = ip_network(route["dst"], strict=False)
        if isinstance(destination, IPv4Network) and destination not in taken:
            taken[destination] = f"route on {route.get('dev', '?')}"
    return [
        finding(
            "lab-subnet-taken",
            where="--subnet",
            found=f"{config.subnet}; taken: {net} ({what})",
            wanted="a free network",
        )
        for net, what in taken.items()
        if net.overlaps(config.subnet)
    ]


def ensure(docker: Docker, config: Config, folder: str) -> bool:
    """Have the network; return whether it had to be made. AvadmError where its addresses are taken."""
    networks = docker.networks()
    for net in networks:
        if net["Name"] != name(config):
            continue
        labels = net.get("Labels") or {}
        subnets = [c.get("Subnet") for c in (net.get("IPAM") or {}).get("Config") or []]
        if labels.get(LABEL) == config.name and str(config.subnet) in subnets and _bridge(docker, config):
            return False
        if labels.get(LABEL) != config.name:
            raise AvadmError.of(
                "lab-network", where=name(config), found=str(subnets), wanted=f"label {LABEL}={config.name}"
            )
        remove(docker, config.name)
    routes = json.loads(
        docker.proc.run(["ip", "-json", "-4", "route", "show", "table", "all"]).stdout or "[]"
    )
    if found := overlaps(config, networks, routes):
        raise AvadmError(found)
    docker.must(
        "Making the lab's network",
        "network",
        "create",
        "--driver",
        "bridge",
        "--subnet",
        str(config.subnet),
        "--gateway",
        str(config.gateway),
        "--label",
        f"{LABEL}={config.name}",
        "--label",
        f"{LABEL_FOLDER}={folder}",
        "-o",
        f"com.docker.network.bridge.name={name(config)}",
        name(config),
    )
    return True


def _bridge(docker: Docker, config: Config) -> bool:
    """Whether the bridge interface exists with the gateway's address (a killed engine may leave none)."""
    shown = docker.proc.run(["ip", "-json", "-4", "addr", "show", "dev", name(config)])
    return shown.ok and any(
        a.get("local") == str(config.gateway)
        for link in json.loads(shown.stdout or "[]")
        for a in link.get("addr_info", [])
    )


def identity(docker: Docker, config: Config) -> str | None:
    """Return the id of the lab's network, None where it is gone."""
    found = docker.networks(f"label={LABEL}={config.name}")
    return next((str(net["Id"]) for net in found if net["Name"] == name(config)), None)


def remove(docker: Docker, lab: str) -> int:
    """Remove every network that carries the lab's label, with what still hangs on it; return how many."""
    found = docker.networks(f"label={LABEL}={lab}")
    for net in found:
        for end in net.get("Containers") or {}:
            docker.run("network", "disconnect", "-f", net["Id"], end)
        docker.must("Removing the lab's network", "network", "rm", net["Id"])
    return len(found)
