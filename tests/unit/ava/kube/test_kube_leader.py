"""One leads at a time, and one that cannot renew stops before another may begin."""

import asyncio
import contextlib
import time

import pytest

from ava.kube.client import Client
from ava.kube.errors import Fenced
from ava.kube.leader import Leader, Lease
from ava.kube.resources import CONFIG_MAPS, NAMESPACES
from tests.unit.ava.kube.fake_api import FakeApi, Fault
from tests.unit.fakes.clock import Clock

LEASE = Lease(length=1.0, margin=0.4, every=0.1)


class World:
    """Contenders on one fake server; ``held`` has (who, begin or end, time)."""

    def __init__(self, api, access):
        self.api, self.access = api, access
        self.held = []
        self.tasks = {}

    def now(self):
        return asyncio.get_running_loop().time()

    async def contend(self, client, who, lease):
        leader = Leader(client, "x", "lock", who, lease)

        async def work():
            self.held.append((who, "begin", self.now()))
            try:
                while leader.leads():
                    await asyncio.sleep(0.01)
            finally:
                self.held.append((who, "end", self.now()))

        while True:
            await leader.run(work)

    def leads(self):
        """Return who leads now."""
        last = {who: what for who, what, _ in self.held}
        return [who for who, what in last.items() if what == "begin"]

    def start(self, client, who, lease=LEASE):
        self.tasks[who] = asyncio.create_task(self.contend(client, who, lease))

    async def until(self, wanted):
        while not wanted():
            await asyncio.sleep(0.01)


def world(test):
    async def go():
        api = FakeApi()
        async with (
            api.serve() as access,
            Client(access, timeout=1.0) as one,
            Client(access, timeout=1.0) as two,
        ):
            await one.create(NAMESPACES, {"metadata": {"name": "x"}})
            here = World(api, access)
            try:
                async with asyncio.timeout(20):
                    await test(here, one, two)
            finally:
                for task in here.tasks.values():
                    task.cancel()
                    with contextlib.suppress(asyncio.CancelledError):
                        await task
            for (_, what, _), (_, following, _) in zip(here.held, here.held[1:], strict=False):
                assert (what, following) != ("begin", "begin"), here.held

    asyncio.run(go())


def test_the_second_waits_and_takes_over_at_once_when_the_first_gives_back():
    async def test(here, one, two):
        here.start(one, "a")
        await here.until(lambda: here.leads() == ["a"])
        here.start(two, "b")
        await asyncio.sleep(1.5)
        assert here.leads() == ["a"]
        here.tasks["a"].cancel()
        before = here.now()
        await here.until(lambda: here.leads() == ["b"])
        assert here.now() - before < 0.6

    world(test)


def test_one_whose_server_does_not_answer_stops_before_the_other_begins():
    async def test(here, one, two):
        here.start(one, "a")
        await here.until(lambda: here.leads() == ["a"])
        here.start(two, "b")
        await asyncio.sleep(0.3)
        cut = []

        async def slow(request):
            cut.append(request)
            await asyncio.sleep(3600)

        one._session._request = lambda *a, **k: slow(a)
        await here.until(lambda: here.leads() == ["b"])
        ends = [at for who, what, at in here.held if (who, what) == ("a", "end")]
        begins = [at for who, what, at in here.held if (who, what) == ("b", "begin")]
        assert cut
        assert begins[0] - ends[0] > LEASE.margin / 2

    world(test)


def test_a_server_that_is_away_for_less_than_the_lease_costs_no_lead():
    async def test(here, one, two):
        # Long enough for a machine that sleeps late.
        here.start(one, "a", Lease(length=10.0, margin=0.4, every=0.1))
        await here.until(lambda: here.leads() == ["a"])
        refused = []

        def away(verb, path):
            refused.append(path)
            raise Fault(503, "ServiceUnavailable")

        here.api.before = away
        await here.until(lambda: len(refused) >= 3)
        here.api.before = None
        await asyncio.sleep(0.5)
        assert [what for _, what, _ in here.held] == ["begin"]

    world(test)


