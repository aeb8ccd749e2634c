"""The phases: what is installed where, after what (docs/architecture.md)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from avadm.site import cache
from avadm.site.model import Node, Site


@dataclass(frozen=True, slots=True)
class Phase:
    """One playbook and where it belongs.

    Attributes:
        name: what a user types.
        title: what it does, for people.
        playbook: path relative to the checkout.
        needs: phases that must be done before.
        groups: node roles whose nodes take part; empty means every node.
        roles: Ansible roles of the playbook in order; their files are part of the phase's digest.
        borrows: roles of which the playbook includes single task files; their files are part of the digest too,
            their variables are not.
        makes: key of components.ceph that the phase makes or serves; without a value no node takes part.
        component: key of components that the phase installs; where the site file has none no node takes part.
        only_with: role in the site file; without a node that has it no node takes part.
        chooses: returns the nodes that take part, where roles alone do not say it; ``groups`` are those of the playbook.
        artifacts: names in artifacts/manifest.yml of what the phase installs from the cache.
    """

    name: str
    title: str
    playbook: str
    needs: tuple[str, ...]
    groups: tuple[str, ...]
    roles: tuple[str, ...]
    borrows: tuple[str, ...] = ()
    makes: str = ""
    component: str = ""
    only_with: str = ""
    chooses: Callable[[Site], Sequence[Node]] | None = None
    artifacts: tuple[str, ...] = ()

    def hosts(self, site: Site) -> tuple[str, ...]:
        """Return the names of the nodes that take part, in the site file's order."""
        if self.makes and not getattr(site.components.ceph, self.makes):
            return ()
        if self.component and getattr(site.components, self.component) is None:
            return ()
        if self.only_with and not site.with_role(self.only_with):
            return ()
        if self.chooses:
            return tuple(n.name for n in self.chooses(site))
        return tuple(n.name for n in site.nodes if not self.groups or set(self.groups) & set(n.roles))


PHASES: tuple[Phase, ...] = (
    Phase("base", "operating system basics and time", "playbooks/base.yml", (), (), ("base", "chrony")),
    Phase(
        "ceph",
        "storage cluster",
        "playbooks/ceph.yml",
        ("base",),
        ("mon", "mgr", "osd"),
        ("ceph_common", "ceph_mon", "ceph_mgr", "ceph_osd"),
    ),
    Phase(
        "cephfs",
        "shared file system",
        "playbooks/cephfs.yml",
        ("ceph",),
        ("mds", "mon", "client"),
        ("ceph_common", "ceph_mds", "ceph_fs", "ceph_client"),
        makes="filesystem",
    ),
    Phase(
        "rbd",
        "block volumes",
        "playbooks/rbd.yml",
        ("ceph",),
        ("mon", "client"),
        ("ceph_common", "ceph_rbd"),
        makes="rbd_pools",
    ),
    Phase(
        "objects",
        "object store (S3)",
        "playbooks/objects.yml",
        ("ceph",),
        ("rgw", "mon", "client"),
        ("ceph_common", "ceph_rgw", "objects_vip", "objects_client"),
        ("kube_common",),
        component="object_store",
    ),
    Phase(
        "monitoring",
        "metrics and alerts",
        "playbooks/monitoring.yml",
        ("base",),
        (),
        ("node_exporter", "alertmanager", "prometheus", "blackbox_exporter"),
        ("grafana",),
    ),
    Phase(
        "logs",
        "logs of nodes and pods",
        "playbooks/logs.yml",
        ("base", "monitoring"),
        (),
        ("log_store", "log_shipper", "log_watch"),
        artifacts=("victoria-logs",),
        component="logs",
    ),
    Phase("etcd", "Kubernetes' data base", "playbooks/etcd.yml", ("base",), ("etcd",), ("etcd",)),
    Phase("docker", "container engine", "playbooks/docker.yml", ("base",), ("master", "worker"), ("docker",)),
    # Before `nodes`: the device plug-in there mounts the driver, and offers GPUs that the driver has.
    Phase(
        "gpu",
        "GPU drivers, runtime, metrics",
        "playbooks/gpu.yml",
        ("docker",),
        ("gpu",),
        ("gpu_driver", "gpu_runtime", "gpu_exporter"),
    ),
    Phase(
        "masters",
        "Kubernetes' control plane",
        "playbooks/masters.yml",
        ("etcd",),
        ("master",),
        ("kube_common", "kube_admission", "kube_apiserver", "kube_vip", "kube_controllers"),
        artifacts=("kubernetes", "admission"),
    ),
    Phase(
        "nodes",
        "Kubernetes' nodes and the network of pods",
        "playbooks/nodes.yml",
        ("masters", "docker", "gpu"),
        ("master", "worker"),
        ("kube_common", "kube_node", "calico", "gpu_device_plugin"),
        artifacts=("kubernetes", "cni-plugins", "pause", "calico", "calico-image", "gpu-device-plugin"),
    ),
    Phase(
        "addons",
        "cluster DNS, ingress, states of objects",
        "playbooks/addons.yml",
        ("nodes",),
        ("master", "dns", "ingress", "prometheus"),
        ("kube_addons", "coredns", "ingress", "load_balancer", "kube_state_metrics", "prometheus_pods"),
        ("kube_common", "kube_volumes"),
        only_with="master",
        artifacts=("coredns", "traefik", "kube-state-metrics"),
    ),
    Phase(
        "volumes",
        "volumes for pods",
        "playbooks/volumes.yml",
        ("addons", "cephfs", "rbd"),
        ("mon", "master", "client"),
        ("kube_volumes",),
        makes="filesystem",
        only_with="master",
    ),
    Phase(
        "registry",
        "image registry",
        "playbooks/registry.yml",
        ("docker", "cephfs"),
        ("registry",),
        ("registry",),
        artifacts=("pause", "base-image"),
    ),
    Phase(
        "cache",
        "cache before file system and object stores",
        "playbooks/alluxio.yml",
        ("base", "cephfs", "objects"),
        ("alluxio_master", "alluxio_worker", "alluxio_client"),
        ("alluxio",),
        component="alluxio",
        chooses=cache.members,
        artifacts=("alluxio",),
    ),
    Phase("grafana", "dashboards", "playbooks/grafana.yml", ("monitoring",), ("grafana",), ("grafana",)),
)
