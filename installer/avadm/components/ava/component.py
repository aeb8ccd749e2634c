"""The platform, AVA: its API, operator and scheduler, as pods on workers without GPUs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from avadm.components.alluxio.placement import clients
from avadm.components.model import Component, Phase, Probe, Program
from avadm.pki.model import Authority, Leaf
from avadm.site.model import Node, Site
from avadm.site.placement import metered

DATABASE = "ava"
"""Its database, and the user that owns it."""
NAMESPACE = "ava-system"
OPERATOR = f"system:serviceaccount:{NAMESPACE}:operator"
"""Account of its operator, which makes the Ingresses of services."""
DATABASE_CHECKS = "ava-ledger"
"""Duty: the node has the database."""
REGISTRY_CLIENT = "registry-client-ava"
"""Certificate, and owner of its key, that the interface shows to the image registry."""
REGISTRY_USER = "registry:ava"
"""Common name of that certificate."""
REGISTRY_TOKENS = "registry-tokens-ava"
"""The same, with which it signs users' tokens for the image registry."""
ISSUER = "ava"
"""Who gives out these tokens, as they say."""
METRICS_CLIENT = "metrics-client-ava"
"""The same for Prometheus, which it asks what runs use."""
IMAGES = ("ava-base", "ava-tensorflow", "ava-pytorch", "ava-tensorflow-cuda", "ava-pytorch-cuda")
"""Artifacts that are images of users' containers; the site file chooses among them."""
PARTS = ("api", "operator", "scheduler")
"""Its deployments, which differ in nothing but what they run."""
FOLDERS = ("users", "groups", "datasets")
"""Folders at the root of the shared file system, below which it makes those of users, groups and data sets."""
SERVED, INTERNAL = 8080, 9090
"""Ports of a pod: what users are served (API and gate alone), and health and metrics (all but the ssh gateway)."""
JUMP = 2222
"""Port of a pod of the ssh gateway."""
_IMAGES = 'go-template={{range .items}}{{(index .spec.template.spec.containers 0).image}}{{"\\n"}}{{end}}'


def homes(site: Site) -> list[Node]:
    """Return the nodes on which its processes may run: workers without GPUs."""
    return [n for n in site.nodes if "worker" in n.roles and "gpu" not in n.roles]


def mount(site: Site) -> str:
    """Return where nodes have the shared file system that homes and data sets lie on; "" on a site without one."""
    filesystem = site.components.ceph.filesystem
    here = site.components.ava and any("client" in node.roles for node in homes(site))
    return filesystem.mount.rstrip("/") if filesystem and here else ""


def mounts_cache(site: Site) -> bool:
    """Return whether nodes mount Alluxio, whichever they are."""
    knobs = site.components.alluxio
    return bool(knobs and knobs.fuse and site.with_role("alluxio_worker"))


def cache(site: Site) -> str:
    """Return where nodes see Alluxio; "" unless all workers do."""
    knobs = site.components.alluxio
    if knobs is None or not mounts_cache(site) or without_cache(site):
        return ""
    return knobs.mount_point


def without_cache(site: Site) -> list[str]:
    """Return the workers that do not have the client of the site's cache."""
    able = {n.name for n in clients(site)}
    return [n.name for n in site.with_role("worker") if n.name not in able]


def keepers(site: Site) -> list[Node]:
    """Return the nodes that have the database, one of them as the primary."""
    return site.with_role("database") if site.components.ava else []


def controls(site: Site) -> list[Node]:
    """Return the nodes through which it is looked at: the masters of a site that has it."""
    return site.with_role("master") if site.components.ava else []


def host(site: Site) -> str:
    """Return the name under which users reach it; "" on a site without it."""
    knobs = site.components.ava
    return f"{knobs.host}.{site.network.domain}" if knobs else ""


def images(site: Site) -> list[str]:
    """Return the images of users' containers that a site offers."""
    return list(site.components.ava.images) if site.components.ava else []


def workbenches(site: Site) -> str:
    """Return the domain below which each workbench has a name, and so an origin, of its own; "" on a site without them."""
    return f"wb.{site.network.domain}" if site.components.ava else ""


def services(site: Site) -> str:
    """Return the domain below which each inference service has a name of its own; "" on a site without."""
    return f"services.{site.network.domain}" if site.components.ava else ""


def doors(site: Site) -> list[str]:
    """Return the ways into workbenches: the gate for browsers, and the ssh gateway where there are addresses for it."""
    return ["gate", *(["jump"] if site.network.load_balancer is not None else [])]


def probed(site: Site) -> dict[str, Any]:
    """Return what its processes are asked with on masters and on its database's nodes: names, and the way in; no key."""
    own = site.components.ava.certificate if site.components.ava else None
    return {
        "trusted": (own.ca or "") if own else None,
        "namespace": NAMESPACE,
        "database": DATABASE,
        "host": host(site),
        "address": str(site.network.ingress_vip or ""),
        "leases": [
            *(f"ava-{part}" for part in PARTS if part != "api"),
            *(["ava-storage"] if mount(site) else []),
        ],
    }


def leaves(site: Site) -> Iterator[Leaf]:
    """Yield the certificates that the interface shows to the image registry and to Prometheus, in which it only reads."""
    if site.components.ava and site.with_role("registry"):
        yield Leaf(REGISTRY_CLIENT, Authority.IMAGES, REGISTRY_CLIENT, REGISTRY_USER)
        yield Leaf(REGISTRY_TOKENS, Authority.IMAGE_TOKENS, REGISTRY_TOKENS, "ava")
    if site.components.ava and metered(site):
        yield Leaf(METRICS_CLIENT, Authority.METRICS, METRICS_CLIENT, "ava")


COMPONENT = Component(
    phase=Phase(
        "ava",
        "the platform: API, operator, scheduler",
        "playbooks/ava.yml",
        ("addons", "registry", "database"),
        ("registry", "master", "worker"),
        ("ava",),
        component="ava",
        artifacts=("ava-image", "ava-init"),
        optional=IMAGES,
        wants=images,
        apart=True,
    ),
    duties={"ava": controls, DATABASE_CHECKS: keepers},
    leaves=leaves,
    programs=(
        Program(
            "ava",
            ("ava",),
            (
                "bash",
                "-c",
                "kubectl --kubeconfig=/root/.kube/config --request-timeout=10s get deployments "
                f"--namespace={NAMESPACE} -o '{_IMAGES}' | sed 's/.*://' | sort -u",
            ),
        ),
    ),
    questions=(
        Probe("ava", ("ava",), witnesses=2),
        Probe("ava_runs", ("ava",), witnesses=1),
        Probe("ava_ledger", (DATABASE_CHECKS,), seconds=60),
    ),
)
