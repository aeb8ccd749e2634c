"""Which pool's nodes a run's pods are sent to: the same that the scheduler admits it to."""

from __future__ import annotations

import pytest

from ava.domain.model import Pool
from ava.domain.placement.pools import pool_for, usable
from ava.domain.spec import Role
from ava.operator.run_context import pool_of

SHARED = Pool("1", "a-shared", True, {"kubernetes.io/hostname": "gpu1"}, gpu_slots=2)
WHOLE = Pool("2", "whole", True, {})
PLAIN = Pool("3", "plain", False, {})


def role(gpu: int) -> Role:
    return Role.model_validate({"name": "worker", "each": {"gpu": gpu, "cpu": 100, "memory": 2**26}})


@pytest.mark.parametrize(
    ("gpu", "named", "pools", "wanted"),
    [
        (1, None, [SHARED], None),  # a site whose only pool shares cards: whole ones are the default pool's
        (1, None, [SHARED, WHOLE, PLAIN], WHOLE),
        (0, None, [SHARED, WHOLE, PLAIN], PLAIN),
        (0, None, [SHARED], None),
        (1, "a-shared", [SHARED, WHOLE], SHARED),
        (1, None, [], None),
    ],
)
def test_slots_of_shared_cards_are_for_queues_that_name_their_pool(gpu, named, pools, wanted) -> None:
    assert pool_of(role(gpu), named, pools) == wanted
    # The scheduler's own choice; a pool that is not the site's own it finds by itself.
    chosen = pool_for(bool(gpu), named, pools)
    assert chosen == (
        wanted.name
        if wanted
        else next(p.name for p in usable(pools) if p.gpu == bool(gpu) and p.gpu_slots == 1)
    )
