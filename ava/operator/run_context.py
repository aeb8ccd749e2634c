"""What a run's objects are made from: the run, whose it is, where its queue sends it. Read once per look."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from ava.db.base import PAGE_LIMIT
from ava.db.database import Database
from ava.domain import labels
from ava.domain.data_sets import DataSet, ExternalSource
from ava.domain.data_sets import bound as as_seen
from ava.domain.disks import Disk
from ava.domain.folders import Bound, FolderKind
from ava.domain.model import Group, Kind, Pool, Run, User
from ava.domain.placement.pools import pool_for
from ava.domain.spec import Role, Spec
from ava.operator.db_executor import DbExecutor
from ava.operator.manifests import hostfile
from ava.operator.manifests.hostfile import Member


class NotReady(Exception):
    """Something that a run's pods need is still being made."""


@dataclass(frozen=True, slots=True)
class RunContext:
    """One run with what its pods need to know.

    Attributes:
        pools: by role.
        groups: all that the owner is in now.
        data: the run's data sets.
        disk: the workbench's.
        queue_priority: of the run's queue.
    """

    run: Run
    spec: Spec
    owner: User
    group: Group
    members: tuple[Member, ...]
    pools: dict[str, Pool | None]
    groups: tuple[Group, ...] = ()
    data: tuple[Bound, ...] = ()
    disk: Disk | None = None
    queue_priority: int = 0

    def pinned(self, role: Role) -> bool:
        """Return whether a role goes to the node that the run names: one without GPUs not where those with GPUs go elsewhere."""
        with_gpus = [self.pools[one.name] for one in self.spec.roles if one.each.gpu]
        return bool(role.each.gpu) or not with_gpus or self.pools[role.name] in with_gpus

    @property
    def namespace(self) -> str:
        """Return where its objects are."""
        return labels.namespace(self.run.group)


async def read(
    threads: DbExecutor, db: Database, run: Run, spec: Spec, domain: str, mount: str = "", cache: str = ""
) -> RunContext:
    """Read what a run's pods are made from; ``mount`` and ``cache`` are where nodes have cephfs and Alluxio, empty: nowhere.

    Raises NotYet while a folder that they mount is not made; ValueError for a data set that this site cannot give.
    """
    owner, group, queues, pools, (groups, data), disk = await asyncio.gather(
        threads(db.users.get, run.owner),
        threads(db.groups.get, run.group),
        threads(db.queues.list),
        threads(db.pools.list),
        threads(_folders, db, run, spec, mount, cache),
        threads(_disk, db, run),
    )
    queue = next((queue for queue in queues if queue.name == run.queue), None)
    members = hostfile.members(spec, run.id, run.attempt, labels.namespace(run.group), domain)
    line = queue.pool if queue else None
    # The pools that it was admitted to; by a release before: those of its queue now.
    admitted = {role.name: run.pools.get("gpu" if role.each.gpu else "cpu", line) for role in spec.roles}
    chosen = {role.name: pool_of(role, admitted[role.name], list(pools)) for role in spec.roles}
    priority = queue.priority if queue else 0
    return RunContext(run, spec, owner, group, members, chosen, groups, data, disk, priority)


def _disk(db: Database, run: Run) -> Disk | None:
    return db.disks.get(run.definition) if run.kind is Kind.WORKBENCH else None


def _folders(
    db: Database, run: Run, spec: Spec, mount: str, cache: str
) -> tuple[tuple[Group, ...], tuple[Bound, ...]]:
    """Return the groups whose folders a run's pods mount, and its data sets; NotYet until all are made."""
    if not mount:
        if spec.data_sets:
            raise ValueError("this site has no shared file system, so that there are no data sets")
        return (), ()
    groups = db.groups.list(user=run.owner, limit=PAGE_LIMIT).items
    data = db.data_sets.of_run(run.id)
    wanted = [(FolderKind.USER, run.owner), *((FolderKind.GROUP, group.name) for group in groups)]
    wanted += [(FolderKind.DATA_SET, one.id) for one, _ in data if one.source["kind"] == "folder"]
    for kind, name in wanted:
        folder = db.folders.get(kind, name)
        if folder.made is None:
            raise NotReady(
                f"the folder of the {kind.value} {name} is not made yet: {folder.trouble or 'wait'}"
            )
    known = {key: (one, write) for one, write in data for key in (one.id, f"{one.owner}/{one.name}")}
    bound = []
    for named in spec.data_sets:
        found = known.get(named.name) or known.get(f"{run.owner}/{named.name}")
        if found is None:
            raise ValueError(f"its data set {named.name} is gone")
        one, write = found
        bound.append(as_seen(named.name, one, write, cache, _mountable(db, one)))
    return tuple(groups), tuple(bound)


def _mountable(db: Database, one: DataSet) -> ExternalSource | None:
    """Return what nodes mount of a data set that is a snapshot; NotYet where that is not there (any more)."""
    if one.source["kind"] != "rbd":
        return None
    there = db.external_sources.get(one.id)
    if not there.volume:
        raise NotReady(f"the data set {one.name} cannot be mounted yet: {there.trouble or 'wait'}")
    return there


def pool_of(role: Role, named: str | None, pools: list[Pool]) -> Pool | None:
    """Return the pool that a role's pods go to: the queue's, else that of all such pods, as the scheduler admits them.

    None where that is none of the site's own: the scheduler knows which one it is then.
    """
    name = named if named is not None else pool_for(bool(role.each.gpu), None, pools)
    return next((pool for pool in pools if pool.name == name), None)
