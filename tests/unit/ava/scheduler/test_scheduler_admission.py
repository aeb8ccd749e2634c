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
def store():
    made = open_database("sqlite://")
    made.add_group("vision", Quota(16, None, None), NOW)
    made.add_user("ann", "ann@example.org", "hash", NOW, state=UserState.ACTIVE)
    made.add_member("vision", "ann", NOW)
    yield made
    made.close()


def submit(
    store: Any, name: str, gpu: int, *, cluster: str = "default", queue: str = "default", spec: Any = None
) -> str:
    made = Spec(image="i", roles=(Role(each=Amount(gpu=gpu)),), cluster=cluster)
    plain = made.model_dump(mode="json") if spec is None else spec
    id = store.save_definition("ann", Kind.TRAINING, name, plain, NOW).id
    run = store.submit(id, name, NOW, asks=made.asks(), spec=plain, queue=queue, priority=50, cluster=cluster)
    return str(run.id)


def room(name: str, gpus: int, *, waiting: int = 0) -> ClusterCapacity:
    return snapshot(Cluster(DEFAULT, [node("n", gpus, labels={})]), name, {}, waiting=waiting)


def sign(store: Any, made: ClusterCapacity, *, ago: float = 0) -> None:
    store.heartbeat(f"scheduler:{made.cluster}", NOW - timedelta(seconds=ago), {FIELD: made.as_dict()})


def codes(store: Any, run: str) -> list[str]:
    return [why["code"] for why in store.run(run).waits_for]


def test_what_the_quota_allows_is_admitted_and_the_rest_says_why(store) -> None:
    first, second = submit(store, "a", 10), submit(store, "b", 10)
    assert AdmissionController(store, "default").round(NOW, None) == (1, 1)
    assert store.run(first).admitted
    assert codes(store, second) == ["group-quota"]
    assert store.open_messages(Topic.SCHEDULER) == []
    assert [m.object for m in store.open_messages(Topic.OPERATOR) if m.kind == "run-admitted"] == [first]


def test_what_runs_that_are_stopping_give_back_is_said_until_they_have_ended(store) -> None:
    store.put_queue("fast", NOW, quota=Quota(12, None, None))
    first, second = submit(store, "a", 10, queue="fast"), submit(store, "b", 8, queue="fast")
    admitter = AdmissionController(store, "default")

    def said() -> list[str]:
        admitter.round(NOW, None)
        return [why["what"] for why in store.run(second).waits_for]

    whose, soon = (
        "The {} has {} GPUs free{}, 8 are wanted.",
        " (10 more when runs that are stopping have ended)",
    )
    group, queue = ("group vision", "6 of 16"), ("queue fast", "2 of 12")
    assert said() == [whose.format(*of, "") for of in (group, queue)]
    store.stop(first, NOW, by="ann")
    assert said() == [whose.format(*of, soon) for of in (group, queue)]
    store.finish(first, Outcome.STOPPED, "", NOW)
    assert said() == []
    assert store.run(second).admitted
    assert store.stopping() == {}


def test_reasons_are_written_only_when_they_change(store, monkeypatch) -> None:
    submit(store, "a", 10)
    submit(store, "b", 10)
    admitter = AdmissionController(store, "default")
    admitter.round(NOW, None)
    monkeypatch.setattr(store, "waits_for", lambda run, reasons: pytest.fail("written again"))
    admitter.round(NOW, None)


def test_a_repeated_round_admits_nothing_twice(store) -> None:
    submit(store, "a", 10)
    admitter, other = AdmissionController(store, "default"), AdmissionController(store, "default")
    admitter.round(NOW, None)
    other.round(NOW, None)
    assert len(store.charges(open_only=True)) == 1


def test_messages_stay_open_when_the_round_fails(store, monkeypatch) -> None:
    submit(store, "a", 1)

    def away(*_: Any, **__: Any) -> Any:
        raise ApiError(503)

    monkeypatch.setattr(store, "admit", away)
    with pytest.raises(ApiError):
        AdmissionController(store, "default").round(NOW, None)
    assert len(store.open_messages(Topic.SCHEDULER)) == 1


