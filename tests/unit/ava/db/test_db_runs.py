"""Runs: submitted once by key, admitted within quotas, stopped, started again, finished."""

import pytest

from ava.domain.model import Kind, Outcome, Phase, Quota, Topic, UserState
from ava.domain.problems import Problem
from ava.domain.resources import Resources
from tests.unit.ava.db.world import NOW, ONE, ROOM, SPEC, code, later, refused


def test_a_submitted_run_is_queued_in_the_default_group_and_charges_nothing(world):
    run = world.submit(Resources(2, 500, 2**30), queue="default", priority=60, cluster="any")
    assert world.db.runs.get(run.id) == run
    assert (run.phase, run.owner, run.group, run.queue) == (Phase.QUEUED, "ann", "vision", "default")
    assert (run.asks, run.priority, run.cluster, run.spec) == (Resources(2, 500, 2**30), 60, "any", SPEC)
    assert (run.admitted, run.finished, run.outcome, run.attempt) == (None, None, None, 0)
    assert len(run.id) == 13
    assert world.db.groups.get("vision").used == Resources()
    assert world.kinds(Topic.SCHEDULER) == [("run-queued", run.id)]


def test_the_same_key_is_the_same_run(world):
    definition = world.definition()
    first = world.submit(definition=definition, key="once")
    assert world.submit(definition=definition, key="once", at=later(5)) == first
    assert len(world.db.runs.list().items) == 1
    assert world.kinds(Topic.SCHEDULER) == [("run-queued", first.id)]
    world.db.runs.finish(first.id, Outcome.SUCCEEDED, "", NOW)
    world.db.definitions.delete(definition, NOW)
    assert world.submit(definition=definition, key="once").id == first.id


def test_keys_are_each_owners_own_and_of_one_definition(world):
    world.person("bob", "vision")
    first = world.submit(key="once")
    assert world.submit(owner="bob", key="once").id != first.id
    other = world.definition(name="other")
    assert code(world.submit, definition=other, key="once") == (409, "idempotency-key-reused")


@pytest.mark.parametrize("state", [UserState.DISABLED, UserState.PENDING])
def test_who_is_shut_out_runs_nothing(world, state):
    world.person("bob", "vision")
    definition = world.definition("bob")
    world.db.users.update("bob", NOW, state=state)
    assert code(world.submit, definition=definition) == (409, "user-not-active")
    assert world.db.runs.list().items == ()


def test_who_is_in_no_group_runs_nothing(world):
    world.person("bob")
    assert code(world.submit, owner="bob") == (409, "no-group")


def test_a_removed_definition_is_not_run(world):
    definition = world.definition()
    world.db.definitions.delete(definition, NOW)
    assert code(world.submit, definition=definition) == (409, "definition-deleted")
    assert code(world.submit, definition="d1aaaaaaaaaaa") == (404, "not-found")


def test_a_workbench_has_one_run_at_most(world):
    bench = world.definition(kind=Kind.WORKBENCH)
    first = world.submit(definition=bench, key="a")
    assert code(world.submit, definition=bench, key="b") == (409, "workbench-running")
    assert world.submit(definition=bench, key="a") == first
    world.db.runs.stop(first.id, NOW, by="ann")
    assert world.submit(definition=bench, key="b").id != first.id


def test_what_could_never_be_admitted_is_refused_with_all_reasons(world):
    world.db.queues.put("small", NOW, quota=Quota(2, None, 2**30))
    refusal = refused(world.submit, Resources(5, 1000, 2**31), queue="small")
    assert refusal.status == 422
    assert {p.code for p in refusal.problems} == {"more-than-quota"}
    assert [(p.where, p.what.rpartition(" of ")[2]) for p in refusal.problems] == [
        ("asks.gpu", "group vision."),
        ("asks.gpu", "queue small."),
        ("asks.memory", "queue small."),
    ]
    assert world.db.runs.list().items == ()


def test_admitting_charges_once_and_tells_the_operator(world):
    run = world.submit(cluster="any")
    for _ in range(2):
        assert world.db.runs.admit(run.id, later(1), cluster="east") == ()
    admitted = world.db.runs.get(run.id)
    assert (admitted.phase, admitted.admitted, admitted.cluster) == (Phase.ADMITTED, later(1), "east")
    assert world.db.groups.get("vision").used == world.db.queues.list()[0].used == ONE
    (charge,) = world.db.charges.list()
    assert (charge.run, charge.group, charge.queue, charge.user) == (run.id, "vision", "default", "ann")
    assert (charge.amount, charge.began, charge.ended) == (ONE, later(1), None)
    assert world.kinds(Topic.OPERATOR)[-1] == ("run-admitted", run.id)
    assert [m for m in world.kinds(Topic.OPERATOR) if m[1] == run.id] == [("run-admitted", run.id)]


def test_a_cluster_that_was_chosen_stays(world):
    run = world.submit(cluster="west")
    world.db.runs.admit(run.id, NOW, cluster="east")
    assert world.db.runs.get(run.id).cluster == "west"


