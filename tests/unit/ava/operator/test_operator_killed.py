"""The operator is killed between any two of its steps; the next one leaves exactly one of each, and nothing behind (N8)."""

import asyncio
import random

import pytest

from ava.domain.model import Outcome, Phase
from tests.unit.ava.operator.fake_cluster import Room, in_room, operating, start

pytestmark = pytest.mark.slow

STEPS = 40
"""More than a run of two pods takes from its admission to its end."""


class Killed(BaseException):
    """What a kill does to a task: nothing after it is done."""


class Fuse:
    """Counts writes, and blows at one of them: before it is done, or after, so that no one hears of it."""

    def __init__(self, at, after, about=""):
        self.left, self.after, self.blown, self.about = at, after, asyncio.Event(), about

    def step(self, what, after):
        if after == self.after and self.about in what:
            self.left -= 1
            if self.left < 0:
                self.blown.set()
                raise Killed


WRITES = {
    "pods": ("record",),
    "runs": ("restart", "finish"),
    "outbox": ("complete",),
    "disks": ("record", "delete"),
}
"""Methods of the database that the operator writes with and that the fuse counts, by noun."""


class Noun:
    """A noun of the database with a fuse; a step's name is as ``disks.record``."""

    def __init__(self, name, real, fuse):
        self._name, self._real, self._fuse = name, real, fuse

    def __getattr__(self, name):
        real = getattr(self._real, name)
        if name not in WRITES[self._name]:
            return real

        def call(*args, **named):
            if self._fuse.blown.is_set():
                raise Killed
            self._fuse.step(f"{self._name}.{name}", after=False)
            reply = real(*args, **named)
            self._fuse.step(f"{self._name}.{name}", after=True)
            return reply

        return call


class Database:
    """The database of an operator with a fuse."""

    def __init__(self, db, fuse):
        self._db, self._fuse = db, fuse

    def __getattr__(self, name):
        real = getattr(self._db, name)
        return Noun(name, real, self._fuse) if name in WRITES else real


def fused(client, fuse):
    """Return a client whose writes pass the fuse."""
    real = client.request

    async def request(method, path, **named):
        if method == "GET":
            return await real(method, path, **named)
        if fuse.blown.is_set():
            raise Killed
        fuse.step(path, after=False)
        reply = await real(method, path, **named)
        fuse.step(path, after=True)
        return reply

    twin = client.guarded(lambda: None)
    twin.request = request
    return twin


async def killed_at(room: Room, at: int, after: bool, wanted, config=None, about="") -> bool:
    """Operate until the fuse blows or ``wanted()``; return whether it blew. ``about``: what the writes that count are about."""
    fuse = Fuse(at, after, about)
    try:
        async with operating(fused(room.client, fuse), Database(room.db, fuse), config) as _:
            while not wanted() and not fuse.blown.is_set():
                await asyncio.sleep(0.01)
    except (Killed, BaseExceptionGroup):
        pass
    return fuse.blown.is_set()


@pytest.mark.parametrize("after", [False, True])
@pytest.mark.parametrize("mpi", [False, True])
def test_a_kill_at_any_step_leaves_one_of_each_and_then_nothing(db, after, mpi):
    async def test(room):
        roles = [{"name": "launcher", "command": ["exit-0"]}, {"name": "worker"}]
        if not mpi:
            roles = [{"name": "worker", "replicas": 2, "command": ["exit-0"]}]
        blown = []
        for at in range(STEPS):
            run = start(db, roles=roles, distributed="mpi" if mpi else "none", name=f"train-{at}")
            blown.append(await killed_at(room, at, after, lambda run=run: room.finished(run)))
            async with operating(room.client, db):
                await room.until(lambda run=run: room.finished(run) and not room.left())
            ended = room.run(run)
            assert ended.outcome is Outcome.SUCCEEDED, (at, ended)
            assert len(db.charges.list(run=run.id)) == 1
            places = [name for name in room.nodes.ran if name.startswith(run.id)]
            assert sorted(places) == sorted(set(places)), (at, places)
            if not blown[-1]:
                break
        assert blown.count(True) > 8
        assert blown[-1] is False, "STEPS is too small to have killed everywhere"

    in_room(db, test, operator=False)


def test_a_hundred_runs_submitted_and_stopped_at_random_under_kills_leave_nothing(db):
    async def test(room):
        chance = random.Random(16)  # noqa: S311
        runs = []
        ends = ("exit-0", "exit-1", "sleep", "sleep")
        while len(runs) < 100:
            for _ in range(chance.randint(1, 15)):
                roles = [
                    {"name": "worker", "replicas": chance.randint(1, 3), "command": [chance.choice(ends)]}
                ]
                runs.append(start(db, roles=roles, retries=chance.randint(0, 1), name=f"r{len(runs)}"))
            for run in chance.sample(runs, 3):
                db.runs.stop(run.id, run.admitted, by="ann")
            until = asyncio.get_running_loop().time() + chance.uniform(0.05, 0.5)
            await killed_at(
                room,
                chance.randint(1, 60),
                chance.random() < 0.5,
                lambda until=until: asyncio.get_running_loop().time() > until,
            )
        async with operating(room.client, db):
            for run in runs:
                db.runs.stop(run.id, run.admitted, by="ann")
            await room.until(lambda: room.finished(*runs) and not room.left(), 90)
        assert all(room.run(run).phase is Phase.FINISHED for run in runs)
        assert {c.run for c in db.charges.list()} == {run.id for run in runs}
        assert all(c.ended is not None for c in db.charges.list())
        assert db.groups.get("vision").used == (0, 0, 0)
        assert room.nodes.errors == []

    in_room(db, test, operator=False)
