"""More runs wait than a round looks at: each has its turn."""

import pytest

from ava.domain.model import Quota, UserState
from ava.scheduler import admission
from ava.scheduler.admission import AdmissionController
from tests.unit.ava.db.world import NOW, ONE, World


@pytest.fixture
def world(db, monkeypatch):
    monkeypatch.setattr(admission, "LOOKED_AT", 4)
    return World(db)


def test_runs_of_those_who_may_not_run_hide_no_one_of_their_group(world):
    world.person("eve", "vision")
    for n in range(7):
        world.submit(owner="eve", definition=world.definition("eve", f"t{n}"))
    zoe = world.submit()
    world.db.users.update("eve", NOW, state=UserState.DISABLED)
    admitter = AdmissionController(world.db, "default")
    for _ in range(3):
        admitter.round(NOW, None)
    assert world.db.runs.get(zoe.id).admitted is not None


def test_more_groups_than_a_round_looks_at_hide_no_younger_one(world):
    world.db.groups.set_quota("vision", Quota(0, None, None), NOW)
    world.db.queues.put("default", NOW, quota=Quota(1000, None, None))
    for n in range(9):
        world.db.groups.create(f"g{n}", Quota(1, 10**6, 2**40), NOW)
        world.person(f"u{n}", f"g{n}")
        running = world.submit(ONE, f"u{n}", definition=world.definition(f"u{n}", "first"))
        assert world.db.runs.admit(running.id, NOW) == ()
        world.submit(ONE, f"u{n}")
    world.db.groups.create("young", Quota(8, 10**6, 2**40), NOW)
    world.person("zoe", "young")
    zoe = world.submit(ONE, "zoe")
    admitter = AdmissionController(world.db, "default")
    for _ in range(3):
        admitter.round(NOW, None)
    assert world.db.runs.get(zoe.id).admitted is not None
    assert all(run.waits_for for run in world.db.runs.waiting())
