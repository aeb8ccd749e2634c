"""Kubernetes' part of a worker's removal: drained, its programs stopped, then nothing of it left in the API and in Calico."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator
from typing import Any

from avadm.catalogue import finding
from avadm.findings import Finding
from avadm.operations import drain
from avadm.operations.model import Step
from avadm.operations.removal_ceph import STOP
from avadm.operations.removal_model import Leaving, Part

AFFINITY = "volume.alpha.kubernetes.io/node-affinity"
HOSTNAME = "kubernetes.io/hostname"
CALICOCTL = "/usr/local/sbin/avadm-calicoctl"
UNITS = ("kubelet", "kube-proxy", "avadm-volumes-local", "avadm-volumes-node", "avadm-volumes", "calico-node")
"""In the order in which they are stopped: kubelet first, so that no pod comes back."""


def part(leaving: Leaving) -> Part:
    """Plan it; AvadmError where no master can be asked."""
    if "worker" not in leaving.roles or not leaving.cluster.site.with_role("master"):
        return Part()
    cluster, name = leaving.cluster, leaving.name
    local = _local_volumes(leaving)
    refusals: list[Finding] = []
    if local:
        refusals.append(finding("local-volumes", found=", ".join(local), host=name))
    known = not leaving.dead and _known(leaving)
    drained = drain.part(
        cluster, [name] if known else [], leaving.drain, leaving.accepted, done=lambda: not _known(leaving)
    )
    refusals += drained.refusals
    return Part(list(_steps(leaving, local, drained)), refusals, drained.interrupts, drained.runs)


def _steps(leaving: Leaving, local: list[str], drained: drain.DrainPart) -> Iterator[Step]:
    cluster, name = leaving.cluster, leaving.name
    yield from drained.steps
    if not leaving.dead:
        script = "; ".join(f"{{ {STOP.format(unit=unit)}; }}" for unit in UNITS)
        # A file of the network alone lets the node take pods.
        script += "; rm -f /etc/cni/net.d/10-calico.conflist"
        yield Step(
            "stop kubelet and its programs",
            lambda tell: leaving.run(script),
            leaving.touched,
            settings=drained.settings,
        )
    for volume in local:
        yield Step(
            f"forget the volume {volume}, whose data are on {name} alone",
            lambda tell, volume=volume: cluster.kubectl("delete", "pv", volume, "--ignore-not-found"),  # type: ignore[misc]
            settings=drained.settings,
        )
    yield Step(
        f"delete the node {name} of Kubernetes",
        lambda tell: cluster.kubectl("delete", "node", name, "--ignore-not-found"),
        done=lambda: _known(leaving) is False,
        settings=drained.settings,
    )
    yield Step(
        f"delete the node {name} of Calico, its blocks of addresses and its BGP peers",
        lambda tell: _calico(leaving),
        done=lambda: not _left_in_calico(leaving),
    )


def _known(leaving: Leaving) -> bool:
    """Return whether Kubernetes knows the node."""
    return bool(
        leaving.cluster.kubectl("get", "node", leaving.name, "-o", "name", "--ignore-not-found").strip()
    )


def _local_volumes(leaving: Leaving) -> list[str]:
    """Return the volumes whose data are on the node alone."""
    found = json.loads(leaving.cluster.kubectl("get", "pv", "-o", "json"))["items"]
    return sorted(pv["metadata"]["name"] for pv in found if _hosts(pv) == {leaving.name})


def _hosts(pv: dict[str, Any]) -> set[str]:
    """Return the nodes that a volume is bound to by name; none where it is not."""
    spec = ((pv["spec"].get("nodeAffinity") or {}).get("required") or {}).get("nodeSelectorTerms")
    if spec is None:
        noted = json.loads((pv["metadata"].get("annotations") or {}).get(AFFINITY, "{}"))
        spec = (noted.get("requiredDuringSchedulingIgnoredDuringExecution") or {}).get("nodeSelectorTerms")
    rules = [rule for term in spec or () for rule in term.get("matchExpressions") or ()]
    return {
        value
        for rule in rules
        if rule["key"] == HOSTNAME and rule["operator"] == "In"
        for value in rule["values"]
    }


def _calicoctl(leaving: Leaving, *words: str) -> str:
    masters = leaving.cluster.masters.names
    return leaving.cluster.first(
        masters, shlex.join([CALICOCTL, *words]), "calico-command", shlex.join(words)
    )


def _left_in_calico(leaving: Leaving) -> list[tuple[str, str]]:
    """Return kind and name of what Calico has of the node."""
    nodes, peers = (
        json.loads(_calicoctl(leaving, "get", kind, "-o", "json"))["items"] for kind in ("node", "bgppeer")
    )
    found = [("bgppeer", one["metadata"]["name"]) for one in peers if one["spec"].get("node") == leaving.name]
    return found + [("node", leaving.name) for one in nodes if one["metadata"]["name"] == leaving.name]


def _calico(leaving: Leaving) -> None:
    # With the node go its endpoints, and the blocks of addresses that it held.
    for kind, name in _left_in_calico(leaving):
        _calicoctl(leaving, "delete", kind, name, "--skip-not-exists")