def test_writes_are_refused_before_the_lease_ends_whatever_the_work_does():
    async def test(here, one, two):
        clock = Clock(100.0)
        leader = Leader(one, "x", "lock", "a", LEASE, clock=clock)
        with pytest.raises(Fenced):
            await leader.client.create(CONFIG_MAPS, {"metadata": {"name": "before"}}, "x")
        assert await leader._try()
        await leader.client.create(CONFIG_MAPS, {"metadata": {"name": "led"}}, "x")
        clock.now += LEASE.length - LEASE.margin + 0.01
        with pytest.raises(Fenced):
            await leader.client.create(CONFIG_MAPS, {"metadata": {"name": "after"}}, "x")
        assert {t["metadata"]["name"] for t in here.api.all("configmaps")} == {"lock", "led"}

    world(test)


def test_a_write_that_hangs_gets_no_more_time_than_is_left_of_the_lease():
    async def test(here, one, two):
        leader = Leader(one, "x", "lock", "a", LEASE)
        assert await leader._try()
        here.api.before = lambda verb, path: asyncio.sleep(5) if verb == "POST" else None
        before = here.now()
        with pytest.raises(Exception, match="no reply in time"):
            await leader.client.create(CONFIG_MAPS, {"metadata": {"name": "late"}}, "x")
        assert here.now() - before < LEASE.length
        here.api.before = None

    world(test)


def test_a_contender_does_not_believe_the_clocks_of_others():
    """What the record says of times is not looked at: it has to stay the same for a whole lease by the own clock."""

    async def test(here, one, two):
        clock = Clock()
        first = Leader(one, "x", "lock", "a", LEASE)
        second = Leader(two, "x", "lock", "b", LEASE, clock=clock)
        assert await first._try()
        clock.now = 1e9
        assert not await second._try()
        clock.now += LEASE.length - 0.01
        assert not await second._try()
        clock.now += 0.02
        assert await second._try()

    world(test)


def test_a_successor_takes_over_when_the_record_of_one_that_died_is_over_not_at_its_next_look_after():
    async def test(here, one, two):
        slow = Lease(length=1.0, margin=0.2, every=0.7)
        assert await Leader(one, "x", "lock", "dead", slow)._try()
        second, took = Leader(two, "x", "lock", "b", slow), []

        async def work():
            took.append(here.now() - before)

        before = here.now()
        await second.run(work)
        assert slow.length <= took[0] < 2 * slow.every

    world(test)


def test_a_contender_whose_server_does_not_answer_asks_no_more_often_than_usual():
    async def test(here, one, two):
        assert await Leader(one, "x", "lock", "dead", LEASE)._try()
        asked = []

        def away(verb, path):
            asked.append(path)
            raise Fault(503, "ServiceUnavailable")

        second = asyncio.create_task(Leader(two, "x", "lock", "b", LEASE).run(lambda: asyncio.sleep(3600)))
        await asyncio.sleep(0.3)
        here.api.before = away
        await asyncio.sleep(1.5)
        second.cancel()
        here.api.before = None
        # Each look is sent again a few times by the client.
        assert 0 < len(asked) < 4 * 1.5 / LEASE.every

    world(test)


def test_errors_of_the_work_are_passed_on_and_the_lead_is_given_back():
    async def test(here, one, two):
        async def work():
            raise RuntimeError("bad day")

        with pytest.raises(RuntimeError, match="bad day"):
            await Leader(one, "x", "lock", "a", LEASE).run(work)
        assert await Leader(two, "x", "lock", "b", LEASE)._try()

    world(test)


@pytest.mark.parametrize("times", [(1.0, 1.0, 0.1), (1.0, 0.5, 0.6), (1.0, 0.0, 0.1), (1.0, 0.5, 0.0)])
def test_times_that_leave_no_room_are_refused(times):
    with pytest.raises(ValueError, match="lease"):
        Lease(*times)


def test_a_machine_that_was_suspended_does_not_lead_for_the_rest_of_its_lease(monkeypatch):
    """CLOCK_MONOTONIC stands still meanwhile, CLOCK_BOOTTIME does not."""

    async def test(here, one, two):
        leader = Leader(one, "x", "lock", "a", LEASE)
        assert await leader._try()
        assert leader.leads()
        real, slept = time.clock_gettime, LEASE.length
        monkeypatch.setattr(
            time, "clock_gettime", lambda which: real(which) + (slept if which == time.CLOCK_BOOTTIME else 0)
        )
        assert not leader.leads()

    world(test)
