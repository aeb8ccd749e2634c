"""The control plane's part of a node's removal: its virtual address and its API server, once others serve."""

from __future__ import annotations

import shlex
from collections.abc import Collection

from avadm.catalogue import finding
from avadm.cluster.connection import Cluster
from avadm.errors import AvadmError
from avadm.findings import Finding
from avadm.operations.model import Gate, Interruption, Progress, Step, Tell
from avadm.operations.removal_model import HOST_S, Leaving, Part, stop, withdraw
from avadm.state.site_state import PhaseState

UNITS = (
    "kube-controller-manager",
    "kube-scheduler",
    "avadm-kube-metrics",
    "kube-state-metrics",
    "calico-kube-controllers",
    "kube-apiserver",
    "avadm-admission",
)
"""In the order in which they are stopped: those that work by the API before it."""
KUBECTL = ("timeout", "20", "kubectl", "--kubeconfig", "/root/.kube/config", "--request-timeout=10s")
PKI = "/etc/kubernetes/pki"
SECRETS = (
    "/root/.kube/config",
    f"{PKI}/apiserver.key",
    f"{PKI}/service-accounts.key",
    f"{PKI}/controllers.key",
    f"{PKI}/metrics.pem",
    "/etc/kubernetes/encryption.yml",
    "/etc/haproxy/health.pem",
)
"""What a node that is no master may not keep: with it any account could be forged."""
LEASE_S = 120.0
"""Seconds without progress until the other API servers leave it out; its lease ends after 15 s (kube-apiserver 1.9)."""


def part(leaving: Leaving) -> Part:
    """Plan it; AvadmError where no other master can be asked."""
    if "master" not in leaving.roles:
        return Part()
    cluster, name = leaving.cluster, leaving.name
    steps = []
    if cluster.site.network.api_vip is None and (others := _kubelets(leaving)):
        # Without an address of its own the API is asked at the first master's.
        steps.append(
            Step(
                "have the other nodes ask the other masters",
                lambda tell: leaving.ahead(("masters", "nodes"), others, tell),
                others,
            )
        )
    steps.append(
        Step(
            f"stop the control plane on {name}" if not leaving.dead else "await the other masters",
            lambda tell: _stop(leaving, tell),
            leaving.touched,
            gate=Gate(
                "the other masters serve the API, and name themselves alone", lambda: look(leaving), LEASE_S
            ),
        )
    )
    pause = Interruption("Kubernetes' API through its virtual address, where this node holds it", 10.0)
    return Part(steps, _refusals(leaving), [pause])


def serves(leaving: Leaving) -> bool:
    """Return whether an API server runs on the node, whatever the site file says."""
    return not leaving.dead and bool(api_answers(leaving.cluster, [leaving.name]))


def _refusals(leaving: Leaving) -> list[Finding]:
    """Return why no other master could do its work."""
    others = leaving.others("master")
    if api_answers(leaving.cluster, others):
        return []
    found = "no other answers" if others else "no other"
    return [finding("last-of-role", found=found, wanted="one that answers", host=leaving.name, role="master")]


def former(leaving: Leaving) -> list[str]:
    """Return the other nodes that were made masters, and are none by the site file."""
    state = leaving.cluster.state
    return [
        n.name
        for n in leaving.cluster.site.nodes
        if "master" not in n.roles
        and n.name != leaving.name
        and state.entry("masters", n.name).state is not PhaseState.PENDING
    ]


def _kubelets(leaving: Leaving) -> tuple[str, ...]:
    nodes = leaving.cluster.site.nodes
    return tuple(n.name for n in nodes if {"master", "worker"} & set(n.roles) and n.name != leaving.name)


def api_answers(cluster: Cluster, names: Collection[str]) -> list[str]:
    """Return the masters of these whose own API server answers."""
    # Root's own kubeconfig there asks that node's server alone.
    command = shlex.join([*KUBECTL, "get", "--raw", "/healthz"])
    done = cluster.fleet.map(dict.fromkeys(names, command), timeout=30.0) if names else {}
    return sorted(name for name, one in done.items() if one.ok and one.stdout.strip() == "ok")


def _stop(leaving: Leaving, tell: Tell) -> None:
    # Asked once more: since the plan another one may have failed.
    if bad := _refusals(leaving):
        raise AvadmError(bad, 1)
    if leaving.dead:
        return
    # The address first, so that no request comes to a server that ends. S3 has a haproxy of the same name.
    front = withdraw("api") if leaving.cluster.site.network.api_vip else "true"
    for name in former(leaving) if leaving.cluster.site.network.api_vip else ():
        # The packet filter, which is applied afterwards, lets no one reach it, and the address may be there.
        done = leaving.cluster.fleet.run(name, front, timeout=HOST_S)
        tell(
            f"    {name}: {'no virtual address any more' if done.ok else 'not asked to give the address away'}"
        )
    units = (*(() if "rgw" in leaving.stays else ("haproxy",)), *UNITS)
    leaving.run(f"{front}; {stop(units)}; rm -f {' '.join(SECRETS)}")


def look(leaving: Leaving) -> Progress:
    """Return whether the other masters serve, and the Service `kubernetes` no longer leads to this one."""
    others = leaving.others("master")
    silent = sorted(set(others) - set(api_answers(leaving.cluster, others)))
    # As at the plan: one is enough for the API, but those that are left should all be well.
    if len(silent) == len(others):
        return Progress("no master answers", 2.0)
    path = "jsonpath={.subsets[*].addresses[*].ip}"
    known = leaving.cluster.kubectl("get", "endpoints", "kubernetes", "-o", path).split()
    address = str(leaving.node.address)
    return Progress(f"the Service kubernetes still names {address}", 1.0) if address in known else Progress()
