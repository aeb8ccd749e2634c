"""Rounds of admission over a real database in SQLite."""

from __future__ import annotations

import contextlib
from datetime import timedelta
from typing import Any

import pytest

from ava.db.database import open_database
from ava.domain.model import Kind, Outcome, Pool, Quota, Topic, UserState
from ava.domain.placement.capacity import FIELD, ClusterCapacity, snapshot
from ava.domain.placement.cluster import Cluster
from ava.domain.placement.pools import DEFAULT
from ava.domain.problems import ApiError
from ava.domain.spec import Amount, Role, Spec
from ava.scheduler.admission import AdmissionController
from tests.unit.ava.domain.placement.states import node
from tests.unit.ava.scheduler.databases import NOW, Random


@pytest.fixture
def db():
    made = open_database("sqlite://")
    made.groups.create("vision", Quota(16, None, None), NOW)
    made.users.create("ann", "ann@example.org", "hash", NOW, state=UserState.ACTIVE)
    made.groups.add_member("vision", "ann", NOW)
    yield made
    made.close()


def submit(
    db: Any, name: str, gpu: int, *, cluster: str = "default", queue: str = "default", spec: Any = None
) -> str:
    made = Spec(image="i", roles=(Role(each=Amount(gpu=gpu)),), cluster=cluster)
    plain = made.model_dump(mode="json") if spec is None else spec
    id = db.definitions.save("ann", Kind.TRAINING, name, plain, NOW).id
    run = db.runs.create(
        id, name, NOW, asks=made.asks(), spec=plain, queue=queue, priority=50, cluster=cluster
    )
    return str(run.id)


def room(name: str, gpus: int, *, waiting: int = 0) -> ClusterCapacity:
    return snapshot(Cluster(DEFAULT, [node("n", gpus, labels={})]), name, {}, waiting=waiting)


def sign(db: Any, made: ClusterCapacity, *, ago: float = 0) -> None:
    db.heartbeats.record(f"scheduler:{made.cluster}", NOW - timedelta(seconds=ago), {FIELD: made.as_dict()})


def codes(db: Any, run: str) -> list[str]:
    return [why["code"] for why in db.runs.get(run).waits_for]


def test_what_the_quota_allows_is_admitted_and_the_rest_says_why(db) -> None:
    first, second = submit(db, "a", 10), submit(db, "b", 10)
    assert AdmissionController(db, "default").round(NOW, None) == (1, 1)
    assert db.runs.get(first).admitted
    assert codes(db, second) == ["group-quota"]
    assert db.outbox.list_open(Topic.SCHEDULER) == []
    assert [m.object for m in db.outbox.list_open(Topic.OPERATOR) if m.kind == "run-admitted"] == [first]


def test_what_runs_that_are_stopping_give_back_is_shown_until_they_have_ended(db) -> None:
    db.queues.put("fast", NOW, quota=Quota(12, None, None))
    first, second = submit(db, "a", 10, queue="fast"), submit(db, "b", 8, queue="fast")
    admitter = AdmissionController(db, "default")

    def reasons_shown() -> list[str]:
        admitter.round(NOW, None)
        return [why["what"] for why in db.runs.get(second).waits_for]

    whose, soon = (
        "The {} has {} GPUs free{}, 8 are wanted.",
        " (10 more when runs that are stopping have ended)",
    )
    group, queue = ("group vision", "6 of 16"), ("queue fast", "2 of 12")
    assert reasons_shown() == [whose.format(*of, "") for of in (group, queue)]
    db.runs.stop(first, NOW, by="ann")
    assert reasons_shown() == [whose.format(*of, soon) for of in (group, queue)]
    db.runs.finish(first, Outcome.STOPPED, "", NOW)
    assert reasons_shown() == []
    assert db.runs.get(second).admitted
    assert db.charges.stopping() == {}


def test_reasons_are_written_only_when_they_change(db, monkeypatch) -> None:
    submit(db, "a", 10)
    submit(db, "b", 10)
    admitter = AdmissionController(db, "default")
    admitter.round(NOW, None)
    monkeypatch.setattr(db.runs, "set_waits_for", lambda run, reasons: pytest.fail("written again"))
    admitter.round(NOW, None)


def test_a_repeated_round_admits_nothing_twice(db) -> None:
    submit(db, "a", 10)
    admitter, other = AdmissionController(db, "default"), AdmissionController(db, "default")
    admitter.round(NOW, None)
    other.round(NOW, None)
    assert len(db.charges.list(open_only=True)) == 1


