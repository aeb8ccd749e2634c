"""Pods that should be gone and are not: why, reported to their owner and to the metrics, and the documented last step (A-SC2).

A node that has not answered for ``dead_node`` seconds is dead: its pods are forgotten without its kubelet, so that their
runs end or start elsewhere. When it comes back, its kubelet kills what it still has. On a living node a pod is forgotten
only where the site says so (``force``): its container may still run, and would have its GPU beside the next one.
"""

from __future__ import annotations

import logging
import time
from collections import Counter
from collections.abc import Callable

from ava.domain.pod_failures import FailureReason
from ava.kube.client import Object
from ava.kube.for_each import for_each
from ava.kube.resources import PODS
from ava.operator.cluster import Cluster, run_of
from ava.operator.config import Times
from ava.operator.metrics import Metrics

log = logging.getLogger(__name__)
REASONS = ("NodeGone", "NodeLost", "Stuck")


class Watchdog:
    """Watches pods that are being removed, and nodes that do not answer. All times are by its own clock."""

    def __init__(
        self,
        cluster: Cluster,
        times: Times,
        metrics: Metrics,
        changed: Callable[[str], None],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.cluster, self.times, self.metrics, self.changed, self.clock = (
            cluster,
            times,
            metrics,
            changed,
            clock,
        )
        self.stuck: dict[str, FailureReason] = {}
        """By the pod's uid."""
        self._ending: dict[str, float] = {}
        self._silent: dict[str, float] = {}
        self._away: dict[str, float] = {}
        """Since when the node of a pod is not among the nodes, by the node's name."""

    async def look(self) -> None:
        """Look at all pods once."""
        now = self.clock()
        self._look_at_nodes(now)
        pods = list(self.cluster.pods.objects.values())
        there = {pod["metadata"]["uid"] for pod in pods}
        for gone in [uid for uid in self._ending if uid not in there]:
            del self._ending[gone]
        found: dict[str, FailureReason] = {}
        force: list[Object] = []
        for pod in pods:
            try:
                why = self._why(pod, now)
                if why is not None:
                    found[pod["metadata"]["uid"]] = why
                    if self._may_forget(pod, now):
                        force.append(pod)
            except Exception:
                log.exception("pod %s cannot be read", pod["metadata"].get("name"))
        self._tell(pods, found)

        async def forget(pod: Object) -> None:
            meta = pod["metadata"]
            log.warning(
                "pod %s/%s is forgotten: %s", meta["namespace"], meta["name"], found[meta["uid"]].text
            )
            await self.cluster.remove(PODS, pod, 0)
            self.metrics.forced.inc()

        await for_each("forgotten pods", force, forget)

    def _look_at_nodes(self, now: float) -> None:
        """Remember since when each node does not answer. The kubelet itself reports ``False``; ``Unknown`` is its silence."""
        silent = {
            node["metadata"]["name"]
            for node in self.cluster.nodes.objects.values()
            if any(
                c.get("type") == "Ready" and c.get("status") == "Unknown"
                for c in (node.get("status") or {}).get("conditions") or []
            )
        }
        self._silent = {name: self._silent.get(name, now) for name in silent}
        known = {name for _, name in self.cluster.nodes.objects}
        named = {p["spec"].get("nodeName", "") for p in self.cluster.pods.objects.values()}
        self._away = {
            n: self._away.get(n, now) for n in named - known if n and self.cluster.nodes.synced.is_set()
        }

    def _why(self, pod: Object, now: float) -> FailureReason | None:
        meta, node = pod["metadata"], pod["spec"].get("nodeName", "")
        if not node:
            return None
        late = self._late(pod, now)
        if node in self._away:
            return FailureReason("NodeGone", f"node {node} is no longer part of the cluster")
        if node in self._silent:
            seconds = int(now - self._silent[node])
            return FailureReason(
                "NodeLost", f"node {node} has not answered for more than {_rounded(seconds)} s"
            )
        if meta.get("deletionTimestamp") and late > self.times.stuck:
            text = "its container does not end; a hung mount or driver keeps its process, or the node's docker hangs"
            return FailureReason("Stuck", text)
        return None

    def _late(self, pod: Object, now: float) -> float:
        """Return for how many seconds a pod should have been gone already; negative within its grace."""
        meta = pod["metadata"]
        if not meta.get("deletionTimestamp"):
            return float("-inf")
        since = self._ending.setdefault(meta["uid"], now)
        return now - since - float(meta.get("deletionGracePeriodSeconds") or 0)

    def _may_forget(self, pod: Object, now: float) -> bool:
        node = pod["spec"]["nodeName"]
        dead, force = self.times.dead_node, self.times.force
        # A node's object may be recreated in a moment: it has to be away for as long as a silent one.
        since = self._silent.get(node, self._away.get(node))
        if self._partition():
            since = None
        if dead and since is not None and now - since > dead:
            return True
        return bool(force) and self._late(pod, now) > force

    def _partition(self) -> bool:
        """Return whether so many nodes are silent that it is rather the masters who are cut off: then none is called dead."""
        return len(self._silent) > max(1, len(self.cluster.nodes.objects) // 2)

    def _tell(self, pods: list[Object], found: dict[str, FailureReason]) -> None:
        runs = {pod["metadata"]["uid"]: run_of(pod) for pod in pods}
        changed = {
            runs[uid] for uid in {*found, *self.stuck} & runs.keys() if found.get(uid) != self.stuck.get(uid)
        }
        self.stuck.clear()
        self.stuck.update(found)
        counts = Counter(why.code for why in found.values())
        for reason in REASONS:
            self.metrics.stuck.labels(self.metrics.cluster, reason).set(counts[reason])
        for run in sorted(changed):
            self.changed(run)


def _rounded(seconds: int) -> int:
    """Return a time that changes seldom: what is reported is written to the database each time it changes."""
    for step in (3600, 600, 60, 10):
        if seconds >= step:
            return seconds // step * step
    return 0