def test_runs_of_other_clusters_are_left_to_their_schedulers(store) -> None:
    there = submit(store, "there", 1, cluster="two")
    mine = AdmissionController(store, "default")
    assert mine.round(NOW, None)[0] == 0
    assert codes(store, there) == ["cluster-silent"]
    sign(store, room("two", 8))
    assert mine.round(NOW, None)[0] == 0
    assert AdmissionController(store, "two").round(NOW, None)[0] == 1


def test_what_another_cluster_will_admit_before_is_not_given_away_here(store) -> None:
    sign(store, room("two", 16))
    submit(store, "there", 10, cluster="two")
    here = submit(store, "here", 10)
    assert AdmissionController(store, "default").round(NOW, None)[0] == 0
    assert codes(store, here) == ["group-quota"]


def test_a_cluster_whose_scheduler_is_silent_keeps_nothing_from_the_others(store) -> None:
    sign(store, room("two", 16), ago=120)
    submit(store, "there", 10, cluster="two")
    submit(store, "here", 10)
    assert AdmissionController(store, "default").round(NOW, None)[0] == 1


def test_a_run_for_any_cluster_goes_where_it_fits_and_is_kept_there(store) -> None:
    sign(store, room("two", 8))
    run = submit(store, "a", 8, cluster="any")
    small = room("default", 4)
    assert AdmissionController(store, "default").round(NOW, small)[0] == 0, "it falls to the other one"
    assert AdmissionController(store, "two").round(NOW, room("two", 8))[0] == 1
    assert store.run(run).cluster == "two"


def test_several_runs_for_any_cluster_are_spread_over_what_is_free(store) -> None:
    sign(store, room("two", 8))
    runs = [submit(store, name, 8, cluster="any") for name in "ab"]
    own = room("default", 8)
    first = AdmissionController(store, "default")
    first.round(NOW, own)
    AdmissionController(store, "two").round(NOW, None)
    assert sorted(store.run(run).cluster for run in runs) == ["default", "two"]


def test_what_was_just_sent_to_a_cluster_counts_there_before_its_pods_are_seen(store) -> None:
    sign(store, room("two", 8))
    admitter, own = AdmissionController(store, "default"), room("default", 8)
    first = submit(store, "a", 8, cluster="any")
    admitter.round(NOW, own)
    assert store.run(first).cluster == "default"
    second = submit(store, "b", 8, cluster="any")
    assert admitter.round(NOW + timedelta(seconds=1), own)[0] == 0, (
        "the room that is told is older than the first"
    )
    assert store.run(second).cluster == "any"


def test_a_run_that_fits_no_cluster_says_so_and_holds_up_nobody(store) -> None:
    big = submit(store, "big", 9, cluster="any")
    submit(store, "small", 8)
    assert AdmissionController(store, "default").round(NOW, room("default", 8))[0] == 1
    assert codes(store, big)[:2] == ["no-cluster", "never-fits"]


def test_a_spec_that_cannot_be_read_stops_only_its_own_run(store) -> None:
    bad = submit(store, "bad", 1, cluster="any", spec={"image": "i", "new": True})
    submit(store, "good", 1)
    assert AdmissionController(store, "default").round(NOW, room("default", 8))[0] == 1
    assert codes(store, bad) == ["spec-unreadable"]


def test_a_queue_of_a_pool_of_the_other_kind_admits_nothing(store) -> None:
    store.put_pool(Pool("", "cpu", False, {}))
    store.put_pool(Pool("", "gpu", True, {}))
    store.put_queue("plain", NOW, pool="cpu")
    run = submit(store, "a", 1, queue="plain")
    assert AdmissionController(store, "default").round(NOW, None)[0] == 0
    assert codes(store, run) == ["pool-kind"]


def test_random_submits_exceed_no_queue_and_no_group() -> None:
    """10,000 of them are in tests/platform/scheduler."""
    store = open_database("sqlite://")
    world = Random(store)
    for n in range(120):
        world.step(n)
    assert world.full > 3
    store.close()


def person(store, name: str, group: str, quota: int | None = None) -> None:
    with contextlib.suppress(ApiError):
        store.add_group(group, Quota(quota, None, None), NOW)
    store.add_user(name, f"{name}@example.org", "hash", NOW, state=UserState.ACTIVE)
    store.add_member(group, name, NOW)


