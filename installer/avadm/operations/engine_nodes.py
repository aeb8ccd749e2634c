"""Nodes with the container engine, as an upgrade works on them: drained, one after another, and judged by Kubernetes."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Any

from avadm.catalogue import finding
from avadm.cluster import health
from avadm.cluster.connection import Cluster
from avadm.findings import Finding
from avadm.operations.drain import DrainOptions, DrainPart, each
from avadm.remote import access
from avadm.site.placement import kube_nodes

SHOWN = 3
_ASKS = (
    "pid=$(systemctl show --property=MainPID kubelet) && tr '\\0' '\\n' <\"/proc/${pid#*=}/environ\" "
    "| grep --quiet '^DOCKER_API_VERSION='"
)
"""Whether the kubelet that runs names a version of docker's interface (roles/kube_node): docker 25 and newer need that."""


@dataclass(frozen=True, slots=True)
class EngineNodes:
    """The nodes of a site that run containers for Kubernetes.

    Attributes:
        cluster: the site.
    """

    cluster: Cluster

    def _is_known(self, node: str) -> bool:
        return any(n.name == node for n in kube_nodes(self.cluster.site))

    def refusals(self, nodes: Sequence[str]) -> list[Finding]:
        """Return kubelets that could not start a container afterwards."""
        names = [n for n in nodes if self._is_known(n)]
        if not names:
            return []
        found: list[Finding] = []
        for node, done in self.cluster.fleet.map(dict.fromkeys(names, _ASKS), timeout=60.0).items():
            if done.error is not None:
                found.append(access.finding("docker-kubelet", node, done.error))
            elif done.rc != 0:
                found.append(finding("docker-kubelet", host=node))
        return found

    def drains(
        self,
        nodes: Sequence[str],
        options: DrainOptions,
        accepted: Collection[str],
        done: Callable[[str], bool],
    ) -> dict[str, DrainPart]:
        """Return node to its drain, of those that Kubernetes has.

        Args:
            nodes: their names.
            options: how they are drained.
            accepted: ids of refusals that the user accepts.
            done: whether a node is upgraded.
        """
        return each(self.cluster, [n for n in nodes if self._is_known(n)], options, accepted, done)

    def troubles(self, node: str = "") -> dict[str, str]:
        """Return node to why it is not well: it is not Ready, or, of a node that was just upgraded, its pods are not.

        Raises:
            AvadmError: no master answers.
        """
        ready = health.ready(self.cluster)
        names = [n.name for n in kube_nodes(self.cluster.site)]
        found = {n: "Kubernetes does not know it" for n in names if n not in ready}
        found |= {n: "it is not Ready" for n in names if ready.get(n) is False}
        if node in names and node not in found and (pods := self._unready(node)):
            more = "" if len(pods) <= SHOWN else f" and {len(pods) - SHOWN} more"
            found[node] = f"pods are not Ready: {', '.join(pods[:SHOWN])}{more}"
        return found

    def _unready(self, node: str) -> list[str]:
        """Return the pods of a node, NAMESPACE/NAME, that run for ever and are not Ready."""
        text = self.cluster.kubectl("get", "--raw", f"/api/v1/pods?fieldSelector=spec.nodeName%3D{node}")
        with health.reading("get pods", "kubernetes-command"):
            return [
                f"{pod['metadata']['namespace']}/{pod['metadata']['name']}"
                for pod in json.loads(text)["items"]
                if _serves(pod) and not _is_ready(pod)
            ]


def _serves(pod: dict[str, Any]) -> bool:
    ended = pod["status"].get("phase") in ("Succeeded", "Failed")
    return not ended and not pod["metadata"].get("deletionTimestamp")


def _is_ready(pod: dict[str, Any]) -> bool:
    conditions = pod["status"].get("conditions") or []
    return any(one["type"] == "Ready" and one["status"] == "True" for one in conditions)
