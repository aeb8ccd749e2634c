"""The phase graph (docs/architecture.md): what is installed where, in which order, what at once."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from graphlib import TopologicalSorter
from typing import Any

from avadm.errors import AvadmError
from avadm.findings import Finding
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
    # Before `nodes`: where this runtime is docker's default, no container starts without it.
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
        ("kube_common", "kube_apiserver", "kube_vip", "kube_controllers"),
        artifacts=("kubernetes",),
    ),
    Phase(
        "nodes",
        "Kubernetes' nodes and the network of pods",
        "playbooks/nodes.yml",
        ("masters", "docker", "gpu"),
        ("master", "worker"),
        ("kube_common", "kube_node", "calico", "gpu_device_plugin"),
        artifacts=("kubernetes", "cni-plugins", "pause", "calico", "calico-image"),
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


@dataclass(frozen=True, slots=True)
class Step:
    """One phase of a plan.

    Attributes:
        phase: the phase.
        hosts: nodes that take part, in the site file's order; never empty.
        needs: phases *of this plan* that must be done before.
        wave: steps of one wave may run at once; 1 is the first.
        pulled_in: whether the phase was not asked for but is needed and not done yet.
    """

    phase: Phase
    hosts: tuple[str, ...]
    needs: tuple[str, ...]
    wave: int
    pulled_in: bool = False

    @property
    def name(self) -> str:
        """The phase's name."""
        return self.phase.name

    def as_dict(self) -> dict[str, Any]:
        """Return the step as JSON-ready data."""
        return {
            "name": self.name,
            "title": self.phase.title,
            "playbook": self.phase.playbook,
            "wave": self.wave,
            "needs": list(self.needs),
            "hosts": list(self.hosts),
            "pulled_in": self.pulled_in,
        }


def select(names: Sequence[str], phases: Sequence[Phase] = PHASES) -> list[Phase]:
    """Return the named phases (all where none is named) in the graph's order.

    Raises:
        AvadmError: for every name that is no phase, with the nearest one.
    """
    known = {p.name: p for p in phases}
    findings = []
    for name in names:
        if name in known:
            continue
        near = get_close_matches(name, known, n=1, cutoff=0.5)
        findings.append(
            Finding(
                "unknown-phase",
                f"There is no phase {name!r}." + (f" Did you mean {near[0]!r}?" if near else ""),
                where="command line",
                found=name,
                wanted=", ".join(known),
                remedy="Name one of these, or none for all.",
            )
        )
    if findings:
        raise AvadmError(findings)
    return [p for p in phases if not names or p.name in names]


def make_plan(
    site: Site,
    names: Sequence[str] = (),
    *,
    limit: Collection[str] = (),
    pull_in: Collection[str] = (),
    phases: Sequence[Phase] = PHASES,
) -> list[Step]:
    """Return the phases to run in order, without those that have no nodes.

    Args:
        site: the site.
        names: phases that are asked for; all where empty.
        limit: names of the nodes that may be touched; all where empty.
        pull_in: phases that are not done yet: they are added where a phase that is asked for needs them.
        phases: the graph, for tests.

    Raises:
        AvadmError: for unknown phase names, and a limit that leaves nothing to do.
    """
    asked = {p.name for p in select(names, phases)}
    allowed = limit or {n.name for n in site.nodes}
    by_name = {p.name: p for p in phases}
    wanted = asked | {n for a in asked for n in _ancestors(a, by_name) if n in pull_in}
    hosts = {
        p.name: kept
        for p in phases
        if p.name in wanted and (kept := tuple(h for h in p.hosts(site) if h in allowed))
    }
    if not asked & hosts.keys():
        raise AvadmError(
            Finding(
                "nothing-to-do",
                "No node takes part in what was asked for.",
                where="--limit" if limit else "site file",
                found=", ".join(limit) or "no node with these roles",
                wanted="; ".join(f"{n}: {', '.join(by_name[n].groups) or 'any node'}" for n in sorted(asked)),
                remedy="Name other phases or other nodes, or give nodes these roles in the site file.",
            )
        )
    # A phase that is left out hands its own needs on, so that order survives a gap.
    needs = {name: _inherited(by_name[name].needs, hosts.keys(), by_name) for name in hosts}
    steps: dict[str, Step] = {}
    rank = {p.name: i for i, p in enumerate(phases)}
    for name in _order(needs, rank):
        wave = 1 + max((steps[n].wave for n in needs[name]), default=0)
        steps[name] = Step(by_name[name], hosts[name], needs[name], wave, name not in asked)
    return sorted(steps.values(), key=lambda s: (s.wave, rank[s.name]))


def _ancestors(name: str, by_name: dict[str, Phase]) -> set[str]:
    direct = by_name[name].needs
    return set(direct).union(*(_ancestors(n, by_name) for n in direct))


def _inherited(needs: Iterable[str], kept: Collection[str], by_name: dict[str, Phase]) -> tuple[str, ...]:
    out: list[str] = []
    for name in needs:
        found = (name,) if name in kept else _inherited(by_name[name].needs, kept, by_name)
        out += [f for f in found if f not in out]
    return tuple(out)


def _order(needs: dict[str, tuple[str, ...]], rank: dict[str, int]) -> list[str]:
    # graphlib raises CycleError for a cycle, which only a mistake in PHASES can make (a unit test looks).
    sorter = TopologicalSorter({name: needs[name] for name in sorted(needs, key=rank.__getitem__)})
    return list(sorter.static_order())