def test_messages_stay_open_when_the_round_fails(db, monkeypatch) -> None:
    submit(db, "a", 1)

    def away(*_: Any, **__: Any) -> Any:
        raise ApiError(503)

    monkeypatch.setattr(db.runs, "admit", away)
    with pytest.raises(ApiError):
        AdmissionController(db, "default").round(NOW, None)
    assert len(db.outbox.list_open(Topic.SCHEDULER)) == 1


def test_runs_of_other_clusters_are_left_to_their_schedulers(db) -> None:
    there = submit(db, "there", 1, cluster="two")
    mine = AdmissionController(db, "default")
    assert mine.round(NOW, None)[0] == 0
    assert codes(db, there) == ["cluster-silent"]
    sign(db, room("two", 8))
    assert mine.round(NOW, None)[0] == 0
    assert AdmissionController(db, "two").round(NOW, None)[0] == 1


def test_what_another_cluster_will_admit_before_is_not_given_away_here(db) -> None:
    sign(db, room("two", 16))
    submit(db, "there", 10, cluster="two")
    here = submit(db, "here", 10)
    assert AdmissionController(db, "default").round(NOW, None)[0] == 0
    assert codes(db, here) == ["group-quota"]


def test_a_cluster_whose_scheduler_is_silent_keeps_nothing_from_the_others(db) -> None:
    sign(db, room("two", 16), ago=120)
    submit(db, "there", 10, cluster="two")
    submit(db, "here", 10)
    assert AdmissionController(db, "default").round(NOW, None)[0] == 1


def test_a_run_for_any_cluster_goes_where_it_fits_and_is_kept_there(db) -> None:
    sign(db, room("two", 8))
    run = submit(db, "a", 8, cluster="any")
    small = room("default", 4)
    assert AdmissionController(db, "default").round(NOW, small)[0] == 0, "it falls to the other one"
    assert AdmissionController(db, "two").round(NOW, room("two", 8))[0] == 1
    assert db.runs.get(run).cluster == "two"


def test_several_runs_for_any_cluster_are_spread_over_what_is_free(db) -> None:
    sign(db, room("two", 8))
    runs = [submit(db, name, 8, cluster="any") for name in "ab"]
    own = room("default", 8)
    first = AdmissionController(db, "default")
    first.round(NOW, own)
    AdmissionController(db, "two").round(NOW, None)
    assert sorted(db.runs.get(run).cluster for run in runs) == ["default", "two"]


def test_what_was_just_sent_to_a_cluster_counts_there_before_its_pods_are_seen(db) -> None:
    sign(db, room("two", 8))
    admitter, own = AdmissionController(db, "default"), room("default", 8)
    first = submit(db, "a", 8, cluster="any")
    admitter.round(NOW, own)
    assert db.runs.get(first).cluster == "default"
    second = submit(db, "b", 8, cluster="any")
    assert admitter.round(NOW + timedelta(seconds=1), own)[0] == 0, (
        "the reported capacity is older than the first"
    )
    assert db.runs.get(second).cluster == "any"


def test_a_run_that_fits_no_cluster_says_so_and_holds_up_no_one(db) -> None:
    big = submit(db, "big", 9, cluster="any")
    submit(db, "small", 8)
    assert AdmissionController(db, "default").round(NOW, room("default", 8))[0] == 1
    assert codes(db, big)[:2] == ["no-cluster", "never-fits"]


def test_a_spec_that_cannot_be_read_stops_only_its_own_run(db) -> None:
    bad = submit(db, "bad", 1, cluster="any", spec={"image": "i", "new": True})
    submit(db, "good", 1)
    assert AdmissionController(db, "default").round(NOW, room("default", 8))[0] == 1
    assert codes(db, bad) == ["spec-unreadable"]


def test_a_queue_of_a_pool_of_the_other_kind_admits_nothing(db) -> None:
    db.pools.put(Pool("", "cpu", False, {}))
    db.pools.put(Pool("", "gpu", True, {}))
    db.queues.put("plain", NOW, pool="cpu")
    run = submit(db, "a", 1, queue="plain")
    assert AdmissionController(db, "default").round(NOW, None)[0] == 0
    assert codes(db, run) == ["pool-kind"]


def test_random_submits_exceed_no_queue_and_no_group() -> None:
    """10,000 of them are in tests/platform/scheduler."""
    db = open_database("sqlite://")
    world = Random(db)
    for n in range(120):
        world.step(n)
    assert world.full > 3
    db.close()