@pytest.mark.parametrize("part", range(3))
def test_no_part_of_a_groups_quota_is_exceeded(world, part):
    half = [1, 1, 1]
    half[part] = (4, 16_000, 64 * 2**30)[part] // 2
    asks = Resources(*half)
    for _ in range(2):
        world.running(asks)
    third = world.submit(asks)
    (problem,) = world.db.runs.admit(third.id, NOW)
    assert (problem.code, problem.where) == ("quota-used-up", "group vision")
    assert world.db.runs.get(third.id).phase is Phase.QUEUED
    assert len(world.db.charges.list()) == 2
    assert world.db.groups.get("vision").used == asks.times(2)
    assert world.db.queues.list()[0].used == asks.times(2)


def test_a_full_queue_takes_nothing_from_the_group(world):
    world.db.queues.put("small", NOW, quota=Quota(1, None, None))
    first, second = (world.submit(queue="small") for _ in range(2))
    assert world.db.runs.admit(first.id, NOW) == ()
    (problem,) = world.db.runs.admit(second.id, NOW)
    assert problem.where == "queue small"
    assert world.db.groups.get("vision").used == ONE


def test_all_reasons_are_reported_at_once(world):
    world.db.queues.put("small", NOW, quota=Quota(1, None, None))
    world.db.groups.set_quota("vision", Quota(1, None, None), NOW)
    first, second = (world.submit(queue="small") for _ in range(2))
    world.db.runs.admit(first.id, NOW)
    assert [p.where for p in world.db.runs.admit(second.id, NOW)] == ["group vision", "queue small"]


def test_a_finished_run_is_not_admitted(world):
    run = world.submit()
    world.db.runs.stop(run.id, NOW, by="ann")
    assert [p.code for p in world.db.runs.admit(run.id, NOW)] == ["run-finished"]
    assert world.db.charges.list() == []


def test_stopping_a_queued_run_finishes_it(world):
    run = world.submit()
    stopped = world.db.runs.stop(run.id, later(3), by="bob")
    assert (stopped.phase, stopped.outcome, stopped.finished) == (Phase.FINISHED, Outcome.STOPPED, later(3))
    assert stopped.reason == "Stopped by bob."
    assert world.db.runs.stop(run.id, later(9), by="ann") == stopped
    assert ("run-stop", run.id) not in world.kinds(Topic.OPERATOR)
    assert ("run-finished", run.id) in world.kinds(Topic.NOTICE)


def test_stopping_an_admitted_run_keeps_its_charge_until_its_pods_are_gone(world):
    run = world.running()
    asked = world.db.runs.stop(run.id, later(3), by="ann")
    assert (asked.phase, asked.stop) == (Phase.ADMITTED, later(3))
    assert world.db.runs.stop(run.id, later(4), by="bob") == asked
    assert world.kinds(Topic.OPERATOR).count(("run-stop", run.id)) == 1
    assert world.db.groups.get("vision").used == ONE
    done = world.db.runs.finish(run.id, Outcome.STOPPED, "", later(9))
    assert (done.phase, done.reason) == (Phase.FINISHED, "Stopped by ann.")
    assert world.db.groups.get("vision").used == world.db.queues.list()[0].used == Resources()


def test_the_first_end_stays(world):
    run = world.running()
    first = world.db.runs.finish(run.id, Outcome.FAILED, "OOM", later(5))
    assert world.db.runs.finish(run.id, Outcome.SUCCEEDED, "", later(6)) == first
    (charge,) = world.db.charges.list()
    assert charge.ended == later(5)
    assert world.db.groups.get("vision").used == Resources()
    for topic in set(Topic) - {Topic.STORAGE}:
        assert world.kinds(topic).count(("run-finished", run.id)) == 1


def test_room_that_a_run_gives_back_is_there_for_the_next(world):
    world.db.groups.set_quota("vision", Quota(*ONE), NOW)
    first, second = world.running(), world.submit()
    assert world.db.runs.admit(second.id, NOW)
    world.db.runs.finish(first.id, Outcome.SUCCEEDED, "", NOW)
    assert world.db.runs.admit(second.id, NOW) == ()


def test_another_attempt_goes_on_with_the_charge(world):
    run = world.running()
    assert world.db.runs.restart(run.id, 0, NOW).attempt == 1
    assert world.db.runs.restart(run.id, 0, NOW).attempt == 1
    assert world.db.runs.restart(run.id, 1, NOW).attempt == 2
    assert len(world.db.charges.list()) == 1
    assert world.kinds(Topic.OPERATOR).count(("run-admitted", run.id)) == 3


def test_only_what_runs_is_started_again(world):
    queued, stopped, ended = world.submit(), world.running(), world.running()
    world.db.runs.stop(stopped.id, NOW, by="ann")
    world.db.runs.finish(ended.id, Outcome.FAILED, "", NOW)
    for run in (queued, stopped, ended):
        assert code(world.db.runs.restart, run.id, 0, NOW) == (409, "run-not-running")
    assert code(world.db.runs.restart, world.running().id, 1, NOW) == (409, "run-not-running")


