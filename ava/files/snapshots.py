"""Data sets that are snapshots of block images: what nodes mount is made by the provisioner of volumes, and asked for by a claim.

A claim for readers, in the platform's own namespace, names the snapshot; its volume is an image that shares all of the
snapshot, and as long as that is there ceph lets no one remove the snapshot (avadm_node/agents/volumes/images.py).
"""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime
from typing import Any

from ava.db.database import Database
from ava.domain.data_sets import DataSet, ExternalSource, RbdSource, source
from ava.domain.phrases import Phrase
from ava.kube.client import Client, Object
from ava.kube.errors import KubeError, NotFound
from ava.kube.for_each import for_each
from ava.kube.resources import CLAIMS, EVENTS

log = logging.getLogger(__name__)
SNAPSHOT_OF = "avadm.io/clone-of-snapshot"
"""Annotation that the provisioner reads."""
DATA_SET = "ava.io/data-set"
CLASS = "rbd"
_PROVISIONER = (
    (re.compile(r"there is no image (?P<image>.+)"), Phrase("there is no image {image}")),
    (
        re.compile(r"the image (?P<image>.+?) has no snapshot (?P<snapshot>.+)"),
        Phrase("the image {image} has no snapshot {snapshot}"),
    ),
)
"""What the provisioner says (avadm_node/agents/volumes/images.py), and its phrase."""


class Snapshots:
    """Brings claims to what the database has, and tells the database which can be mounted.

    Args:
        client: writes only while this process leads.
        namespace: of the claims.
    """

    def __init__(self, db: Database, client: Client, namespace: str, now: Callable[[], datetime]) -> None:
        self.db, self.client, self.namespace, self.now = db, client, namespace, now

    async def look(self) -> int:
        """Look at all once; return how many cannot be mounted. Raises KubeError where Kubernetes does not answer."""
        lacking = 0

        async def step(one: DataSet) -> None:
            nonlocal lacking
            if one.deleted:
                await self._remove(one)
            else:
                lacking += not (await self._keep(one)).volume

        failed = await for_each(
            "snapshots", await asyncio.to_thread(self.db.external_sources.list, CLASS), step
        )
        return lacking + failed

    async def _keep(self, one: DataSet) -> ExternalSource:
        known = await asyncio.to_thread(self.db.external_sources.get, one.id)
        try:
            there = await self._claim(claim(one))
            seen = await self._read(one, there, known)
        except KubeError as error:
            # Of one claim, and reported: what Kubernetes does not take it will not take later either.
            if error.code not in (403, 422):
                raise
            seen = replace(
                known, volume="", trouble=Phrase("its volume cannot be asked for: {error}", error=str(error))
            )
        if seen != known:
            log.info("data set %s: %s", one.id, seen.volume or seen.trouble)
            await asyncio.to_thread(self.db.external_sources.record, seen)
        return seen

    async def _claim(self, wanted: Object) -> Object:
        try:
            return await self.client.get(CLAIMS, wanted["metadata"]["name"], self.namespace)
        except NotFound:
            return await self.client.ensure(CLAIMS, wanted, self.namespace)

    async def _read(self, one: DataSet, there: Object, known: ExternalSource) -> ExternalSource:
        meta, phase = there["metadata"], (there.get("status") or {}).get("phase")
        wanted = claim(one)["metadata"]
        if (meta.get("annotations") or {}).get(SNAPSHOT_OF) != wanted["annotations"][SNAPSHOT_OF]:
            trouble = Phrase("the claim {name} is there and not ours; remove it", name=meta["name"])
            return replace(known, volume="", trouble=trouble)
        volume = there["spec"].get("volumeName") or ""
        if phase == "Lost":
            await self.client.delete(CLAIMS, meta["name"], self.namespace, uid=meta["uid"])
            return replace(known, volume="", trouble=Phrase("its volume was removed; it is recreated"))
        if phase == "Bound" and volume == f"pvc-{meta['uid']}":
            return replace(known, volume=volume, trouble="")
        if volume:
            trouble = Phrase("its claim has the volume {volume}, which is not of it", volume=volume)
            return replace(known, volume="", trouble=trouble)
        return replace(known, volume="", trouble=await self._why(meta["uid"]) or known.trouble)

    async def _why(self, uid: str) -> str:
        """Return what the provisioner last reported of a claim; events are forgotten after an hour, what they reported is not."""
        fields = f"involvedObject.uid={uid},reason=ProvisioningFailed"
        found, _ = await self.client.list(EVENTS, self.namespace, fields=fields)
        reports = sorted(found, key=lambda event: str(event.get("lastTimestamp") or ""))
        return _worded(str(reports[-1].get("message") or "")) if reports else ""

    async def _remove(self, one: DataSet) -> None:
        """Take the claim away; its volume, the image and the snapshot's protection go with it."""
        name = claim(one)["metadata"]["name"]
        if not await self.client.delete(CLAIMS, name, self.namespace):
            await asyncio.to_thread(self.db.data_sets.set_removed, one.id, self.now())


def _worded(message: str) -> str:
    """Return what the provisioner reported, as a phrase where it is one of ours."""
    for pattern, phrase in _PROVISIONER:
        if (found := pattern.fullmatch(message)) is not None:
            return Phrase(phrase, **found.groupdict())
    return message


def claim(one: DataSet) -> dict[str, Any]:
    """Return the claim of a data set that is a snapshot. Its volume is as large as the snapshot, whatever is asked for."""
    chosen = source(one.source)
    if not isinstance(chosen, RbdSource):
        raise TypeError(f"data set {one.id} is no snapshot")
    return {
        "metadata": {
            "name": f"data-{one.id}",
            "labels": {"app": "ava", DATA_SET: one.id},
            "annotations": {SNAPSHOT_OF: f"{chosen.image}@{chosen.snapshot}"},
        },
        "spec": {
            "accessModes": ["ReadOnlyMany"],
            "storageClassName": CLASS,
            "resources": {"requests": {"storage": "1Mi"}},
        },
    }
