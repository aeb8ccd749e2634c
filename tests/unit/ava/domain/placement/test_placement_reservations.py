"""What is kept for a waiting gang of unlike pods: nodes that hold it, wherever empty nodes could."""

import random

import pytest

from ava.domain.placement.cluster import Cluster
from ava.domain.placement.model import Gang, Node, PlacementConstraints, Pod
from ava.domain.placement.pools import DEFAULT
from ava.domain.placement.reservations import holding
from ava.domain.resources import Resources

GPUS = PlacementConstraints(next(pool.name for pool in DEFAULT if pool.gpu))


def fits(pods, sizes):
    """Return whether empty nodes hold all pods, by trying every way."""
    free = [list(size) for size in sizes]
    asked = sorted((list(pod.asks) for pod in pods), reverse=True)

    def rest(index):
        if index == len(asked):
            return True
        for node in free:
            if all(have >= want for have, want in zip(node, asked[index], strict=True)):
                for n, want in enumerate(asked[index]):
                    node[n] -= want
                if rest(index + 1):
                    return True
                for n, want in enumerate(asked[index]):
                    node[n] += want
        return False

    return rest(0)


def situation(seed):
    """Return nodes on which other runs have GPUs, and a gang of unlike pods."""
    chance = random.Random(seed)  # noqa: S311 - the same situations each time
    cores, sizes = (8000, 16_000, 32_000), [2, 4, 8]
    nodes = [
        Resources(chance.choice(sizes), chance.choice(cores), chance.choice((8, 16, 32)))
        for _ in range(chance.randint(1, 4))
    ]
    cluster = Cluster(DEFAULT, [Node(f"n{i}", size) for i, size in enumerate(nodes)])
    for i, size in enumerate(nodes):
        for j in range(chance.randint(0, size.gpu)):
            cluster.put(Pod(f"x/b{i}-{j}", f"b{i}-{j}", Resources(1), GPUS, node=f"n{i}"))
    pods = tuple(
        Pod(
            f"x/p{i}",
            f"p{i}",
            Resources(chance.randint(1, 4), chance.randint(1, 12) * 1000, chance.randint(1, 12)),
            GPUS,
        )
        for i in range(chance.randint(2, 5))
    )
    return cluster, nodes, Gang("gang", pods, len(pods))


def test_unlike_pods_that_empty_nodes_hold_keep_nodes():
    tried = missed = 0
    for seed in range(1200):
        cluster, nodes, gang = situation(seed)
        if not fits(gang.pods, nodes):
            continue
        tried += 1
        with holding(cluster) as holder:
            missed += not holder.keep(gang)
            for i, size in enumerate(nodes):
                assert not cluster.slots[f"n{i}"].held.lacking(size)
        assert all(not any(slot.held) for slot in cluster.slots.values())
    # Nearest first alone missed 1 of 13; to miss none would take a search without end.
    assert tried > 400
    assert missed <= tried // 200


@pytest.mark.parametrize("seed", range(20))
def test_what_empty_nodes_do_not_hold_keeps_nothing(seed):
    cluster, nodes, gang = situation(seed)
    pods = (*gang.pods, *(Pod(f"x/q{i}", f"q{i}", size, GPUS) for i, size in enumerate(nodes)))
    with holding(cluster) as holder:
        assert not holder.keep(Gang("gang", pods, len(pods)))
        assert all(not any(slot.held) for slot in cluster.slots.values())
