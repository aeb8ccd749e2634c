"""K-VOL, K-VOL-RBD, K-VOL-LOCAL: volumes of each storage class keep what pods write, for whom they may, and no longer."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass

from avadm_validation.measuring.context import Context, MeasureError, Outcome
from avadm_validation.measuring.metrics import metric
from avadm_validation.protocol.model import Metric, Verdict
from avadm_validation.suites.kubernetes import volumes as v
from avadm_validation.suites.kubernetes.cluster import Cluster

REMEDY = (
    "kubectl describe pvc and pod (their events say why); journalctl -u avadm-volumes (local: avadm-volumes-local) and "
    "kubelet on the nodes."
)
ONE = threading.Lock()
"""The classes' checks run at the same time, and share one pass."""
ALONE_WORDS = (
    "; the second pod meanwhile waits and has an event, every node is asked for mounts, and it gets the volume when "
    "the first pod is gone"
)


class ClassMetrics:
    """One class' part of what was measured of all.

    Args:
        ctx: the check.
        kind: the storage class.
        texts: what was printed, by name.
    """

    def __init__(self, ctx: Context, kind: str, texts: dict[str, str]) -> None:
        self.ctx, self.kind = ctx, kind
        # Each check's numbers come from raw files of its own.
        self.paths = {name: ctx.rec.save(f"all-{name}", text) for name, text in texts.items()}
        self.names = {"claim": v.name(kind), "first": v.name(kind, 1), "second": v.name(kind, 2)}

    def metric(
        self,
        name: str,
        titles: tuple[str, str],
        unit: str,
        extract: str,
        groups: Sequence[str],
        **params: str,
    ) -> Metric:
        """Return a metric of one sample."""
        inputs = {group.partition("=")[0]: [self.paths[group.rpartition("=")[2]]] for group in groups}
        return metric(name, titles, unit, "cluster", [self.ctx.sample(extract, inputs, **params)])

    def named(self, *keys: str) -> dict[str, str]:
        """Return parameters that name the claim, the first, the second pod."""
        return {k: self.names[k] for k in keys}

    def bound(self) -> Metric:
        """Return whether the claim is bound as it asked."""
        return self.metric(
            "bound",
            ("claim bound to a volume of its class (1 = yes)", "存储声明已绑定"),
            "bool",
            "kube_bound",
            ["claims", "volumes"],
            **self.named("claim"),
            **{"class": self.kind, "mode": v.MODES[self.kind]},
        )

    def same(self, place: str, read: str = "read") -> Metric:
        """Return whether the second pod read what the first wrote."""
        mib = int(self.ctx.params["file_mib"])
        return self.metric(
            "same",
            ("another pod reads what was written (1 = yes)", "另一容器组读到相同内容"),
            "bool",
            "kube_same_content",
            ["written", f"read={read}"],
            sha256=v.digest(self.ctx.run, self.kind, mib),
            place=place,
            **self.named("first", "second"),
        )

    def rest(self) -> list[Metric]:
        """Return what is the same for all: the volume goes with its claim; the times, which are not judged."""
        return [
            self.metric(
                "left",
                ("volumes that outlive their claim", "未回收的卷"),
                "volumes",
                "kube_volume_left",
                ["claims", "left"],
                **self.named("claim"),
            ),
            self.metric(
                "made-in",
                ("claim to volume", "从声明到卷"),
                "s",
                "kube_claim_s",
                ["claims", "volumes"],
                **self.named("claim"),
            ),
            self.metric(
                "started-in",
                ("pod with a claim to running", "带卷容器组启动"),
                "s",
                "kube_pod_s",
                ["pods"],
                pod=self.names["first"],
            ),
        ]


