"""Pods whose volumes their node cannot mount: why, as their node says it, reported to their owner.

Kubelet tries again for ever and says so in events alone: a pod's own status only has that its containers are being made.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from ava.domain.pod_failures import UNMOUNTED, FailureReason
from ava.kube.client import Object
from ava.kube.for_each import for_each
from ava.kube.resources import EVENTS
from ava.operator.cluster import Cluster, run_of

PATIENCE = 15.0
"""Seconds that a pod may be without its volumes before anybody asks why."""
MOST = 20
"""Pods that are asked about in one look; the others at a later one."""
REASON_PREFIX = "reason: "
"""After it is what the driver of volumes itself says."""


class VolumeErrors:
    """Watches pods that have a node and volumes of its driver, and do not start.

    Args:
        changed: called with the id of each run of which something else is known now.
    """

    def __init__(
        self, cluster: Cluster, changed: Callable[[str], None], clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.cluster, self.changed, self.clock = cluster, changed, clock
        self.unmounted: dict[str, FailureReason] = {}
        """By the pod's uid."""
        self._since: dict[str, float] = {}
        self._asked: dict[str, float] = {}

    async def look(self) -> None:
        """Look at all pods once."""
        now = self.clock()
        waiting = {pod["metadata"]["uid"]: pod for pod in self.cluster.pods.objects.values() if _waits(pod)}
        self._since = {uid: self._since.get(uid, now) for uid in waiting}
        self._asked = {uid: at for uid, at in self._asked.items() if uid in waiting}
        for uid in [uid for uid in self.unmounted if uid not in waiting]:
            del self.unmounted[uid]
        late = [uid for uid, since in self._since.items() if now - since >= PATIENCE]

        async def one(uid: str) -> None:
            self._asked[uid] = now
            why = await self._why(waiting[uid])
            if why is not None and why != self.unmounted.get(uid):
                self.unmounted[uid] = why
                self.changed(run_of(waiting[uid]))

        await for_each("volumes", sorted(late, key=lambda uid: self._asked.get(uid, 0.0))[:MOST], one)

    async def _why(self, pod: Object) -> FailureReason | None:
        meta = pod["metadata"]
        fields = f"involvedObject.uid={meta['uid']},reason={UNMOUNTED}"
        found, _ = await self.cluster.client.list(EVENTS, meta["namespace"], fields=fields)
        reports = sorted(found, key=lambda event: str(event.get("lastTimestamp") or ""))
        texts = [str(event.get("message") or "") for event in reports]
        # A line about the time limit is logged as well, and has no meaning.
        own = [text.partition(REASON_PREFIX)[2] for text in texts if REASON_PREFIX in text]
        return FailureReason(UNMOUNTED, (own or texts)[-1][:500]) if texts else None


def _waits(pod: Object) -> bool:
    """Return whether a pod has a node and volumes that this mounts, and none of its containers was begun."""
    spec, status, meta = pod.get("spec") or {}, pod.get("status") or {}, pod["metadata"]
    if (
        status.get("phase", "Pending") != "Pending"
        or not spec.get("nodeName")
        or meta.get("deletionTimestamp")
    ):
        return False
    begun = [*(status.get("initContainerStatuses") or []), *(status.get("containerStatuses") or [])]
    if any(set(one.get("state") or {}) - {"waiting"} for one in begun):
        return False
    return any("flexVolume" in volume for volume in spec.get("volumes") or [])
