"""Services in the database: revisions, the number of replicas, and charges that follow it and are never edited."""

from dataclasses import replace

import pytest

from ava.domain.model import Kind, Outcome, Phase, Quota, Topic
from ava.domain.problems import Problem
from ava.domain.resources import Resources
from tests.unit.ava.db.world import NOW, World, code, later

EACH = {"gpu": 1, "cpu": 1000, "memory": 2**30}
ONE = Resources(1, 1000, 2**30)


def spec(replicas=2, image="model:1", scaling=None, **more):
    serving = {"model": "m", "port": 8080, "access": "group", "scaling": scaling}
    return {
        "kind": "service",
        "image": image,
        "roles": [{"name": "worker", "replicas": replicas, "each": EACH}],
        "serving": serving,
    } | more


@pytest.fixture
def world(db):
    return World(db)


def submitted(world, document=None, name="serve"):
    document = document or spec()
    definition = world.db.definitions.save("ann", Kind.SERVICE, name, document, NOW, replace=True)
    asks = ONE.times(document["roles"][0]["replicas"])
    return world.db.runs.create(
        definition.id,
        f"k-{name}",
        NOW,
        asks=asks,
        spec=document,
        queue="default",
        priority=50,
        cluster="default",
    )


def running(world, document=None, name="serve"):
    run = submitted(world, document, name)
    assert world.db.runs.admit(run.id, NOW) == ()
    return run.id


def books(db, run):
    """Return what is charged now for a run; group and queue say the same."""
    (charge,) = db.charges.list(run=run, open_only=True)
    assert db.runs.get(run).asks == charge.amount
    assert db.groups.get("vision").used == db.queues.list()[0].used
    return charge.amount


def test_a_service_has_one_run(world):
    running(world)
    assert code(
        world.db.runs.create,
        world.db.definitions.list(kind=Kind.SERVICE).items[0].id,
        "other",
        NOW,
        asks=ONE,
        spec=spec(),
        queue="default",
        priority=50,
        cluster="default",
    ) == (409, "service-running")


def test_another_definition_is_another_revision_and_the_settled_one_takes_it_back(world):
    db, run = world.db, running(world)
    assert db.model_services.update(run, spec(), later(1)).attempt == 0
    after = db.model_services.update(run, spec(image="model:2"), later(2))
    assert (after.attempt, after.spec["image"]) == (1, "model:2")
    assert (db.model_services.get(run).target, db.model_services.get(run).settled) == (1, 0)
    assert db.model_services.revision(run, 0)["image"] == "model:1"
    assert db.model_services.update(run, spec(image="model:3"), later(3)).attempt == 2
    assert db.model_services.update(run, spec(), later(4)).attempt == 0
    db.model_services.settle(run, 2, later(5))
    assert db.model_services.get(run).settled == 0
    kinds = [m.kind for m in db.outbox.list_open(Topic.OPERATOR) if m.object == run]
    assert kinds == ["run-admitted"] * 4


def test_more_replicas_make_no_revision_and_nothing_is_charged_before_the_operator_asks(world):
    db, run = world.db, running(world)
    after = db.model_services.update(run, spec(replicas=3), later(1))
    assert (after.attempt, db.model_services.get(run).wanted) == (0, 3)
    assert books(db, run) == ONE.times(2)
    assert db.model_services.scale(run, 4, later(2)).wanted == 4
    assert db.runs.get(run).spec["roles"][0]["replicas"] == 4
    assert books(db, run) == ONE.times(2)


def test_a_change_of_what_is_charged_ends_one_charge_and_begins_another(world):
    db, run = world.db, running(world)
    assert db.model_services.recharge(run, ONE.times(4), later(10)) == ()
    assert db.model_services.recharge(run, ONE.times(4), later(11)) == ()
    assert db.model_services.recharge(run, ONE.times(1), later(20)) == ()
    found = [(c.amount.gpu, c.began, c.ended) for c in db.charges.list(run=run)]
    assert found == [(2, NOW, later(10)), (4, later(10), later(20)), (1, later(20), None)]
    assert books(db, run) == ONE
    db.runs.finish(run, Outcome.STOPPED, "", later(30))
    assert db.groups.get("vision").used == Resources()
    assert [u.reserved.gpu for u in db.charges.usage(NOW, later(99), now=later(99))] == [2 * 10 + 4 * 10 + 10]


