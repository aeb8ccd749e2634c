"""What is counted while binds are under way, fail, or are reported late."""
# ruff: noqa: S311 - an order of events, not a secret

from __future__ import annotations

import random

import pytest

from ava.domain.placement.model import Pod
from ava.domain.placement.schedule_pass import schedule
from ava.scheduler import cluster_reader
from ava.scheduler.cache import Cache
from tests.unit.ava.scheduler.builders import Object, node, pod


def made(*things: Object, nodes: int = 1, gpu: int = 4) -> Cache:
    cache = Cache(())
    for i in range(nodes):
        cache.on_node(None, node(f"n{i}", gpu))
    for thing in things:
        cache.on_pod(None, thing)
    return cache


def decided(cache: Cache) -> list[Pod]:
    """Decide and assume, as the placing loop does."""
    found = [p for _, pods in schedule(cache.cluster, cache.gangs()).placed for p in pods]
    cache.assume(found)
    return found


def free(cache: Cache, name: str = "n0") -> int:
    return cache.cluster.slots[name].free.gpu


def test_an_assumed_pod_is_counted_until_it_is_seen_bound_and_then_once() -> None:
    cache = made(pod("r", gpu=3))
    (p,) = decided(cache)
    assert (free(cache), cache.assumed(), cache.gangs()) == (1, 1, [])
    cache.on_pod(pod("r", gpu=3), pod("r", gpu=3, on="n0"))
    assert (free(cache), cache.assumed()) == (1, 0)
    assert not cache.is_assumed(p)


def test_a_change_that_is_reported_before_the_bind_does_not_make_it_wait_again() -> None:
    cache = made(pod("r", gpu=3))
    decided(cache)
    cache.on_pod(None, pod("r", gpu=3))
    assert (free(cache), cache.gangs()) == (1, [])


def test_a_refused_bind_gives_the_assumption_back() -> None:
    cache = made(pod("r", gpu=3))
    (p,) = decided(cache)
    cache.refused(p, pod("r", gpu=3))
    assert (free(cache), cache.assumed(), [g.key for g in cache.gangs()]) == (4, 0, [p.gang])


def test_a_pod_that_went_while_it_was_being_bound_is_forgotten() -> None:
    cache = made(pod("r", gpu=3))
    (p,) = decided(cache)
    cache.on_pod(pod("r", gpu=3), None)
    assert (free(cache), cache.assumed(), cache.gangs()) == (4, 0, [])
    cache.refused(p, None)
    assert free(cache) == 4, "what the watch has reported already is not given back twice"


def test_a_bind_elsewhere_that_the_watch_reported_first_wins_over_the_refusal() -> None:
    cache = made(pod("r", gpu=3), nodes=2)
    (p,) = decided(cache)
    cache.on_pod(None, pod("r", gpu=3, on="n1"))
    cache.refused(p, pod("r", gpu=3, on="n1"))
    assert (free(cache, "n0"), free(cache, "n1")) == (4, 1)


def test_what_has_ended_is_free_and_what_is_terminating_is_not() -> None:
    cache = made(pod("r", gpu=3, on="n0", phase="Running"))
    leaving = pod("r", gpu=3, on="n0", phase="Running")
    leaving["metadata"]["deletionTimestamp"] = "2026-11-24T00:00:00Z"
    cache.on_pod(None, leaving)
    assert free(cache) == 1
    cache.on_pod(None, pod("r", gpu=3, on="n0", phase="Succeeded"))
    assert free(cache) == 4


def test_a_waiting_pod_that_is_being_deleted_is_not_placed() -> None:
    cache = made(pod("r", gpu=3))
    leaving = pod("r", gpu=3)
    leaving["metadata"]["deletionTimestamp"] = "2026-11-24T00:00:00Z"
    cache.on_pod(None, leaving)
    assert cache.gangs() == []


def test_pods_for_other_schedulers_count_but_do_not_wait() -> None:
    other = pod("x", gpu=1, scheduler="default-scheduler")
    bound = pod("y", gpu=2, on="n0", scheduler="default-scheduler")
    cache = made(other, bound)
    assert (cache.gangs(), free(cache)) == ([], 2)


