"""What a run's objects are made from: the run, whose it is, where its queue sends it. Read once per look."""

from __future__ import annotations

from dataclasses import dataclass

from ava.domain import hosts, labels
from ava.domain.hosts import Member
from ava.domain.model import Group, Pool, Run, User
from ava.domain.spec import Role, Spec
from ava.operator.ledger import Threads
from ava.store.interface import Store


@dataclass(frozen=True, slots=True)
class Facts:
    """One run with what its pods need to know.

    Attributes:
        pools: by role.
    """

    run: Run
    spec: Spec
    owner: User
    group: Group
    members: tuple[Member, ...]
    pools: dict[str, Pool | None]

    @property
    def namespace(self) -> str:
        """Return where its objects are."""
        return labels.namespace(self.run.group)


async def read(threads: Threads, store: Store, run: Run, spec: Spec, domain: str) -> Facts:
    """Read what a run's pods are made from."""
    owner = await threads(store.user, run.owner)
    group = await threads(store.group, run.group)
    queues = {queue.name: queue for queue in await threads(store.queues)}
    pools = list(await threads(store.pools))
    queue = queues.get(run.queue)
    members = hosts.members(spec, run.id, run.attempt, labels.namespace(run.group), domain)
    chosen = {role.name: pool_of(role, queue.pool if queue else None, pools) for role in spec.roles}
    return Facts(run, spec, owner, group, members, chosen)


def pool_of(role: Role, named: str | None, pools: list[Pool]) -> Pool | None:
    """Return the pool that a role's pods go to: the queue's, else the first that takes what they ask for."""
    for pool in pools:
        if pool.name == named if named is not None else pool.gpu == bool(role.each.gpu):
            return pool
    return None