def of(store, name: str, key: str, gpu: int, **more: Any) -> str:
    made = Spec(image="i", roles=(Role(each=Amount(gpu=gpu)),), **more)
    plain = made.model_dump(mode="json")
    id = store.save_definition(name, Kind.TRAINING, key, plain, NOW).id
    rest = {"queue": "default", "priority": 50, "cluster": made.cluster}
    return str(store.submit(id, key, NOW, asks=made.asks(), spec=plain, **rest).id)


@pytest.mark.parametrize("cause", ["disabled", "data set"])
def test_a_run_that_the_database_refuses_for_another_reason_takes_no_quota(store, cause) -> None:
    person(store, "eve", "small", 4)
    person(store, "bob", "small")
    sets = ()
    if cause == "data set":
        data = store.add_data_set("eve", "d", {"kind": "folder"}, NOW)
        first = of(store, "eve", "reads", 0, data_sets=({"name": data.id},))
        assert store.admit(first, NOW) == ()
        sets = ({"name": data.id, "write": True},)
    refused = of(store, "eve", "a", 4, data_sets=sets)
    good = of(store, "bob", "b", 1)
    if cause == "disabled":
        store.set_user("eve", NOW, state=UserState.DISABLED)
    AdmissionController(store, "default").round(NOW, None)
    assert store.run(good).admitted
    assert codes(store, refused) == ["user-not-active" if cause == "disabled" else "data-set-in-use"]


def test_what_another_clusters_scheduler_was_refused_takes_no_quota_here(store) -> None:
    person(store, "eve", "small", 4)
    person(store, "bob", "small")
    refused = of(store, "eve", "a", 4, cluster="other")
    good = of(store, "bob", "b", 1)
    store.set_user("eve", NOW, state=UserState.DISABLED)
    sign(store, room("other", 8))
    AdmissionController(store, "other").round(NOW, room("other", 8))
    assert codes(store, refused) == ["user-not-active"]
    AdmissionController(store, "default").round(NOW, None)
    assert store.run(good).admitted


def test_a_thousand_waiting_runs_of_one_group_hide_no_other_groups(store, monkeypatch) -> None:
    monkeypatch.setattr("ava.scheduler.admission.LOOKED_AT", 20)
    monkeypatch.setattr("ava.db.runs.FIRST", 10)
    person(store, "boss", "full", 1)
    of(store, "boss", "has", 1)
    for n in range(3):
        person(store, f"many{n}", "full")
        for i in range(10):
            of(store, f"many{n}", f"m{n}-{i}", 1)
    person(store, "zoe", "young", 8)
    young = of(store, "zoe", "z", 8)
    AdmissionController(store, "default").round(NOW, None)
    assert store.run(young).admitted


def test_a_run_that_raises_lets_the_others_be_admitted(store, monkeypatch) -> None:
    bad, good = submit(store, "a", 1), submit(store, "b", 1)
    real = store.admit

    def admit(run: str, now: Any, **more: Any) -> Any:
        if run == bad:
            raise KeyError("planted")
        return real(run, now, **more)

    monkeypatch.setattr(store, "admit", admit)
    assert AdmissionController(store, "default").round(NOW, None) == (1, 1)
    assert store.run(good).admitted and codes(store, bad) == ["not-admissible"]


def test_reasons_of_which_only_amounts_have_changed_are_written_in_parts(store, monkeypatch) -> None:
    monkeypatch.setattr("ava.scheduler.admission.RETOLD", 3)
    first = submit(store, "has", 4)
    waiting = [submit(store, f"w{i}", 14) for i in range(10)]
    admitter = AdmissionController(store, "default")
    admitter.round(NOW, None)
    other = submit(store, "more", 1)
    assert store.admit(other, NOW) == ()
    written: list[str] = []
    real = store.waits_for
    monkeypatch.setattr(store, "waits_for", lambda run, why: (written.append(run), real(run, why)))
    admitter.round(NOW, None)
    assert len(written) == 3
    for _ in range(4):
        admitter.round(NOW, None)
    assert sorted(set(written)) == sorted(waiting) and len(written) == 10
    assert store.run(first).admitted