def test_a_clock_that_was_set_back_ends_no_charge_before_it_began(world):
    run = world.running(at=later(60))
    world.db.runs.finish(run.id, Outcome.SUCCEEDED, "", NOW)
    (charge,) = world.db.charges.list()
    assert charge.ended == charge.began == later(60)


def test_runs_wait_by_queue_then_priority_then_age(world):
    world.db.queues.put("urgent", NOW, priority=90)
    old = world.submit(at=NOW)
    high = world.submit(at=later(1), priority=60)
    young = world.submit(at=later(2))
    urgent = world.submit(at=later(3), queue="urgent", priority=1)
    admitted = world.running(at=later(4))
    assert [r.id for r in world.db.runs.waiting()] == [urgent.id, high.id, old.id, young.id]
    assert [r.id for r in world.db.runs.waiting(limit=2)] == [urgent.id, high.id]
    assert [r.id for r in world.db.runs.active()] == [admitted.id]


def test_a_user_who_queues_hundreds_hides_no_one(world, monkeypatch):
    monkeypatch.setattr("ava.db.runs.FIRST", 2)
    world.person("bob", "vision")
    mine = [world.submit(priority=100, at=later(n)).id for n in range(5)]
    other = world.submit(owner="bob", priority=0, at=later(9)).id
    assert [r.id for r in world.db.runs.waiting()] == [*mine[:2], other, *mine[2:]]
    assert [r.id for r in world.db.runs.waiting(limit=3)] == [*mine[:2], other]


def test_a_user_has_so_many_runs_waiting_and_no_more(world, monkeypatch):
    monkeypatch.setattr("ava.db.submit_checks.MOST_QUEUED", 2)
    world.person("bob", "vision")
    first, _ = world.submit(key="first"), world.submit()
    assert code(world.submit) == (409, "queue-limit-exceeded")
    assert world.submit(key="first") == first
    world.submit(owner="bob")
    world.db.runs.admit(first.id, NOW)
    world.submit()


def test_a_run_of_someone_shut_out_meanwhile_is_not_admitted(world):
    world.person("bob", "vision")
    run = world.submit(owner="bob")
    world.db.users.update("bob", NOW, state=UserState.DISABLED)
    assert [p.code for p in world.db.runs.admit(run.id, NOW)] == ["user-not-active"]
    assert world.db.charges.list() == []
    world.db.users.update("bob", NOW, state=UserState.ACTIVE)
    assert world.db.runs.admit(run.id, NOW) == ()


def test_why_it_waits_is_kept_until_it_is_admitted(world):
    run = world.submit()
    world.db.runs.set_waits_for(run.id, [Problem("quota-used-up", "No room.", "group vision\0")])
    (kept,) = world.db.runs.get(run.id).waits_for
    assert (kept["code"], kept["what"], kept["where"]) == ("quota-used-up", "No room.", "group vision\ufffd")
    world.db.runs.admit(run.id, NOW)
    assert world.db.runs.get(run.id).waits_for == ()


def test_runs_are_listed_newest_first_by_each_filter(world):
    world.person("bob", "vision")
    world.db.groups.create("speech", ROOM, NOW)
    world.person("cat", "speech")
    bench = world.definition("bob", kind=Kind.WORKBENCH)
    made = {
        "ann": world.submit(at=later(1)),
        "bob": world.submit(owner="bob", definition=bench, at=later(2)),
        "cat": world.submit(owner="cat", at=later(3)),
    }
    world.db.runs.admit(made["ann"].id, NOW)

    def listed(**wanted):
        return [r.owner for r in world.db.runs.list(**wanted).items]

    assert listed() == ["cat", "bob", "ann"]
    assert listed(group="vision") == ["bob", "ann"]
    assert listed(group=world.db.groups.get("speech").id) == ["cat"]
    assert listed(owner="bob") == listed(kind=Kind.WORKBENCH) == listed(definition=bench) == ["bob"]
    assert listed(phase=Phase.ADMITTED) == ["ann"]
    assert listed(owner="bob", group="vision", kind=Kind.TRAINING) == []
    first = world.db.runs.list(limit=2)
    assert [r.owner for r in world.db.runs.list(limit=2, after=first.next).items] == ["ann"]


def test_what_is_not_there_is_not_found(world):
    for id in ("r1aaaaaaaaaaa", "", "nothing", "r1aaaaaaaaaa\0", "x" * 10_000):
        assert code(world.db.runs.get, id) == (404, "not-found")
        assert code(world.db.runs.admit, id, NOW) == (404, "not-found")
        assert code(world.db.runs.stop, id, NOW, by="ann") == (404, "not-found")
        assert code(world.db.runs.finish, id, Outcome.FAILED, "", NOW) == (404, "not-found")
        assert code(world.db.runs.restart, id, 0, NOW) == (404, "not-found")
