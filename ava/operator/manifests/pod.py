"""The pod of one place of a run, as Kubernetes' object.

What a tenant wrote reaches it only as data: image, command, variables.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC
from typing import Any

from ava.domain import disks, folders, labels, mpi
from ava.domain.disks import Disk
from ava.domain.folders import Bound
from ava.domain.model import Group, Kind, Pool, Run, User
from ava.domain.pod_status import RESTARTS
from ava.domain.spec import Amount, Distributed, Role, Spec
from ava.operator.manifests import hostfile, model_service, pod_parts, workbench_files
from ava.operator.manifests.hostfile import Member
from ava.operator.manifests.tf_config import tf_config

NAME = f"{labels.PREFIX}/name"
"""Annotation: the run's name, which may be longer than a label."""
KIND = f"{labels.PREFIX}/kind"
MAIN = "main"
TENSORBOARD_PORT = 6006
RESERVED = frozenset({"TF_CONFIG", "NVIDIA_VISIBLE_DEVICES", "NVIDIA_DRIVER_CAPABILITIES", "KUBERNETES_PORT"})
_RESERVED_PREFIXES = ("AVA_", "NVIDIA_", "OMPI_MCA_plm_", "KUBERNETES_")


@dataclass(frozen=True, slots=True)
class PodDefaults:
    """What a site chooses for all pods.

    Attributes:
        init: file on every node that is started before each command (it must forward signals to the process group).
        init_args: its arguments; the command follows.
        grace: seconds between SIGTERM and SIGKILL.
        seccomp: profile (1.9: ``docker/default``); empty where the kernel has none.
        git_image: has ``sh``, ``git`` and ``ssh``; clones a training's code.
        domain: of the cluster's DNS.
        pull_secret: name of a Secret for the registry in each group's namespace; empty: none.
        pull_policy: ``imagePullPolicy``.
        extra_labels: put on each pod, for the site's own tools.
        mount: where nodes have the shared file system; empty: there is none, and homes last as long as their pods.
    """

    init: str = "/usr/lib/ava/init"
    init_args: tuple[str, ...] = ("-s", "-g", "--")
    grace: int = 30
    seccomp: str = "docker/default"
    git_image: str = ""
    domain: str = "cluster.local"
    pull_secret: str = ""
    pull_policy: str = "IfNotPresent"
    extra_labels: dict[str, str] = field(default_factory=dict)
    mount: str = ""


@dataclass(frozen=True, slots=True)
class PodContext:
    """Whose pod it is and where in the run.

    Attributes:
        members: all pods of the run's attempt.
        pool: where its run's queue, or what it asks for, sends it; None: there is none.
        restarts: how often this place's pod was replaced within the attempt.
        groups: all that the owner is in now; their folders are mounted.
        data: data sets that are mounted.
        queue_priority: of the run's queue.
        pinned: whether the role goes to the pool of the node that the run names.
        disk: the workbench's own; ``disk_node`` is where it is, empty: it is made where the pod comes.
    """

    run: Run
    spec: Spec
    role: Role
    index: int
    owner: User
    group: Group
    members: tuple[Member, ...]
    pool: Pool | None
    restarts: int = 0
    groups: tuple[Group, ...] = ()
    data: tuple[Bound, ...] = ()
    disk: Disk | None = None
    disk_node: str = ""
    queue_priority: int = 0
    pinned: bool = True

    @property
    def name(self) -> str:
        """Return the pod's name."""
        return labels.pod(self.run.id, self.run.attempt, self.role.name, self.index)


