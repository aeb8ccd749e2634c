"""A group's namespace and what its pods may talk to: nothing, but names, their own run, and what the site opens."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ava.domain import labels
from ava.domain.model import Kind, Run
from ava.domain.workbench import PORTS as BENCH_PORTS
from ava.operator.manifests.hostfile import service
from ava.operator.manifests.pod import TENSORBOARD_PORT, marks

ALL: dict[str, Any] = {}


@dataclass(frozen=True, slots=True)
class EgressRule:
    """Addresses that pods may reach beside their own run.

    Attributes:
        cidr: the addresses.
        but: parts of them that stay closed (nodes, etcd, stores).
        ports: TCP ports; empty: all ports and protocols.
        udp: UDP ports.
    """

    cidr: str
    but: tuple[str, ...] = ()
    ports: tuple[int, ...] = ()
    udp: tuple[int, ...] = ()

    def rule(self) -> dict[str, Any]:
        """Return the egress rule."""
        block: dict[str, Any] = {"cidr": self.cidr}
        if self.but:
            block["except"] = list(self.but)
        report: dict[str, Any] = {"to": [{"ipBlock": block}]}
        ports = [{"protocol": "TCP", "port": p} for p in self.ports]
        ports += [{"protocol": "UDP", "port": p} for p in self.udp]
        return report | ({"ports": ports} if ports else {})


def namespace(group: str) -> dict[str, Any]:
    """Return the namespace of a group."""
    return {"metadata": {"name": labels.namespace(group), "labels": _marks(group)}}


def _marks(group: str) -> dict[str, str]:
    return {labels.MANAGED: "true", labels.GROUP: group}


def policies(group: str, openings: Sequence[EgressRule]) -> list[dict[str, Any]]:
    """Return a namespace's policies: nothing in, nothing out; and what the site opens (names among it)."""
    deny = _policy("default-deny", _marks(group), ALL, ["Ingress", "Egress"])
    rules = [opening.rule() for opening in openings]
    site = _policy("site", _marks(group), ALL, ["Egress"], egress=rules)
    return [deny, site]


def run_policy(
    run: Run, web: Sequence[dict[str, Any]], ports: Sequence[int], doors: Sequence[dict[str, Any]] = ()
) -> dict[str, Any]:
    """Return the policy of one run: its pods reach each other.

    Args:
        run: whose pods.
        web: peers (as in a NetworkPolicy) that the site's ingress comes from.
        ports: TCP ports that it may reach.
        doors: peers that the gate and the ssh gateway come from; they reach a workbench's ports alone.
    """
    own = {"matchLabels": {labels.RUN: run.id}}
    peers = [{"podSelector": own}]
    ingress: list[dict[str, Any]] = [{"from": peers}]
    if web and ports:
        ingress.append({"from": list(web), "ports": [{"protocol": "TCP", "port": p} for p in ports]})
    if doors and run.kind is Kind.WORKBENCH:
        own_ports = [{"protocol": "TCP", "port": p} for p in BENCH_PORTS]
        ingress.append({"from": list(doors), "ports": own_ports})
    return _policy(
        f"run-{run.id}", _run_marks(run), own, ["Ingress", "Egress"], ingress=ingress, egress=[{"to": peers}]
    )


def git_policy(run: Run, servers: Sequence[EgressRule]) -> dict[str, Any]:
    """Return the policy of a run whose code is cloned: its pods reach the site's servers of code."""
    own = {"matchLabels": {labels.RUN: run.id}}
    rules = [server.rule() for server in servers]
    return _policy(f"run-{run.id}-git", _run_marks(run), own, ["Egress"], egress=rules)


def _run_marks(run: Run) -> dict[str, str]:
    """Return the labels of what lasts for all attempts of a run."""
    reply = marks(run)
    del reply[labels.ATTEMPT]
    return reply


def _policy(
    name: str,
    marked: dict[str, str],
    selector: dict[str, Any],
    types: list[str],
    *,
    ingress: list[dict[str, Any]] | None = None,
    egress: list[dict[str, Any]] | None = None,
) -> dict[str, Any]:
    spec: dict[str, Any] = {"podSelector": selector, "policyTypes": types}
    if ingress:
        spec["ingress"] = ingress
    if egress:
        spec["egress"] = egress
    return {"metadata": {"name": name, "labels": marked}, "spec": spec}


def peers_service(run: Run) -> dict[str, Any]:
    """Return the headless service that gives the pods of an attempt their names, from before they are ready."""
    return {
        "metadata": {
            "name": service(run.id, run.attempt),
            "labels": marks(run),
            # 1.9 obeys the annotation, newer ones the field.
            "annotations": {"service.alpha.kubernetes.io/tolerate-unready-endpoints": "true"},
        },
        "spec": {
            "clusterIP": "None",
            "publishNotReadyAddresses": True,
            "selector": {labels.RUN: run.id, labels.ATTEMPT: str(run.attempt)},
            "ports": [{"name": "any", "port": 1}],
        },
    }


def port_service(run: Run, name: str, role: str, port: int) -> dict[str, Any]:
    """Return the service of one port of a role's pod 0, for the site's ingress."""
    return {
        "metadata": {"name": f"run-{run.id}-{name}", "labels": _run_marks(run)},
        "spec": {
            "selector": {labels.RUN: run.id, labels.ROLE: role, labels.INDEX: "0"},
            "ports": [{"name": name, "port": 80, "targetPort": port}],
        },
    }


def tensorboard(run: Run, role: str) -> dict[str, Any]:
    """Return the service of tensorboard."""
    return port_service(run, "tensorboard", role, TENSORBOARD_PORT)
