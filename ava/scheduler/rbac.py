"""Gives the operator its rights in the namespaces of groups, one by one.

The operator makes pods and secrets in groups' namespaces alone, but Kubernetes cannot say "in namespaces of this form". So
it has these rights nowhere, and cannot give them to itself; the scheduler's account binds them to it in each namespace
whose name and label are those of a group that the database knows. A stolen token of the operator reads no secret of the
platform's or of Kubernetes' own.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable

from ava.db.database import Database
from ava.domain import labels
from ava.domain.problems import ApiError
from ava.kube.client import Client, Object
from ava.kube.errors import AlreadyExists, KubeError
from ava.kube.informer import Informer
from ava.kube.resources import NAMESPACES, ROLE_BINDINGS
from ava.scheduler.config import Rights

log = logging.getLogger(__name__)
AGAIN = 60.0
"""Seconds after which a binding that is there is asked for again: somebody may have removed it."""
RETRY = 5.0


class RoleBinder:
    """Binds the operator's role in groups' namespaces."""

    def __init__(
        self, client: Client, db: Database, rights: Rights, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._client, self._db, self._rights, self._clock = client, db, rights, clock
        self.spaces = Informer(client, NAMESPACES, labels=f"{labels.MANAGED}=true")
        self.spaces.listen(self._changed)
        self._due: dict[str, float] = {}
        self._woken = asyncio.Event()

    def _changed(self, old: Object | None, new: Object | None) -> None:
        if new is not None and (old is None or old["metadata"]["uid"] != new["metadata"]["uid"]):
            self._due.pop(new["metadata"]["name"], None)
            self._woken.set()

    async def run(self) -> None:
        """Bind until cancelled."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self.spaces.run())
            while True:
                await self._all()
                try:
                    async with asyncio.timeout(RETRY):
                        await self._woken.wait()
                except TimeoutError:
                    pass
                self._woken.clear()

    async def _all(self) -> None:
        now = self._clock()
        for thing in list(self.spaces.objects.values()):
            name = thing["metadata"]["name"]
            if self._due.get(name, now) > now or thing["metadata"].get("deletionTimestamp"):
                continue
            try:
                if await self._is_group_s(thing):
                    await self._bind(name)
            except (KubeError, ApiError) as error:
                log.warning("rights in %s: %s", name, error)
                self._due[name] = now + RETRY
            except Exception:
                log.exception("rights in %s", name)
                self._due[name] = now + RETRY
            else:
                self._due[name] = now + AGAIN
        self._due = {k: v for k, v in self._due.items() if ("", k) in self.spaces.objects}

    async def _is_group_s(self, thing: Object) -> bool:
        """Return whether a namespace is that of a group of the database: who may make namespaces may call them anything."""
        meta = thing["metadata"]
        group = (meta.get("labels") or {}).get(labels.GROUP, "")
        if not group or labels.namespace(group) != meta["name"] or meta["name"] == self._rights.namespace:
            return False
        try:
            await asyncio.to_thread(self._db.groups.get, group)
        except ApiError as refused:
            if refused.status != 404:
                raise
            return False
        return True

    async def _bind(self, space: str) -> None:
        rights = self._rights
        subject = {"kind": "ServiceAccount", "name": rights.account, "namespace": rights.namespace}
        role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": rights.role}
        body: Object = {"metadata": {"name": "ava-operator"}, "roleRef": role, "subjects": [subject]}
        try:
            await self._client.create(ROLE_BINDINGS, body, space)
            log.info("the operator may work in %s", space)
        except AlreadyExists:
            return