def person(db, name: str, group: str, quota: int | None = None) -> None:
    with contextlib.suppress(ApiError):
        db.groups.create(group, Quota(quota, None, None), NOW)
    db.users.create(name, f"{name}@example.org", "hash", NOW, state=UserState.ACTIVE)
    db.groups.add_member(group, name, NOW)


def of(db, name: str, key: str, gpu: int, **more: Any) -> str:
    made = Spec(image="i", roles=(Role(each=Amount(gpu=gpu)),), **more)
    plain = made.model_dump(mode="json")
    id = db.definitions.save(name, Kind.TRAINING, key, plain, NOW).id
    rest = {"queue": "default", "priority": 50, "cluster": made.cluster}
    return str(db.runs.create(id, key, NOW, asks=made.asks(), spec=plain, **rest).id)


@pytest.mark.parametrize("cause", ["disabled", "data set"])
def test_a_run_that_the_database_refuses_for_another_reason_takes_no_quota(db, cause) -> None:
    person(db, "eve", "small", 4)
    person(db, "bob", "small")
    sets = ()
    if cause == "data set":
        data = db.data_sets.create("eve", "d", {"kind": "folder"}, NOW)
        first = of(db, "eve", "reads", 0, data_sets=({"name": data.id},))
        assert db.runs.admit(first, NOW) == ()
        sets = ({"name": data.id, "write": True},)
    refused = of(db, "eve", "a", 4, data_sets=sets)
    good = of(db, "bob", "b", 1)
    if cause == "disabled":
        db.users.update("eve", NOW, state=UserState.DISABLED)
    AdmissionController(db, "default").round(NOW, None)
    assert db.runs.get(good).admitted
    assert codes(db, refused) == ["user-not-active" if cause == "disabled" else "data-set-in-use"]


def test_what_another_clusters_scheduler_was_refused_takes_no_quota_here(db) -> None:
    person(db, "eve", "small", 4)
    person(db, "bob", "small")
    refused = of(db, "eve", "a", 4, cluster="other")
    good = of(db, "bob", "b", 1)
    db.users.update("eve", NOW, state=UserState.DISABLED)
    sign(db, room("other", 8))
    AdmissionController(db, "other").round(NOW, room("other", 8))
    assert codes(db, refused) == ["user-not-active"]
    AdmissionController(db, "default").round(NOW, None)
    assert db.runs.get(good).admitted


def test_a_thousand_waiting_runs_of_one_group_hide_no_other_groups(db, monkeypatch) -> None:
    monkeypatch.setattr("ava.scheduler.admission.LOOKED_AT", 20)
    monkeypatch.setattr("ava.db.runs.FIRST", 10)
    person(db, "boss", "full", 1)
    of(db, "boss", "has", 1)
    for n in range(3):
        person(db, f"many{n}", "full")
        for i in range(10):
            of(db, f"many{n}", f"m{n}-{i}", 1)
    person(db, "zoe", "young", 8)
    young = of(db, "zoe", "z", 8)
    AdmissionController(db, "default").round(NOW, None)
    assert db.runs.get(young).admitted


def test_a_run_that_raises_lets_the_others_be_admitted(db, monkeypatch) -> None:
    bad, good = submit(db, "a", 1), submit(db, "b", 1)
    real = db.runs.admit

    def admit(run: str, now: Any, **more: Any) -> Any:
        if run == bad:
            raise KeyError("planted")
        return real(run, now, **more)

    monkeypatch.setattr(db.runs, "admit", admit)
    assert AdmissionController(db, "default").round(NOW, None) == (1, 1)
    assert db.runs.get(good).admitted and codes(db, bad) == ["not-admissible"]


def test_reasons_of_which_only_amounts_have_changed_are_written_in_parts(db, monkeypatch) -> None:
    monkeypatch.setattr("ava.scheduler.admission.MAX_UPDATES", 3)
    first = submit(db, "has", 4)
    waiting = [submit(db, f"w{i}", 14) for i in range(10)]
    admitter = AdmissionController(db, "default")
    admitter.round(NOW, None)
    other = submit(db, "more", 1)
    assert db.runs.admit(other, NOW) == ()
    written: list[str] = []
    real = db.runs.set_waits_for
    monkeypatch.setattr(db.runs, "set_waits_for", lambda run, why: (written.append(run), real(run, why)))
    admitter.round(NOW, None)
    assert len(written) == 3
    for _ in range(4):
        admitter.round(NOW, None)
    assert sorted(set(written)) == sorted(waiting) and len(written) == 10
    assert db.runs.get(first).admitted
