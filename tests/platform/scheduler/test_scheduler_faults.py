"""Kills, freezes and two leaders: no GPU is given twice, no gang is left in part, and work continues."""
# ruff: noqa: S311 - the moment of a kill, not a secret

from __future__ import annotations

import asyncio
import random
import signal
from collections import Counter

import pytest

from ava.domain import labels
from bench import hollow

NODES = 24
GPUS = 8
LARGEST = 8
"""GPUs of the largest gang: fewer than these stay free while it waits at the head, where the order of creation has put it."""


def gangs(count: int, seed: int) -> list[dict]:
    """Return pods of gangs of 1, 2 or 4 pods that ask for as many GPUs as there are in all, and a few more."""
    r = random.Random(seed)
    pods, gpus, n = [], 0, 0
    while gpus < count:
        size, gpu = r.choice((1, 1, 2, 4)), r.choice((1, 1, 2))
        pods += [hollow.pod(f"g{n:03}", i, gpu=gpu, size=size) for i in range(size)]
        gpus += size * gpu
        n += 1
    return pods


async def check(world) -> Counter:
    """No node has more than it has; return how many pods of each run are bound."""
    pods = await world.pods()
    over = {name: count for name, count in hollow.given(pods).items() if count > GPUS}
    assert over == {}
    return Counter(p["metadata"]["labels"][labels.RUN] for p in pods if p["spec"].get("nodeName"))


def sizes(pods: list[dict]) -> dict[str, int]:
    """Return how many pods each run has to have."""
    return {p["metadata"]["labels"][labels.RUN]: int(p["metadata"]["annotations"][labels.GANG]) for p in pods}


async def whole(world) -> None:
    """Every gang is bound whole or not at all."""
    bound = await check(world)
    for run, size in sizes(await world.pods()).items():
        assert bound[run] in (0, size), (run, bound[run], size)


async def filled(world, least: int) -> bool:
    given = hollow.given(await world.pods())
    return sum(given.values()) >= least


async def at_rest(world, gpus: int) -> None:
    """Wait until of so many GPUs as many are given as can be, and nothing more has been bound for two seconds."""
    await world.until(lambda: filled(world, gpus - LARGEST + 1), 90)
    before = 0
    while before < (now := len(await world.bound())):
        before = now
        await asyncio.sleep(2.0)


@pytest.mark.slow
def test_killed_again_and_again_in_the_middle_of_binding(world) -> None:
    async def scene() -> None:
        r = random.Random(5)
        await hollow.create_nodes(world.client, [hollow.node(f"n{i:02}", gpu=GPUS) for i in range(2 * NODES)])
        await hollow.create(world.client, gangs(2 * NODES * GPUS + 20, 1))
        partial = 0
        for n in range(6):
            before = len(await world.bound())
            # One bind at a time, or all is done before the kill comes.
            world.start(f"s{n}", binds=1)
            await world.until_bound(before + r.randint(1, 5))
            await asyncio.to_thread(world.stop, f"s{n}", signal.SIGKILL)
            bound = await check(world)
            sizes = {
                p["metadata"]["labels"][labels.RUN]: int(p["metadata"]["annotations"][labels.GANG])
                for p in await world.pods()
            }
            partial += sum(count < sizes[run] for run, count in bound.items())
        assert partial, "none of the kills came in the middle of a gang: the test shows nothing"
        world.start("last")
        await at_rest(world, 2 * NODES * GPUS)
        await whole(world)

    world.run(scene)


@pytest.mark.slow
def test_a_frozen_leader_that_wakes_up_after_its_lease_binds_nothing_more(world) -> None:
    async def scene() -> None:
        await hollow.create_nodes(world.client, [hollow.node(f"n{i:02}", gpu=GPUS) for i in range(NODES)])
        await hollow.create(world.client, gangs(NODES * GPUS + 20, 2))
        # One bind at a time, or it has done nearly all before it is stopped.
        old = world.start("old", binds=1)
        await world.until_bound(10)
        old.send_signal(signal.SIGSTOP)
        seen = len(await world.bound())
        world.start("new")
        await world.until_bound(seen + 20, 60)
        # Both cores now have two schedulers that believe in a lead of their own.
        old.send_signal(signal.SIGCONT)
        await at_rest(world, NODES * GPUS)
        await whole(world)
        assert "lost" in world.log("old") or "Fenced" in world.log("old")
        assert old.poll() is None, "it contends again instead of dying"

    world.run(scene)


def test_of_two_schedulers_one_acts_and_the_other_takes_over(world) -> None:
    async def scene() -> None:
        await hollow.create_nodes(world.client, [hollow.node("n0", gpu=GPUS)])
        for name in ("one", "two"):
            world.start(name)
        await hollow.create(world.client, [hollow.pod("a", gpu=1)])
        await world.until_bound(1)
        leaders = [name for name in ("one", "two") if "placing" in world.log(name)]
        assert len(leaders) == 1
        await asyncio.to_thread(world.stop, leaders[0], signal.SIGKILL)
        await hollow.create(world.client, [hollow.pod("b", gpu=1)])
        await world.until_bound(2, 30)

    world.run(scene)


@pytest.mark.slow
def test_two_runs_of_4_pods_on_4_gpus_take_turns(world) -> None:
    async def scene() -> None:
        await hollow.create_nodes(world.client, [hollow.node("a", gpu=2), hollow.node("b", gpu=2)])
        world.start()
        for n in range(10):
            pods = [hollow.pod(f"{run}{n}", i, size=4) for run in "xy" for i in range(4)]
            random.Random(n).shuffle(pods)
            await hollow.create(world.client, pods)
            bound = await world.until_bound(4, 30)
            await asyncio.sleep(0.2)
            assert len(await world.bound()) == 4
            (first,) = {name[0] for name in bound}
            for name in bound:
                await world.client.delete(hollow.PODS, name, hollow.NAMESPACE, grace=0)
            second = await world.until_bound(4, 30)
            assert {name[0] for name in second} == {"x", "y"} - {first}
            await hollow.remove_pods(world.client)

    world.run(scene)