def nominated(node: str | None, priority_class: str = "system-cluster-critical") -> Object:
    part = pod("api-2", gpu=2, scheduler="default-scheduler")
    part["metadata"]["namespace"] = "ava-system"
    part["spec"]["priorityClassName"] = priority_class
    part["metadata"]["annotations"] = {cluster_reader.NOMINATED: node} if node else {}
    return part


def test_room_that_comes_free_for_a_part_of_the_platform_is_given_to_no_run() -> None:
    cache = made(nominated("n0"))
    assert free(cache) == 2
    cache.on_pod(nominated("n0"), nominated(None))
    assert free(cache) == 4, "kube-scheduler has taken the nomination back"
    cache.on_pod(nominated(None), nominated("n0"))
    cache.on_pod(nominated("n0"), None)
    assert free(cache) == 4


def test_a_tenants_pod_nominates_itself_for_nothing() -> None:
    assert free(made(nominated("n0", ""))) == 4


def test_a_pod_that_only_says_that_it_is_for_ava_is_not_placed() -> None:
    mine = pod("r")
    mine["metadata"]["namespace"] = "tenant"
    assert made(mine).gangs() == []


def test_a_gang_cut_off_in_the_middle_of_binding_is_begun_for_the_next_leader() -> None:
    things = [pod("r", i, size=4, on="n0" if i < 2 else "") for i in range(4)]
    cache = made(*things, pod("urgent", gpu=2, **{"ava.io/priority": "99"}), gpu=4)
    gangs = {g.placed: len(g.pods) for g in cache.gangs()}
    assert gangs == {2: 2, 0: 1}
    assert {p.gang for p in decided(cache)} == {read_gang(things[0])}


def read_gang(thing: Object) -> str:
    return f"{thing['metadata']['namespace']}/r-0"


def test_a_gang_of_which_one_pod_is_being_bound_has_begun() -> None:
    cache = made(*(pod("r", i, size=2) for i in range(2)))
    first, _ = decided(cache)
    cache.refused(first, pod("r", first.index, size=2))
    (gang,) = cache.gangs()
    assert (gang.placed, len(gang.pods)) == (1, 1)


def test_one_more_attempt_begins_again_although_the_old_ones_pods_are_still_there() -> None:
    old = [pod("r", i, size=2, on="n0", attempt=0) for i in range(2)]
    cache = made(*old, pod("r", 0, size=2, attempt=1))
    (gang,) = cache.gangs()
    assert gang.placed == 0
    assert decided(cache) == [], "the second pod is not made yet"


def test_the_largest_size_of_a_node_is_remembered_while_its_plug_in_is_away() -> None:
    cache = made(gpu=8)
    away = node("n0", 8)
    away["status"]["allocatable"]["nvidia.com/gpu"] = "0"
    cache.on_node(None, away)
    assert cache.largest["n0"].gpu == 8
    assert cache.cluster.slots["n0"].node.room.gpu == 0
    cache.on_node(away, None)
    assert cache.largest == {}


def test_a_heartbeat_wakes_no_one() -> None:
    woken: list[int] = []
    cache = Cache((), lambda: woken.append(1))
    cache.on_node(None, node("n0"))
    beat = node("n0")
    beat["status"]["conditions"][0]["lastHeartbeatTime"] = "2026-11-24T00:00:00Z"
    cache.on_node(node("n0"), beat)
    assert len(woken) == 1


def test_more_on_a_node_than_it_has_is_reported() -> None:
    cache = made(pod("a", gpu=3, on="n0"), pod("b", gpu=3, on="n0"))
    assert cache.overcommitted() == ["n0"]


