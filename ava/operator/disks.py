"""Workbenches' disks: their claims are made where their first pods have come, grown, and removed with their workbenches.

All is reported by what is there: a claim that names its node, the node that tells of its volumes. So each step may stop and is
done again; nothing of a disk that may hold data is removed but by the deletion of its workbench.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from datetime import datetime, timedelta

from ava.db.database import Database
from ava.domain import disks, labels
from ava.domain.amounts import number
from ava.domain.disks import Disk, DiskReport, node_of
from ava.domain.model import Run
from ava.domain.phrases import Phrase
from ava.domain.pod_status import moment
from ava.domain.workbench import service
from ava.kube.client import Object
from ava.kube.errors import Denied, NotFound
from ava.kube.for_each import for_each
from ava.kube.resources import CLAIMS, NAMESPACES, PODS
from ava.operator.cluster import Cluster
from ava.operator.db_executor import DbExecutor

log = logging.getLogger(__name__)
PATIENCE = timedelta(seconds=30)
"""A node that has not made a disk after so long, and says that it has no room, is left for another."""

SETTLED = timedelta(minutes=2)
"""After so long a node has carried out, and reported, what a claim had reported before; both take it some 5 s each."""


class Disks:
    """Looks after the disks of one cluster.

    Args:
        name: the cluster's.
        now: the clock.
    """

    def __init__(
        self, cluster: Cluster, db: Database, threads: DbExecutor, name: str, now: Callable[[], datetime]
    ) -> None:
        self.cluster, self.db, self.threads, self.name, self.now = cluster, db, threads, name, now
        self._messages: dict[str, tuple[str, datetime]] = {}
        """Since when the claim of a disk has reported a size."""

    async def bind(self, run: Run, pods: Iterable[Object]) -> bool:
        """Have the disk made where a workbench's pod has come; return whether that node cannot: the run has to start again."""
        for pod in pods:
            if not _uses_disk(pod) or pod["metadata"].get("deletionTimestamp"):
                continue
            claim, node = claim_of(self.cluster, run), pod["spec"].get("nodeName")
            if claim is None and node:
                disk = await self.threads(self.db.disks.get, run.definition)
                if disk is not None:
                    await self.cluster.make(CLAIMS, disks.claim(disk, node), disk.namespace)
            elif claim is None and _waits_for_node(pod):
                # The node of a disk that was never made is gone: without the note it goes anywhere.
                await self.cluster.remove(PODS, pod, 1)
            elif claim is not None and node and await self._left(run.definition, claim):
                return True
        return False

    async def look(self) -> None:
        """Bring all disks that are not as they should be a step on, and keep what is seen of them."""
        found = await self.threads(self.db.disks.list_open, self.name)
        there = {disk.definition for disk in found}
        self._messages = {id: reply for id, reply in self._messages.items() if id in there}
        await for_each("disks", found, self._look)

    async def _look(self, disk: Disk) -> None:
        claim = self.cluster.made[CLAIMS].objects.get((disk.namespace, disk.claim))
        if disk.deleted:
            await self._remove(disk, claim)
        elif claim is not None:
            await self._tend(disk, claim)

    async def _remove(self, disk: Disk, claim: Object | None) -> None:
        """Remove the claim of a deleted workbench, whose pods are gone; when the server has none the database forgets it."""
        try:
            claim = claim or await self.cluster.client.get(CLAIMS, disk.claim, disk.namespace)
        except NotFound:
            await self.threads(self.db.disks.delete, disk.definition)
        except Denied:
            # A namespace that is not there has no claims; one that is not bound to us yet may.
            if not self.cluster.has(NAMESPACES, disk.namespace):
                await self.threads(self.db.disks.delete, disk.definition)
        else:
            await self.cluster.remove(CLAIMS, claim)

    async def _tend(self, disk: Disk, claim: Object) -> None:
        there = self._report(claim)
        size = disks.size_of(claim, there)
        if size is None and not disk.size and await self._left(disk.definition, claim):
            return
        change = disks.growth(disk, claim)
        if change is not None:
            patched = await self.cluster.client.patch(CLAIMS, disk.claim, change, disk.namespace)
            self.cluster.made[CLAIMS].put(patched)
        trouble, settled = _trouble(disk, claim, there, size), self._settled(disk, change is None)
        # Of a disk that is not made yet the claim's first size may still be given.
        settled = settled and bool(size) and disk.promised > disk.wanted
        if (node_of(claim), trouble) != (disk.node, disk.trouble) or size not in (None, disk.size) or settled:
            await self.threads(
                self.db.disks.record, disk.definition, node_of(claim), size, trouble, settled=settled
            )

    def _settled(self, disk: Disk, says_so: bool) -> bool:
        """Whether the claim has reported for SETTLED what is wanted: what its node had begun to give beyond that is reported."""
        wanted = disks.quantity(disk.wanted)
        reply, since = self._messages.get(disk.definition, ("", self.now()))
        if not says_so or reply != wanted:
            self._messages[disk.definition] = wanted, self.now()
            return False
        return self.now() - since >= SETTLED

    async def _left(self, definition: str, claim: Object) -> bool:
        """Remove a claim that gets no volume where it is; asked of the server itself, for a volume may hold data."""
        disk = await self.threads(self.db.disks.get, definition)
        if disk is None or not self._is_hopeless(disk, claim):
            return False
        try:
            claim = await self.cluster.client.get(CLAIMS, disk.claim, disk.namespace)
        except NotFound:
            return True
        if not self._is_hopeless(disk, claim):
            return False
        log.warning("claim %s/%s: %s makes no disk for it", disk.namespace, disk.claim, node_of(claim))
        await self.cluster.remove(CLAIMS, claim)
        return True

    def _is_hopeless(self, disk: Disk, claim: Object) -> bool:
        made = moment(claim["metadata"].get("creationTimestamp"))
        old = made is not None and self.now() - made > PATIENCE
        return old and not disk.size and disks.hopeless(disk, claim, self._report(claim))

    def _report(self, claim: Object) -> DiskReport | None:
        return disks.disk_report(self.cluster.nodes.objects.get(("", node_of(claim))))


def claim_of(cluster: Cluster, run: Run) -> Object | None:
    """Return the claim of a workbench's disk as it was last seen."""
    return cluster.made[CLAIMS].objects.get((labels.namespace(run.group), service(run.definition)))


def _uses_disk(pod: Object) -> bool:
    return any("persistentVolumeClaim" in volume for volume in pod["spec"].get("volumes") or ())


def _waits_for_node(pod: Object) -> bool:
    return labels.DISK_NODE in (pod["metadata"].get("annotations") or {})


def _trouble(disk: Disk, claim: Object, there: DiskReport | None, size: int | None) -> str:
    """Return what keeps a disk from being as it is wanted; empty where nothing does, or not for long yet."""
    node = node_of(claim)
    if there is None or size is None:
        return Phrase("The node {node}, where it is, does not answer.", node=node)
    more = disk.wanted - size
    if more <= 0 or there.free >= more:
        return ""
    return Phrase(
        "The node {node} has {left} left, {more} more are wanted.",
        node=node,
        left=number("disk", there.free),
        more=number("disk", more),
    )
