"""One pass over all that waits: who is placed where, who waits, and what is kept for whom."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from ava.domain.phrases import Phrase
from ava.domain.placement.cluster import Cluster
from ava.domain.placement.model import Gang, PlacementConstraints, Pod
from ava.domain.placement.plan import Shape, place, shape
from ava.domain.placement.reasons import explain
from ava.domain.placement.reservations import holding
from ava.domain.problems import Problem

log = logging.getLogger(__name__)
Nodes = frozenset[str]


@dataclass(slots=True)
class Decisions:
    """What a pass came to.

    Attributes:
        placed: gangs with their pods' nodes, in the order of their turns; counted in the cluster as if they were bound.
        waiting: the others, in order.
        reasons: why, for those of ``waiting`` that were asked for.
    """

    placed: list[tuple[Gang, list[Pod]]] = field(default_factory=list)
    waiting: list[Gang] = field(default_factory=list)
    reasons: dict[str, list[Problem]] = field(default_factory=dict)


def schedule(
    cluster: Cluster,
    gangs: Iterable[Gang],
    *,
    most: int | None = None,
    ordered: bool = False,
    why: Callable[[Gang], bool] = lambda gang: True,
    timed: Callable[[Gang, bool], None] = lambda gang, done: None,
) -> Decisions:
    """Place what fits, in the order of priority and age, each gang whole or not at all.

    The first that has to wait among those that may go to the same nodes keeps what it needs; those behind it are filled
    in beside that. So no one starves as long as runs end, and what waits for one node does not hold up the rest.

    Args:
        cluster: placed pods are counted in it.
        gangs: all that has pods without a node.
        most: end the pass after so many pods, so that they are bound before the next are looked at.
        ordered: whether the gangs come in the order of their turns already.
        why: whether reasons are wanted for a gang that waits.
        timed: called after each gang was looked at, with whether it was placed.
    """
    result = Decisions()
    heads: set[tuple[PlacementConstraints, ...]] = set()
    full: set[tuple[int, Shape]] = set()
    count = 0
    with holding(cluster) as holder:
        for gang in gangs if ordered else sorted(gangs, key=Gang.order):
            if most is not None and count >= most:
                break
            whole = gang.placed > 0 or len(gang.pods) >= gang.size
            try:
                key = (len(gang.pods), shape(gang.pods[0])) if _alike(gang) else None
                done = place(cluster, gang) if whole and (key is None or key not in full) else None
            except Exception:
                # It concerns one gang: what was counted of it is given back, and the others have their turn.
                log.exception("gang %s cannot be placed", gang.key)
                for pod in gang.pods:
                    cluster.drop(pod.key)
                result.waiting.append(gang)
                result.reasons[gang.key] = [_unreadable(gang)]
                timed(gang, False)
                continue
            if done is not None:
                result.placed.append((gang, done))
                count += len(done)
                timed(gang, True)
                continue
            result.waiting.append(gang)
            if why(gang):
                result.reasons[gang.key] = _explained(cluster, gang)
            if whole:
                wishes = tuple(dict.fromkeys(pod.where for pod in gang.pods))
                if wishes not in heads and holder.keep(gang):
                    heads.add(wishes)
                if key is not None:
                    full.add(key)
            timed(gang, False)
    return result


def _explained(cluster: Cluster, gang: Gang) -> list[Problem]:
    """Return why a gang waits; a fault in saying so changes nothing else."""
    try:
        return explain(cluster, gang)
    except Exception:
        log.exception("why gang %s waits cannot be reported", gang.key)
        return []


def _unreadable(gang: Gang) -> Problem:
    return Problem(
        "not-placeable",
        Phrase("Its pods cannot be placed because of an internal error."),
        f"pods of {gang.key}",
        remedy=Phrase(
            "Stop the run, and report it to the administrator; the scheduler's log has the details."
        ),
    )


def _alike(gang: Gang) -> bool:
    first = shape(gang.pods[0])
    return all(shape(pod) == first for pod in gang.pods[1:])