@pytest.mark.parametrize("seed", range(50))
def test_whatever_comes_in_whatever_order_no_gpu_is_given_twice(seed: int) -> None:
    """Binds arrive, are refused or are reported late; pods come, end and go; a new leader begins from the API's state."""
    r = random.Random(seed)
    api: dict[str, Object] = {}
    cache = made(nodes=3)
    flying: list[Pod] = []
    for step in range(150):
        match r.randrange(8):
            case 0 | 1:
                size = r.choice((1, 1, 2, 4))
                for i in range(size):
                    thing = pod(f"r{step}", i, gpu=r.choice((1, 2)), size=size)
                    api[f"r{step}-{i}"] = thing
                    cache.on_pod(None, thing)
            case 2 if api:
                name = r.choice(list(api))
                cache.on_pod(api.pop(name), None)
            case 3 if api:
                name = r.choice(list(api))
                if api[name]["spec"].get("nodeName"):
                    api[name] = {**api[name], "status": {"phase": "Succeeded"}}
                    cache.on_pod(None, api[name])
            case 4 if r.random() < 0.2:
                # A new leader: lists, knows nothing of what was assumed. Binds under way have been waited for.
                for p in flying:
                    _arrive(api, p)
                flying = []
                cache = made(*api.values(), nodes=3)
            case _:
                flying += decided(cache)
        r.shuffle(flying)
        for p in flying[: r.randrange(4)]:
            flying.remove(p)
            thing = api.get(p.uid.removeprefix("uid-"))
            if thing is None or r.random() < 0.2:
                cache.refused(p, thing)
            else:
                _arrive(api, p)
                if r.random() < 0.8:
                    cache.on_pod(None, api[p.uid.removeprefix("uid-")])
        for name in ("n0", "n1", "n2"):
            used = sum(
                int(t["spec"]["containers"][0]["resources"]["requests"].get("nvidia.com/gpu", 0))
                for t in api.values()
                if t["spec"].get("nodeName") == name and t["status"]["phase"] != "Succeeded"
            )
            assert used <= 4, (step, name)


def _arrive(api: dict[str, Object], p: Pod) -> None:
    name = p.uid.removeprefix("uid-")
    if name in api and not api[name]["spec"].get("nodeName"):
        api[name] = {**api[name], "spec": {**api[name]["spec"], "nodeName": p.node}}


def test_a_pod_that_replaces_another_comes_before_runs_that_have_not_begun() -> None:
    """A run that holds 63 of its 64 GPUs must not wait behind small ones for the last."""
    cache = Cache((), lambda: None)
    first = pod("small", **{"ava.io/priority": "90"})
    again = pod("whole", **{"ava.io/restarts": "1", "ava.io/priority": "10"})
    for thing in (first, again):
        cache.on_pod(None, thing)
    assert [gang.pods[0].uid for gang in cache.gangs()] == ["uid-whole-0", "uid-small-0"]


def test_a_bind_that_took_the_pods_successor_counts_where_it_went() -> None:
    """1.9 compares no uid in a Binding: one on its way may reach a later pod of the same name."""
    cache = Cache((), lambda: None)
    cache.on_node(None, node("n0", 4))
    cache.on_node(None, node("n1", 4))
    old, new = pod("a", gpu=4), pod("a", gpu=4, uid="later")
    cache.on_pod(None, old)
    cache.on_pod(old, None)
    cache.on_pod(None, new)
    bound = pod("a", gpu=4, uid="later", on="n0")
    cache.on_pod(new, bound)
    assert not cache.gangs()
    assert (cache.cluster.slots["n0"].free.gpu, cache.cluster.slots["n1"].free.gpu) == (0, 4)


def test_what_stopping_pods_give_back_is_reported_to_those_that_wait() -> None:
    old = pod("old", gpu=4, on="n0", phase="Running")
    cache = made(old, pod("new", gpu=1))
    before = schedule(cache.cluster, cache.gangs()).reasons
    cache.on_pod(old, old | {"metadata": old["metadata"] | {"deletionTimestamp": "2026-11-27T00:00:00Z"}})
    after = schedule(cache.cluster, cache.gangs()).reasons
    ((reply,),), ((then,),) = before.values(), after.values()
    assert reply.what == "1 node: GPU 0 free at most, 1 wanted."
    assert (
        then.what == "1 node: GPU 0 free at most, 1 wanted (4 more when pods that are stopping have ended)."
    )
    cache.on_pod(old, None)
    assert decided(cache)
    assert not any(cache.cluster.slots["n0"].ending)
