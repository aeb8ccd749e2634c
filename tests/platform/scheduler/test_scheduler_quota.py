"""Queues of 20 and 10 GPUs, 10,000 random submits, two admitters that take turns at random, a database in SQLite."""

from __future__ import annotations

import pytest

from ava.db.database import open_database
from tests.unit.ava.scheduler.databases import Random


@pytest.mark.slow
def test_no_queue_is_exceeded_in_10000_random_submits() -> None:
    db = open_database("sqlite://")
    world = Random(db, seed=10)
    for n in range(10_000):
        world.step(n)
    assert world.full > 100, "the queues were full at times, so their limits were tried"
    db.close()