def pod(place: PodContext, site: PodDefaults) -> dict[str, Any]:
    """Return the pod's object without ``kind`` and ``apiVersion``.

    Raises ValueError for an owner whose uid or a group whose gid is a system's (below 1000): no pod runs as root.
    """
    run, spec, role = place.run, place.spec, place.role
    if place.owner.uid < 1000 or place.group.gid < 1000:
        raise ValueError(f"uid {place.owner.uid} and gid {place.group.gid}: wanted 1000 or more")
    inits = []
    if spec.git is not None:
        inits.append(pod_parts.clone(spec.git, site.git_image))
    if spec.distributed is Distributed.MPI and hostfile.launcher(spec).name == role.name:
        inits.append(pod_parts.wait_for_peers(spec.image))
    body: dict[str, Any] = {
        "restartPolicy": "Never",
        "schedulerName": labels.SCHEDULER,
        "automountServiceAccountToken": False,
        "hostNetwork": False,
        "hostPID": False,
        "hostIPC": False,
        "hostname": place.name,
        "subdomain": hostfile.service(run.id, run.attempt),
        "terminationGracePeriodSeconds": site.grace,
        "securityContext": {
            "runAsUser": place.owner.uid,
            # 1.9 does not know runAsGroup and drops it; the supplemental group gives the rights there.
            "runAsGroup": place.group.gid,
            "runAsNonRoot": True,
            "fsGroup": place.group.gid,
            "supplementalGroups": folders.gids(place.group, place.groups),
        },
        "tolerations": _tolerations(role.each),
        # The platform's own scripts, which leave the home as it is.
        "initContainers": [pod_parts.confined(c, place.owner.name, reads=True) for c in inits],
        "containers": [pod_parts.confined(_main(place, site), place.owner.name)],
        "volumes": _volumes(place, site),
    }
    if wanted := folders.nodes(site.mount, place.data):
        body["nodeSelector"] = wanted
    if site.pull_secret:
        body["imagePullSecrets"] = [{"name": site.pull_secret}]
    if not inits:
        del body["initContainers"]
    made = {
        "metadata": {
            "name": place.name,
            "namespace": labels.namespace(run.group),
            "labels": marks(run)
            | {labels.ROLE: role.name, labels.INDEX: str(place.index)}
            | site.extra_labels,
            "annotations": _annotations(place, site),
        },
        "spec": body,
    }
    if run.kind is Kind.SERVICE and spec.serving is not None:
        return model_service.served(made, spec.serving)
    return made


def marks(run: Run) -> dict[str, str]:
    """Return the labels of everything that is made for a run's present attempt."""
    return {
        labels.MANAGED: "true",
        labels.RUN: run.id,
        labels.ATTEMPT: str(run.attempt),
        labels.OWNER: run.owner,
        labels.GROUP: run.group,
        KIND: run.kind.value,
    }


def _annotations(place: PodContext, site: PodDefaults) -> dict[str, str]:
    run, spec = place.run, place.spec
    # A pod that comes in place of another is placed alone, and so is each replica of a service: the others run already.
    alone = place.restarts or run.kind is Kind.SERVICE
    report = {
        NAME: run.name,
        RESTARTS: str(place.restarts),
        labels.GANG: "1" if alone else str(spec.pods()),
        labels.QUEUE_PRIORITY: str(place.queue_priority),
        labels.PRIORITY: str(run.priority),
        labels.CREATED: run.created.astimezone(UTC).isoformat(),
    }
    if place.pool is not None:
        report[labels.POOL] = place.pool.name
    if spec.node and place.pinned:
        report[labels.NODE] = spec.node
    if spec.gpu_model and place.role.each.gpu:
        report[labels.MODEL] = spec.gpu_model
    if place.disk is not None:
        report |= (
            {labels.DISK_NODE: place.disk_node} if place.disk_node else {labels.DISK: str(place.disk.wanted)}
        )
    if site.seccomp:
        report["seccomp.security.alpha.kubernetes.io/pod"] = site.seccomp
    return report


def _tolerations(each: Amount) -> list[dict[str, str]]:
    return [{"key": labels.GPU, "operator": "Exists", "effect": "NoSchedule"}] if each.gpu else []


def resources(each: Amount, pool: Pool | None) -> dict[str, dict[str, str]]:
    """Return requests and limits; a limit is at most the request times the pool's ratio (N3)."""
    cpu_ratio, memory_ratio = (pool.cpu_ratio, pool.memory_ratio) if pool else (1.0, 1.0)
    cpu = _limit(each.cpu, each.cpu_limit, cpu_ratio)
    memory = _limit(each.memory, each.memory_limit, memory_ratio)
    asks = {"cpu": f"{each.cpu}m", "memory": str(each.memory)}
    limits = {"cpu": f"{cpu}m", "memory": str(memory)}
    if each.gpu:
        asks[labels.GPU] = limits[labels.GPU] = str(each.gpu)
    return {"requests": asks, "limits": limits}


def _limit(request: int, wanted: int | None, ratio: float) -> int:
    return max(request, min(wanted or request, int(request * max(ratio, 1.0))))


