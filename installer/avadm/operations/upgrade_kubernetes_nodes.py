"""Kubernetes as its upgrade works on it: versions behind each address, nodes, what keeps pods on them, one node's phase."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from avadm.artifacts import requirements
from avadm.checks import versions
from avadm.cluster import health
from avadm.cluster.connection import Cluster
from avadm.components.catalog import BY_NAME
from avadm.components.masters.component import API
from avadm.engine.request import Request
from avadm.engine.session import schedule
from avadm.errors import DAMAGE, AvadmError
from avadm.findings import Finding
from avadm.operations.drain import DrainOptions, DrainPart, part
from avadm.operations.etcd_members import EtcdMembers
from avadm.operations.model import Tell
from avadm.operations.phase import run_phases
from avadm.site.load import SiteFile
from avadm.site.placement import kube_nodes
from avadm.state.site_state import PhaseState
from avadm_node.probes.kube import drain as pods

CONTROL, NODES = "masters", "nodes"
"""The phases that install the servers of masters, and kubelet and kube-proxy of all nodes."""
CONTROLLERS = ("kube-controller-manager", "kube-scheduler")
SHARE = 10
"""One of so many nodes is away at a time, at least one."""
GPU = "nvidia.com/gpu"
"""What kubelet calls the GPUs that the device plug-in registers."""
ASK_S = 40.0
"""Seconds that one API server has."""
VIRTUAL = "the virtual address"
CODE = "kubernetes-command"
_called: Callable[[Mapping[str, Any]], str] = pods.called
_stays: Callable[[Mapping[str, Any]], bool] = pods.stays
_why: Callable[[Mapping[str, Any], Sequence[Mapping[str, Any]]], str] = pods.why


@dataclass(frozen=True, slots=True)
class Kubelet:
    """What Kubernetes reports of a node.

    Attributes:
        ready: whether it is Ready.
        version: kubelet's, without the v.
        gpus: how many it offers.
    """

    ready: bool
    version: str
    gpus: int = 0


@dataclass(frozen=True, slots=True)
class KubernetesNodes:
    """Kubernetes of a site.

    Attributes:
        cluster: the site.
    """

    cluster: Cluster

    @property
    def etcd(self) -> EtcdMembers:
        """The members of etcd."""
        return EtcdMembers(self.cluster)

    def api(self) -> dict[str, str]:
        """Return master, and the virtual address, to the version that the API server behind it reports; "" without a reply."""
        site = self.cluster.site
        masters = site.with_role("master")
        asked = {n.name: str(n.address) for n in masters}
        came = self.cluster.fleet.map({n: _version_of(a) for n, a in asked.items()}, timeout=ASK_S)
        found = {name: _reported(came[name].stdout) if came[name].ok else "" for name in asked}
        if site.network.api_vip is not None and len(masters) > 1:
            command = _version_of(str(site.network.api_vip))
            try:
                text = self.cluster.first(self.cluster.masters.names, command, CODE, VIRTUAL, ASK_S)
            except AvadmError:
                text = ""
            found[VIRTUAL] = _reported(text)
        return found

    def controllers(self, master: str) -> dict[str, str]:
        """Return controller-manager and scheduler of a master to their versions; "" without a reply."""
        return {name: self.running(name, [master])[master] for name in CONTROLLERS}

    def kubelets(self) -> dict[str, Kubelet]:
        """Return what Kubernetes reports of the nodes that it knows; AvadmError where no master can be asked."""
        items = self._items("get", "nodes", "-o", "json")
        with health.reading("get nodes", CODE):
            return {str(one["metadata"]["name"]): _kubelet(one) for one in items}

    def proxies(self, names: Sequence[str]) -> dict[str, str]:
        """Return node to the version of its kube-proxy; "" without a reply."""
        return self.running("kube-proxy", names)

    def running(self, program: str, names: Sequence[str]) -> dict[str, str]:
        """Return node to the version of a program that runs there; "" without a reply."""
        nodes = [self.cluster.site.node(name) for name in names]
        return versions.running(self.cluster.site_file, self.cluster.fleet, nodes, program)

    def kept(self, names: Sequence[str]) -> dict[str, list[str]]:
        """Return node to the pods that a budget keeps there now, each with the reason."""
        budgets = self._items("get", "--raw", "/apis/policy/v1beta1/poddisruptionbudgets")
        found = self._items("get", "--raw", "/api/v1/pods")
        with health.reading("get pods", CODE):
            return {
                name: kept
                for name in names
                if (
                    kept := [
                        f"{_called(pod)} ({why})"
                        for pod in found
                        if pod["spec"].get("nodeName") == name
                        and not _stays(pod)
                        and not pod["metadata"].get("deletionTimestamp")
                        and (why := _why(pod, budgets))
                    ]
                )
            }

    def _items(self, *words: str) -> list[dict[str, Any]]:
        text = self.cluster.kubectl(*words)
        with health.reading(" ".join(words[:2]), CODE):
            items: list[dict[str, Any]] = json.loads(text)["items"]
            return items

    def drained(
        self,
        names: Sequence[str],
        options: DrainOptions,
        accepted: Collection[str],
        done: Callable[[], bool],
    ) -> DrainPart:
        """Plan the drain of nodes; nothing is changed. It is rehearsed: what speaks against it are the part's refusals.

        Args:
            names: nodes that are Ready.
            options: how they are drained.
            accepted: ids of refusals that the user accepts.
            done: whether the nodes have been upgraded already.
        """
        return part(self.cluster, names, options, accepted, done=done)

    def settled(self, phase: str, name: str) -> bool:
        """Return whether the last run of a phase on a node came to its end."""
        return self.cluster.state.entry(phase, name).state is PhaseState.DONE

    def missing(self, site_file: SiteFile) -> list[Finding]:
        """Return the artifacts of a site's masters and nodes that the cache has not."""
        phases = [BY_NAME[name].phase for name in (CONTROL, NODES)]
        lacking = requirements.missing(
            site_file.site, phases, deep=False, versions=site_file.profile.versions
        )
        return [one.finding() for one in lacking]

    def bring(self, site_file: SiteFile, phase: str, names: Sequence[str], command: str, tell: Tell) -> None:
        """Run a phase on nodes with a site's profile; no others are touched.

        Raises:
            AvadmError: the phase failed, the check of the version that runs included (exit 1).
            KeyboardInterrupt: it was stopped.
        """
        steps = schedule(site_file.site, self.cluster.state, (phase,), list(names))
        request = Request(command, limit=list(names), own={name: {} for name in names})
        run_phases(
            self.cluster,
            site_file,
            steps,
            request,
            tell,
            code="upgrade-failed",
            verb="upgrade",
            host=", ".join(names),
        )

    @property
    def masters(self) -> list[str]:
        """The masters, in the site file's order."""
        return [n.name for n in self.cluster.site.with_role("master")]

    @property
    def members(self) -> list[str]:
        """The nodes of Kubernetes, masters first."""
        found = [n.name for n in kube_nodes(self.cluster.site)]
        return sorted(found, key=lambda name: name not in self.masters)

    def batches(self, names: Sequence[str]) -> list[list[str]]:
        """Return nodes in the batches in which they are upgraded: masters one by one, then the others."""
        masters = [[n] for n in names if n in self.masters]
        others = [n for n in names if n not in self.masters]
        size = max(1, len(others) // SHARE)
        return masters + [others[i : i + size] for i in range(0, len(others), size)]

    def gpus(self, name: str) -> int:
        """Return how many GPUs a node is to offer."""
        found = self.cluster.site.node(name)
        return found.gpus.count if found.gpus is not None and "gpu" in found.roles else 0


def _version_of(address: str) -> str:
    server = f"--server=https://{address}:{API}"
    return shlex.join(
        [
            "kubectl",
            "--kubeconfig",
            "/root/.kube/config",
            "--request-timeout=20s",
            server,
            "get",
            "--raw=/version",
        ]
    )


def _reported(text: str) -> str:
    """Return the version of an API server's reply; "" of anything else."""
    try:
        return str(json.loads(text)["gitVersion"]).removeprefix("v")
    except DAMAGE:
        return ""


def _kubelet(node: Mapping[str, Any]) -> Kubelet:
    status = node["status"]
    conditions = {str(one["type"]): one["status"] for one in status["conditions"]}
    version = str(status["nodeInfo"]["kubeletVersion"]).removeprefix("v")
    return Kubelet(
        conditions.get("Ready") == "True", version, int((status.get("allocatable") or {}).get(GPU, 0))
    )
