"""The load of services as ingress controllers count it."""

import asyncio
from types import SimpleNamespace

import pytest
from aiohttp import web

from ava.operator.request_load import WINDOW, RequestLoad, counts
from tests.unit.fakes.clock import Clock

RUN = SimpleNamespace(id="r1", group="vision")
NAME = "ava-vision_run-r1-serve_80@kubernetes"
TEXT = f"""\
# HELP traefik_service_requests_total How many HTTP requests processed on a service
# TYPE traefik_service_requests_total counter
traefik_service_requests_total{{code="200",method="GET",protocol="http",service="{NAME}"}} 7
traefik_service_requests_total{{code="500",method="POST",protocol="http",service="{NAME}"}} 3
traefik_service_requests_total{{code="200",method="GET",protocol="http",service="other@file"}} 1
process_open_fds 12
"""


@pytest.fixture
def clock():
    return Clock(100.0)


def say(load, clock, *seconds):
    """Have all controllers tell so many requests, ten seconds apart."""
    for n, report in enumerate(seconds):
        clock.now += 10 if n else 0
        for url, value in zip(load.urls, report, strict=True):
            load.put(url, {NAME: value})


def test_requests_of_all_codes_and_methods_count():
    assert counts(TEXT) == {NAME: 10.0, "other@file": 1.0}
    with pytest.raises(ValueError):
        counts("<html>no metrics</html>")


def test_the_rate_is_that_of_all_controllers_together(clock):
    load = RequestLoad(["a", "b"], clock)
    say(load, clock, (0, 0), (100, 50), (200, 100))
    assert load.rate(RUN) == pytest.approx(15.0)
    assert load.rate(SimpleNamespace(id="r2", group="vision")) == 0.0


def test_it_is_that_of_the_last_minute(clock):
    load = RequestLoad(["a"], clock)
    say(load, clock, *[(0,)] * 20, *[(100 * n,) for n in range(1, 8)])
    assert load.rate(RUN) == pytest.approx(700 / (WINDOW + 10), rel=0.2)


def test_a_controller_that_began_again_takes_nothing_away(clock):
    load = RequestLoad(["a"], clock)
    say(load, clock, (1000,), (1100,), (50,))
    assert load.rate(RUN) == pytest.approx((100 + 50) / 20)


def test_nothing_is_known_while_one_is_silent_or_none_is_named(clock):
    load = RequestLoad(["a", "b"], clock)
    say(load, clock, (0, 0), (100, 50))
    clock.now += 40
    load.put("a", {NAME: 200})
    assert load.rate(RUN) is None
    assert RequestLoad([], clock).rate(RUN) is None


def test_controllers_are_asked_and_one_that_fails_hinders_no_other(clock):
    async def go():
        async def answer(request):
            return web.Response(text=TEXT)

        app = web.Application()
        app.add_routes([web.get("/metrics", answer)])
        runner = web.AppRunner(app)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        url = f"http://127.0.0.1:{runner.addresses[0][1]}"
        load = RequestLoad([f"{url}/nothing", f"{url}/metrics"], clock)
        await load.look()
        await runner.cleanup()
        assert [len(seen) for seen in load._seen.values()] == [0, 1]

    asyncio.run(go())