def driven(cluster: Cluster) -> dict[str, str]:
    """Return what the one pass over all classes printed; the check that comes first makes it, the others wait."""
    shared = cluster.ctx.shared
    with ONE:
        if "volumes" not in shared:
            try:
                shared["volumes"] = v.Drive(cluster).run()
            except MeasureError as error:
                shared["volumes"] = error
    if isinstance(shared["volumes"], MeasureError):
        raise shared["volumes"]
    texts: dict[str, str] = shared["volumes"]
    return texts


@dataclass
class VolumeCheck:
    """The check of one storage class."""

    ID: str
    TITLE: tuple[str, str]
    NEEDS: str
    kind: str

    def run(self, ctx: Context) -> Outcome:
        """Drive all classes, once for all their checks; judge this one."""
        cluster = Cluster(ctx)
        if self.kind in v.APART and len(cluster.kube.mounters) < 2:
            why = "one node alone runs pods and mounts volumes of ceph: nothing can be read on another"
            remedy = "Give a second node the roles client and worker."
            return Outcome(method="", verdict=Verdict.BLOCKED, reasons=[why], remedy=remedy)
        part = ClassMetrics(ctx, self.kind, driven(cluster))
        place = "apart" if self.kind in v.APART else "same"
        alone = self.kind == v.ALONE
        metrics = [part.bound(), part.same(place, "moved" if alone else "read")]
        if alone:
            metrics += self.alone(part)
        if self.kind == "cephfs":
            metrics += self.classes(part, cluster)
        where = "another node" if place == "apart" else "the same node"
        return Outcome(
            method=f"a claim of {ctx.params['claim_mib']} MiB of the class {self.kind} ({v.MODES[self.kind]}); a pod writes "
            f"{ctx.params['file_mib']} MiB of known sha256 and has them on disk (fsync), a second one on {where} reads them"
            f"{ALONE_WORDS if alone else ''}; then pods and claim are deleted. All classes of the site at once "
            f"({', '.join(cluster.kube.classes)}); times in whole seconds, from the API's objects, not judged",
            metrics=[*metrics, *part.rest()],
            remedy=REMEDY,
        )

    def alone(self, part: ClassMetrics) -> list[Metric]:
        """Return whether a second node was kept off the volume."""
        return [
            part.metric(
                "refused",
                (
                    "a second node's pod waits, with the reason in its events (1 = yes)",
                    "第二节点被拒绝并说明原因",
                ),
                "bool",
                "kube_waits",
                ["pods", "events"],
                words=v.WAITS,
                **part.named("first", "second"),
            ),
            part.metric(
                "mounted",
                ("nodes that have it mounted meanwhile", "同时挂载该卷的节点"),
                "nodes",
                "kube_mounted",
                ["claims", "written", "mounts"],
                **part.named("claim", "first"),
            ),
        ]

    def classes(self, part: ClassMetrics, cluster: Cluster) -> list[Metric]:
        """Return whether the classes are those of the site file."""
        kube = cluster.kube
        return [
            part.metric(
                "classes",
                ("storage classes of the site that are missing", "缺失的存储类"),
                "classes",
                "kube_class_missing",
                ["classes"],
                wanted=",".join(kube.classes),
            ),
            part.metric(
                "default",
                ("a claim without a class gets the site file's (1 = yes)", "默认存储类符合"),
                "bool",
                "kube_default_class",
                ["classes", "claims"],
                wanted=kube.default_class,
                claim=v.name(kube.default_class),
            ),
        ]


SHARED = ("Kubernetes: shared volumes (cephfs), storage classes", "Kubernetes:共享卷与存储类")
BLOCK = ("Kubernetes: block volumes, one writer", "Kubernetes:块存储卷单写")
OWN = ("Kubernetes: volumes on nodes' own disks", "Kubernetes:本地卷")
CEPHFS = VolumeCheck("K-VOL", SHARED, "class cephfs", "cephfs")
RBD = VolumeCheck("K-VOL-RBD", BLOCK, "class rbd", "rbd")
LOCAL = VolumeCheck("K-VOL-LOCAL", OWN, "class local", "local")
CHECKS = (CEPHFS, RBD, LOCAL)
