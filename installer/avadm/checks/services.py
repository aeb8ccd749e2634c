"""Which TCP ports a node's services will listen on, and the programs that may already do so."""

from __future__ import annotations

from avadm.site.model import Node
from avadm.site.render.monitoring import GOSSIP_PORT, GRAFANA_PORT, PORTS

# The kernel cuts a program's name to 15 characters (/proc/PID/comm).
_COMM = 15

BY_ROLE: dict[str, dict[int, str]] = {
    "mon": {3300: "ceph-mon", 6789: "ceph-mon"},
    "mgr": {9283: "ceph-mgr"},  # the prometheus module
    "prometheus": {PORTS["prometheus"]: "prometheus", PORTS["blackbox"]: "prometheus-blackbox-exporter"},
    "alertmanager": {
        PORTS["alertmanager"]: "prometheus-alertmanager",
        GOSSIP_PORT: "prometheus-alertmanager",
    },
    "grafana": {GRAFANA_PORT: "grafana"},
    "gpu": {PORTS["gpu"]: "dcgm-exporter"},
}
EVERYWHERE = {PORTS["node"]: "prometheus-node-exporter"}


def ports(node: Node) -> dict[int, str]:
    """Return port to the program that shall own it, for one node."""
    return EVERYWHERE | {port: name for role in node.roles for port, name in BY_ROLE.get(role, {}).items()}


def ours(program: str, owner: str) -> bool:
    """Whether a listening program's (cut) name is that of the owner, whatever its package calls it."""
    names = {owner, owner.removeprefix("prometheus-"), owner.removeprefix("prometheus-").replace("-", "_")}
    return any(program.startswith(name[:_COMM]) for name in names)
