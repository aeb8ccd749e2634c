"""Which of several clusters a run goes to that leaves it to the platform."""

from __future__ import annotations

from collections.abc import Mapping

from ava.domain.model import Pool
from ava.domain.placement.capacity import ClusterCapacity
from ava.domain.placement.cluster import Cluster
from ava.domain.placement.feasibility import infeasible_reasons
from ava.domain.placement.model import Gang, Node, PlacementConstraints, Pod
from ava.domain.placement.plan import place
from ava.domain.spec import Role, Spec

ANY = "any"
_LABEL = "pool-"


def gang_of(spec: Spec, pool: str, run: str, *, plain: str | None = None) -> Gang:
    """Return the gang that a run's pods will be.

    Args:
        spec: of the run.
        pool: where the run goes.
        plain: where roles without GPUs go in a run that has GPUs; None: to ``pool`` too.
        run: its id, which names the gang.
    """
    mixed = spec.asks().gpu > 0 and plain is not None

    def where(role: Role) -> PlacementConstraints:
        other = plain if mixed and not role.each.gpu else None
        return PlacementConstraints(
            other or pool, node=None if other else spec.node, model=spec.gpu_model if role.each.gpu else None
        )

    pods = tuple(
        Pod(f"{run}/{role.name}-{i}", "", role.each.resources(), where(role), role.name, i, run)
        for role in spec.roles
        for i in range(role.replicas)
    )
    return Gang(run, pods, len(pods))


class ClusterSelector:
    """Clusters as last reported, less what was given to runs since; for one round of admission."""

    def __init__(self, rooms: Mapping[str, ClusterCapacity], pools: Mapping[str, Pool]) -> None:
        self._rooms = dict(rooms)
        self._now = {name: _empty(room, pools) for name, room in rooms.items()}

    def take(self, cluster: str, gang: Gang) -> None:
        """Count a gang that was sent to a cluster and may not be seen there yet; where it does not fit, as one that waits."""
        if cluster in self._now and place(self._now[cluster], gang) is None:
            room = self._rooms[cluster]
            self._rooms[cluster] = room.model_copy(update={"waiting": room.waiting + 1})

    def cluster_for(self, run: str, spec: Spec, pool: str, *, plain: str | None = None) -> str | None:
        """Return the cluster where the run fits now; of several the one that is fullest afterwards, then by name.

        Where it fits nowhere now: of those where it could ever fit the one with fewest runs waiting. None where it never could.
        """
        gang = gang_of(spec, pool, run, plain=plain)
        able = [
            name
            for name in sorted(self._rooms)
            if not infeasible_reasons(spec, self._rooms[name], pool, plain)
        ]
        fits: list[tuple[int, str]] = []
        for name in able:
            done = place(self._now[name], gang)
            if done is not None:
                left = sum(max(0, slot.free.gpu) for slot in self._now[name].slots.values())
                fits.append((left, name))
                for pod in done:
                    self._now[name].drop(pod.key)
        if not able:
            return None
        chosen = min(fits)[1] if fits else min(able, key=lambda name: (self._rooms[name].waiting, name))
        self.take(chosen, gang)
        return chosen


def _empty(room: ClusterCapacity, pools: Mapping[str, Pool]) -> Cluster:
    """Return a cluster whose nodes have what is free in a room."""
    mine = [Pool(p.id, p.name, p.gpu, {f"{_LABEL}{p.name}": ""}) for p in pools.values()]
    return Cluster(
        mine,
        [
            Node(n.name, n.free, labels={f"{_LABEL}{pool}": "" for pool in n.pools}, model=n.model)
            for n in room.nodes
            if n.open
        ],
    )
