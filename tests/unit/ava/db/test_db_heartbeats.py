"""Heartbeats of the programs."""

from tests.unit.ava.db.world import NOW, later


def test_the_last_sign_of_life_is_kept(world):
    world.db.heartbeats.record("operator", NOW, {"leader": "a"})
    world.db.heartbeats.record("operator", later(5), {"leader": "b"})
    world.db.heartbeats.record("scheduler", later(1), {})
    assert world.db.heartbeats.list() == {
        "operator": (later(5), {"leader": "b"}),
        "scheduler": (later(1), {}),
    }
