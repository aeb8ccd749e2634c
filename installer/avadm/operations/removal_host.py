"""The node's own part of its removal: what avadm started there is stopped, keys that let it into the site are removed.

Data stay: disks are never written. They are erased by hand before the node is installed again, or given away.
"""

from __future__ import annotations

import shlex

from avadm.operations.model import Step
from avadm.operations.removal_model import STOP, Leaving, Part
from avadm.state.lock.nodes import FOLDER

OF_ROLE = {"alluxio_worker": ("avadm-alluxio-worker",)}
"""Role to units that nothing else stops."""
UNITS = (
    *(unit for units in OF_ROLE.values() for unit in units),
    "avadm-alluxio-fuse",
    "avadm-gpu-device-plugin",
    "avadm-gpu-exporter",
    "nvidia-persistenced",
    "avadm-pod-targets",
    "avadm-log-store",
    "avadm-log-shipper",
    "avadm-localnet",
    "docker.socket",
    "docker",
    "avadm-balancer",
    "avadm-cephfs",
    "prometheus-node-exporter",
    "keepalived",
    "haproxy",
    "ceph-crash",
    "chrony",
)
"""What a node with roles that can be removed runs beside the programs of its roles; mounts after those who use them. The clock
service would keep asking nodes that no longer answer this one. Its packet filter stays."""
TIMERS = "systemctl list-units --all --plain --no-legend 'avadm-*.timer' | cut -d' ' -f1 | xargs -r systemctl disable --now"
"""Stops what avadm runs from time to time."""
FOLDERS = (
    "/etc/ceph",
    "/etc/kubernetes",
    "/etc/calico",
    "/etc/avadm",
    "/etc/alluxio",
    "/etc/alertmanager",
    "/etc/coredns",
    "/etc/docker-registry",
    "/etc/etcd",
    "/etc/grafana",
    "/etc/haproxy",
    "/etc/patroni",
    "/etc/pgbackrest",
    "/etc/prometheus",
    "/etc/traefik",
    "/root/.kube",
    "/var/lib/ceph/mds",
    "/var/lib/ceph/mgr",
    "/var/lib/ceph/osd",
)
SECRETS = (
    "*.keyring",
    "keyring",
    "osd_key",
    "*.key",
    "*.pem",
    "*.kubeconfig",
    "kubeconfig",
    "*.secret",
    "*.password",
    "admin_password",
    "encryption.yml",
    "pgbackrest.conf",
    "store.json",
)
FILES = ("/root/.kube/config", "/etc/patroni/config.yml")
"""Files with secrets whose names others have too."""


def part(leaving: Leaving) -> Part:
    """Plan it."""
    if leaving.dead:
        return Part()
    units = (
        UNITS if leaving.whole else tuple(u for role in sorted(leaving.roles) for u in OF_ROLE.get(role, ()))
    )
    if not units:
        return Part()
    stops = [*([TIMERS] if leaving.whole else []), *(STOP.format(unit=unit) for unit in units)]
    script = "; ".join(f"{{ {one}; }}" for one in stops)
    step = Step(
        "stop what it runs" if leaving.whole else f"stop {', '.join(units)}",
        lambda tell: leaving.run(script),
        leaving.touched,
    )
    if not leaving.whole:
        return Part([step])
    names = " -o ".join(f"-name {shlex.quote(name)}" for name in SECRETS)
    copies = shlex.quote(f"{FOLDER}/{leaving.cluster.site.name}")
    # The copies of the site's state go with the lock's folder; no later run asks this node.
    files = " ".join(FILES)
    erase = f"find {' '.join(FOLDERS)} -xdev -type f \\( {names} \\) -delete 2>/dev/null; rm -f {files}; rm -rf {copies}"

    def act(tell: object) -> None:
        if leaving.cluster.replica is not None:
            leaving.cluster.replica.nodes.leave(leaving.name)
        leaving.run(erase)

    return Part([step, Step("remove its keys and its copy of the site's state", act, leaving.touched)])