def test_what_the_quota_has_no_room_for_changes_nothing(world):
    db, run = world.db, running(world)
    (problem,) = db.model_services.recharge(run, Resources(5, 2000, 2**31), later(10))
    assert problem.code == "quota-used-up"
    assert books(db, run) == ONE.times(2)
    assert len(db.charges.list(run=run)) == 1


def test_growth_comes_after_an_earlier_run_that_waits_for_quota(world):
    db, run = world.db, running(world)
    first = world.submit(Resources(3, 1000, 2**30))
    db.runs.set_waits_for(first.id, db.runs.admit(first.id, NOW))
    (problem,) = db.model_services.recharge(run, ONE.times(3), later(10))
    assert (problem.code, problem.found) == ("behind", f"run {first.id}")
    assert db.model_services.recharge(run, ONE, later(11)) == ()
    db.runs.stop(first.id, later(12), by="ann")
    assert db.model_services.recharge(run, ONE.times(3), later(13)) == ()


def test_a_run_of_another_group_that_waits_for_its_own_quota_holds_no_one_up(world):
    db, run = world.db, running(world)
    db.groups.create("audio", Quota(1, 10_000, 2**40), NOW)
    world.person("bob", "audio")
    for _ in range(2):
        other = world.submit(ONE, "bob")
        db.runs.set_waits_for(other.id, [p for p in db.runs.admit(other.id, NOW) if "group" in p.where])
        db.runs.get(other.id)
    kept = db.runs.get(other.id)
    assert kept.phase is Phase.QUEUED
    reason = replace(_problem(kept), code="group-quota")
    db.runs.set_waits_for(other.id, [reason])
    assert db.model_services.recharge(run, ONE.times(3), later(10)) == ()


def _problem(run):
    return Problem(**{k: v for k, v in run.waits_for[0].items() if k in Problem.__dataclass_fields__})


def test_a_number_outside_the_bounds_and_one_that_can_never_fit_are_refused(world):
    db, run = world.db, running(world, spec(scaling={"least": 1, "most": 4, "requests": 5}))
    assert code(db.model_services.scale, run, 5, NOW) == (422, "replicas")
    assert code(db.model_services.scale, run, 0, NOW) == (422, "replicas")
    db.model_services.update(run, spec(), later(1))
    assert code(db.model_services.scale, run, 5, NOW)[0] == 422
    assert db.model_services.get(run).wanted == 2
    assert code(db.model_services.update, run, spec(replicas=9), NOW)[0] == 422


@pytest.mark.parametrize("other", [{"queue": "night"}, {"cluster": "east"}, {"data_sets": [{"name": "x"}]}])
def test_what_its_run_holds_is_not_changed_by_an_update(world, other):
    db, run = world.db, running(world)
    assert code(db.model_services.update, run, spec(**other), NOW) == (409, "service-fixed")
    assert db.model_services.get(run).target == 0


def test_what_ends_or_is_no_service_is_not_changed(world):
    db, run = world.db, running(world)
    db.runs.stop(run, later(1), by="ann")
    assert code(db.model_services.update, run, spec(image="x"), NOW) == (409, "service-not-running")
    assert code(db.model_services.scale, run, 1, NOW) == (409, "service-not-running")
    db.runs.finish(run, Outcome.STOPPED, "", later(2))
    assert code(db.model_services.recharge, run, ONE, NOW) == (409, "service-not-running")
    training = world.running()
    assert code(db.model_services.recharge, training.id, ONE.times(2), NOW)[0] == 404
    assert code(db.model_services.get, training.id)[0] == 404


def test_a_service_that_waits_takes_its_last_definition(world):
    db, run = world.db, submitted(world).id
    after = db.model_services.update(run, spec(replicas=3, image="model:2"), later(1))
    assert (after.asks, after.phase) == (ONE.times(3), Phase.QUEUED)
    assert db.runs.admit(run, later(2)) == ()
    assert books(db, run) == ONE.times(3)
    known = db.model_services.get(run)
    assert (known.target, known.settled, known.wanted) == (1, 1, 3)


def test_trouble_is_reported_once(world):
    db, run = world.db, running(world)
    for text in ("bad", "bad", "", "bad"):
        db.model_services.set_trouble(run, text, NOW)
    reports = [m.payload["reason"] for m in db.outbox.list_open(Topic.NOTICE) if m.kind == "run-trouble"]
    assert reports == ["bad", "bad"]
    assert db.model_services.get(run).trouble == "bad"
