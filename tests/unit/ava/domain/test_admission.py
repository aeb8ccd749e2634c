"""Quotas admit in order; what the first one needs is kept; no one starves and nothing is exceeded."""
# ruff: noqa: S311 - sizes of runs, not secrets

from __future__ import annotations

import random
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from ava.domain.admission import admissions
from ava.domain.model import Group, Kind, Phase, Queue, Quota, Run
from ava.domain.resources import Resources

NOW = datetime(2026, 11, 24, tzinfo=UTC)
FREE = Quota(None, None, None)


def run(
    id: str, gpu: int, *, group: str = "g", queue: str = "q", priority: int = 50, at: int = 0, cpu: int = 0
) -> Run:
    asks = Resources(gpu, cpu)
    created = NOW + timedelta(seconds=at)
    return Run(
        id,
        "d",
        Kind.TRAINING,
        id,
        "u",
        group,
        queue,
        priority,
        "default",
        id,
        {},
        asks,
        Phase.QUEUED,
        created,
    )


def group(name: str, quota: int | None, used: int = 0) -> Group:
    return Group(name, name, 1, Quota(quota, None, None), Resources(used), NOW)


def queue(name: str, quota: int | None, used: int = 0, priority: int = 0) -> Queue:
    return Queue(name, name, None, Quota(quota, None, None), Resources(used), priority)


def decide(
    runs: list[Run], groups: list[Group], queues: list[Queue]
) -> tuple[list[str], dict[str, list[str]]]:
    done = admissions(runs, {g.id: g for g in groups}, {q.id: q for q in queues})
    assert set(done.admit) | set(done.waits) == {r.id for r in runs}
    assert not set(done.admit) & set(done.waits)
    return done.admit, {k: [p.code for p in v] for k, v in done.waits.items()}


def test_queue_priority_then_own_priority_then_age() -> None:
    runs = [
        run("young", 1, at=5),
        run("old", 1, at=1),
        run("urgent", 1, at=9, priority=90),
        run("express", 1, at=9, queue="fast", priority=0),
    ]
    admit, waits = decide(runs, [group("g", 3)], [queue("q", None), queue("fast", None, priority=5)])
    assert admit == ["express", "urgent", "old"]
    assert waits == {"young": ["group-quota"]}


def test_a_run_needs_room_in_its_group_and_in_its_queue() -> None:
    admit, waits = decide(
        [run("a", 3), run("b", 2, queue="r")], [group("g", 4)], [queue("q", 2), queue("r", 9)]
    )
    assert (admit, waits) == (["b"], {"a": ["queue-never"]})
    admit, waits = decide([run("a", 2)], [group("g", 4)], [queue("q", 2, used=1)])
    assert (admit, waits) == ([], {"a": ["queue-quota"]})


def test_smaller_ones_are_filled_in_only_beside_what_the_first_needs() -> None:
    runs = [run("head", 8, at=1), run("gpu", 1, at=2), run("cpu", 0, at=3, cpu=4000)]
    admit, waits = decide(runs, [group("g", None)], [queue("q", 20, used=15)])
    assert admit == ["cpu"]
    assert waits == {"head": ["queue-quota"], "gpu": ["queue-behind"]}


def test_a_group_at_its_quota_does_not_hold_up_the_queue_of_all() -> None:
    runs = [run("head", 4, group="full", at=1), run("other", 1, at=2)]
    admit, waits = decide(runs, [group("full", 4, used=4), group("g", 9)], [queue("q", 20, used=18)])
    assert admit == ["other"]
    assert waits == {"head": ["group-quota", "queue-quota"]}


def test_a_run_that_waits_for_its_queue_keeps_its_groups_room_too() -> None:
    # Else its own group's later runs in other queues could take turns with it for ever.
    runs = [run("head", 4, at=1), run("later", 2, queue="r", at=2)]
    admit, waits = decide(runs, [group("g", 5)], [queue("q", 4, used=2), queue("r", 9)])
    assert (admit, waits) == ([], {"head": ["queue-quota"], "later": ["group-behind"]})


def test_what_todays_quota_could_never_admit_holds_up_no_one() -> None:
    admit, waits = decide([run("big", 8, at=1), run("s", 4, at=2)], [group("g", 4)], [queue("q", None)])
    assert (admit, waits) == (["s"], {"big": ["group-never"]})


def test_a_quota_that_was_lowered_below_what_is_used_admits_nothing_of_it() -> None:
    admit, _ = decide([run("gpu", 1), run("cpu", 0, cpu=1)], [group("g", 4, used=9)], [queue("q", None)])
    assert admit == ["cpu"]


def test_a_run_whose_queue_is_gone_says_so() -> None:
    admit, waits = decide([run("a", 1, queue="gone"), run("b", 1)], [group("g", 4)], [queue("q", None)])
    assert (admit, waits) == (["b"], {"a": ["account-gone"]})