def _main(place: PodContext, site: PodDefaults) -> dict[str, Any]:
    spec, role = place.spec, place.role
    container: dict[str, Any] = {
        "name": MAIN,
        "image": spec.image,
        "imagePullPolicy": site.pull_policy,
        "env": _environment(place),
        "resources": resources(role.each, place.pool),
        "volumeMounts": [
            {"name": "shm", "mountPath": "/dev/shm"},  # noqa: S108 - a mount point
            {"name": "init", "mountPath": pod_parts.INIT, "readOnly": True},
            {"name": "run", "mountPath": hostfile.FOLDER, "readOnly": True},
            *folders.mounts(site.mount, place.groups, place.data),
        ],
        "terminationMessagePolicy": "FallbackToLogsOnError",
    }
    if variables(spec):
        # Kept once for all pods of the attempt, not in each.
        container["envFrom"] = [{"secretRef": {"name": env_name(place.run)}}]
    command = role.command or spec.command
    if spec.distributed is Distributed.MPI:
        container["volumeMounts"].append({"name": "ssh", "mountPath": mpi.SSH, "readOnly": True})
        if hostfile.launcher(spec).name != role.name and not role.command:
            command = pod_parts.SSHD
    if place.run.kind is Kind.WORKBENCH:
        container["volumeMounts"].append(
            {"name": "bench", "mountPath": workbench_files.FOLDER, "readOnly": True}
        )
        command = ("/bin/sh", f"{workbench_files.FOLDER}/start", *command)
    if place.disk is not None:
        container["volumeMounts"].append({"name": "disk", "mountPath": disks.PATH})
    if command:
        groups = ",".join(map(str, folders.gids(place.group, place.groups)))
        container["command"] = pod_parts.literal((pod_parts.INIT, "-G", groups, *site.init_args, *command))
    if spec.git is not None:
        container["volumeMounts"].append({"name": "code", "mountPath": pod_parts.CODE})
        container["workingDir"] = pod_parts.CODE
    if spec.tensorboard:
        container["ports"] = [{"name": "tensorboard", "containerPort": TENSORBOARD_PORT}]
    return container


def variables(spec: Spec) -> dict[str, str]:
    """Return the user's variables, without those that are the platform's."""
    return {n: v for n, v in spec.env.items() if n not in RESERVED and not n.startswith(_RESERVED_PREFIXES)}


def env_name(run: Run) -> str:
    """Return the name of the Secret with the user's variables of the run's present attempt."""
    return f"{hostfile.service(run.id, run.attempt)}-env"


def _environment(place: PodContext) -> list[dict[str, str]]:
    """Return the platform's variables, which come before the user's of the same name (``envFrom``)."""
    spec = place.spec
    report = {
        "AVA_RUN": place.run.id,
        "AVA_ROLE": place.role.name,
        "AVA_INDEX": str(place.index),
        "AVA_HOSTS": f"{hostfile.FOLDER}/hosts",
    }
    if spec.distributed is Distributed.TENSORFLOW:
        report["TF_CONFIG"] = tf_config(place.members, place.role.name, place.index, chief=spec.chief)
    if spec.distributed is Distributed.MPI:
        report |= mpi.ENVIRONMENT
    if not place.role.each.gpu:
        # An image may say "all"; on a node whose default runtime is NVIDIA's that would be every card.
        report["NVIDIA_VISIBLE_DEVICES"] = "void"
    # Defaults of the platform's, which would come before the user's.
    report |= {name: spec.env[name] for name in ("HOME", "USER") if name in spec.env}
    return [{"name": name, "value": pod_parts.escape(value)} for name, value in report.items()]


def _volumes(place: PodContext, site: PodDefaults) -> list[dict[str, Any]]:
    run, spec = place.run, place.spec
    name = hostfile.service(run.id, run.attempt)
    found: list[dict[str, Any]] = [
        {"name": "shm", "emptyDir": {"medium": "Memory", "sizeLimit": str(place.role.each.memory)}},
        {"name": "init", "hostPath": {"path": site.init, "type": "File"}},
        {"name": "run", "configMap": {"name": name, "defaultMode": 0o444}},
        {"name": "home"} | folders.home(site.mount, place.owner),
        *folders.volumes(site.mount, place.groups, place.data),
    ]
    if run.kind is Kind.WORKBENCH:
        kept = {"secretName": workbench_files.name(run), "defaultMode": 0o440}
        found.append({"name": "bench", "secret": kept})
    if place.disk is not None:
        found.append({"name": "disk", "persistentVolumeClaim": {"claimName": place.disk.claim}})
    if spec.distributed is Distributed.MPI:
        found.append({"name": "ssh", "secret": {"secretName": f"{name}-ssh", "defaultMode": 0o440}})
    if spec.git is not None:
        found.append({"name": "code", "emptyDir": {}})
        if spec.git.key:
            found.append({"name": "git", "secret": {"secretName": f"{name}-git", "defaultMode": 0o440}})
    return found
