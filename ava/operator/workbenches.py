"""What only a workbench has: its keys and token, and the Service by whose name the ssh gateway finds it."""

from __future__ import annotations

import secrets
from collections.abc import Iterable
from datetime import datetime
from functools import partial

from ava.db.database import Database
from ava.domain import labels
from ava.domain.model import Run, User
from ava.domain.workbench import Workbench
from ava.kube.client import Object
from ava.kube.resources import PODS, SECRETS, SERVICES
from ava.operator import ssh_keys
from ava.operator.cluster import Cluster
from ava.operator.concurrency import gather_limited
from ava.operator.config import Config
from ava.operator.db_executor import DbExecutor
from ava.operator.manifests import workbench_files
from ava.operator.manifests.pod import marks


class Workbenches:
    """Makes a workbench's own objects, and brings the keys of its user to it."""

    def __init__(self, cluster: Cluster, db: Database, threads: DbExecutor, config: Config) -> None:
        self.cluster, self.db, self.threads, self.config = cluster, db, threads, config

    async def make(self, run: Run, owner: User, now: datetime) -> None:
        """Make Secret and Service of a run's attempt. Raises keys.Sealed where the database's keys cannot be opened."""
        await gather_limited([partial(self._secret, run, owner, now), partial(self._service, run)])

    async def _secret(self, run: Run, owner: User, now: datetime) -> None:
        space = labels.namespace(run.group)
        if self.cluster.has(SECRETS, workbench_files.name(run), space):
            return
        kept = await self._kept(run.definition, now)
        secret = workbench_files.secret(
            run,
            marks(run),
            home=f"/home/{owner.name}",
            host_key=ssh_keys.opened(kept.host_key, self.config.sealing_keys),
            token=ssh_keys.opened(kept.token, self.config.sealing_keys),
            authorized_keys=await self._authorized(run),
        )
        await self.cluster.make(SECRETS, secret, space)

    async def _service(self, run: Run) -> None:
        space, service = labels.namespace(run.group), workbench_files.ssh_service(run, marks(run))
        there = self.cluster.made[SERVICES].objects.get((space, service["metadata"]["name"]))
        if there is not None and there["metadata"]["labels"].get(labels.RUN) != run.id:
            # Of the run before: it has ended, or there would be no second one.
            await self.cluster.remove(SERVICES, there)
            there = None
        if there is None:
            await self.cluster.make(SERVICES, service, space)

    async def _kept(self, definition: str, now: datetime) -> Workbench:
        """Return what the workbench keeps over its runs, made at its first one."""
        kept = await self.threads(self.db.workbenches.get, definition)
        if kept is not None:
            return kept
        private, public = ssh_keys.pair()
        box = self.config.sealing_keys
        token = ssh_keys.sealed(secrets.token_urlsafe(32), box)
        new = Workbench(definition, ssh_keys.sealed(private, box), public, token, created=now)
        return await self.threads(self.db.workbenches.create, new)

    async def _authorized(self, run: Run) -> str:
        return workbench_files.authorized((await self.threads(self.db.keys.list, run.owner, "ssh")).values())

    async def refresh(self, run: Run, pods: Iterable[Object]) -> None:
        """Bring changed keys of the user to the pod: the Secret first, then the pod is touched so that its kubelet looks."""
        space = labels.namespace(run.group)
        secret = self.cluster.made[SECRETS].objects.get((space, workbench_files.name(run)))
        if secret is None:
            return
        authorized = await self._authorized(run)
        wanted = workbench_files.digest(authorized)
        if _noted(secret) != wanted:
            patch = {
                "metadata": {
                    "annotations": {workbench_files.KEYS: wanted},
                    "resourceVersion": secret["metadata"]["resourceVersion"],
                },
                "stringData": {"authorized_keys": authorized},
            }
            self.cluster.made[SECRETS].put(
                await self.cluster.client.patch(SECRETS, workbench_files.name(run), patch, space)
            )
        for pod in pods:
            if _noted(pod) != wanted and not pod["metadata"].get("deletionTimestamp"):
                touch = {"metadata": {"annotations": {workbench_files.KEYS: wanted}}}
                await self.cluster.client.patch(PODS, pod["metadata"]["name"], touch, space)


def _noted(thing: Object) -> str:
    return str((thing["metadata"].get("annotations") or {}).get(workbench_files.KEYS, ""))