def test_reasons_say_what_where_found_wanted_and_remedy() -> None:
    done = admissions([run("a", 2)], {"g": group("g", 4, used=3)}, {"q": queue("q", None)})
    (p,) = done.waits["a"]
    assert p.what == "The group g has 1 of 4 GPUs free, 2 are wanted."
    assert (p.where, p.found, p.wanted) == ("group g", "1 free of 4 GPUs", "2 GPUs")
    assert p.remedy


def test_reasons_say_what_runs_that_are_stopping_give_back() -> None:
    groups, queues = {"g": group("g", 4, used=5)}, {"q": queue("q", 4, used=4), "r": queue("r", 4, used=4)}
    soon = {("group", "g"): Resources(3, 1000), ("queue", "q"): Resources(4), ("group", "q"): Resources(9)}
    done = admissions([run("a", 2), run("b", 2, queue="r", at=1)], groups, queues, stopping=soon)
    assert not done.admit, "what is stopping still has it"
    assert [p.what for p in done.waits["a"]] == [
        "The group g has 0 of 4 GPUs free (2 more when runs that are stopping have ended), 2 are wanted.",
        "The queue q has 0 of 4 GPUs free (4 more when runs that are stopping have ended), 2 are wanted.",
    ]
    assert done.waits["b"][-1].what == "The queue r has 0 of 4 GPUs free, 2 are wanted."


@pytest.mark.slow
def test_queues_of_20_and_10_gpus_are_never_exceeded_in_10000_random_submits() -> None:
    r = random.Random(16)
    queues = {"big": queue("big", 20, priority=1), "small": queue("small", 10)}
    groups = {name: group(name, limit) for name, limit in (("a", 12), ("b", 9), ("c", None))}
    waiting: list[Run] = []
    running: list[Run] = []
    admitted = peak = 0
    for n in range(10_000):
        waiting.append(
            run(f"r{n}", r.choice((1, 1, 2, 4, 8)), group=r.choice("abc"), queue=r.choice(("big", "small")), at=n,
                priority=r.choice((10, 50, 90)))
        )  # fmt: skip
        done = admissions(waiting, groups, queues)
        chosen = set(done.admit)
        new = [w for w in waiting if w.id in chosen]
        waiting = [w for w in waiting if w.id not in chosen]
        admitted += len(new)
        running += new
        # Runs end at random, or are stopped while they wait.
        ended = [x for x in running if r.random() < 0.25]
        running = [x for x in running if x not in ended]
        if len(waiting) > 30:
            waiting.pop(r.randrange(len(waiting)))
        for kind, things in (("queue", queues), ("group", groups)):
            for name, thing in things.items():
                before = sum(x.asks.gpu for x in (*running, *ended) if getattr(x, kind) == name)
                assert thing.quota.gpu is None or before <= thing.quota.gpu, (n, kind, name)
                peak = max(peak, before if name == "big" else 0)
                used = sum(x.asks.gpu for x in running if getattr(x, kind) == name)
                things[name] = replace(thing, used=Resources(used))  # type: ignore[type-var]
    assert peak == 20, "the queue was full at times, so its limit was tried"
    assert admitted > 3000


@pytest.mark.parametrize("keeps", [True, pytest.param(False, marks=pytest.mark.slow)])
def test_a_stream_of_small_runs_starves_a_large_one_only_without_what_is_kept(
    keeps: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not keeps:
        monkeypatch.setattr("ava.domain.admission._Account.keep", lambda self, asks: None)
    r = random.Random(3)
    running: dict[str, tuple[Run, int]] = {}
    waiting: list[Run] = []
    began = None
    for now in range(300):
        running = {k: v for k, v in running.items() if v[1] > now}
        waiting += [run(f"s{now}-{i}", 1, at=now) for i in range(3)]
        if now == 20:
            waiting.append(run("large", 10, at=now))
        used = sum(v[0].asks.gpu for v in running.values())
        done = admissions(waiting, {"g": group("g", None)}, {"q": queue("q", 10, used)})
        for w in [w for w in waiting if w.id in done.admit]:
            running[w.id] = (w, now + r.randint(5, 10))
            began = now if w.id == "large" else began
        waiting = [w for w in waiting if w.id not in done.admit]
        if began:
            break
    assert (began is not None) is keeps


def test_two_runs_that_ask_for_4_gpus_of_4_are_admitted_one_after_the_other() -> None:
    runs = [run("a", 4, at=1), run("b", 4, at=1)]
    admit, waits = decide(runs, [group("g", 4)], [queue("q", 4)])
    assert (admit, list(waits)) == (["a"], ["b"])
    admit, _ = decide(runs[1:], [group("g", 4)], [queue("q", 4)])
    assert admit == ["b"]
