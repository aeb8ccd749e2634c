"""Sources of logs: VictoriaLogs, Kubernetes' pods, both as one; and what a user gets of them."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from typing import Any

import httpx
import pytest
from aiohttp import web

from ava.domain.labels import namespace, pod
from ava.domain.model import PodState
from ava.kube.access import Access
from ava.services.config import LogStore
from ava.services.logs.combined import CombinedLogs
from ava.services.logs.interface import (
    LONGEST,
    LogBackendUnavailable,
    LogLine,
    NoLogs,
    Target,
    merged,
    nanoseconds,
)
from ava.services.logs.live import LiveLogs, lines_of
from ava.services.logs.victoria import KeptLogs, text
from tests.unit.ava.api.site import Site, codes

TARGET = Target("default", "ava-vision", "r1ilp5dnq7e1m-", ("r1ilp5dnq7e1m-0-worker-0",))
POD = TARGET.pods[0]
STAMP = "2026-11-24T12:00:00.000000001Z"
BEGIN = datetime(2026, 11, 24, 12, tzinfo=UTC)
NANO = int(BEGIN.timestamp()) * 10**9


def rows(*lines: tuple[str, str]) -> str:
    return "\n".join(json.dumps({"_time": time, "_msg": reply, "pod": POD}) for time, reply in lines)


def kept(*answers: httpx.Response | Exception) -> tuple[KeptLogs, list[httpx.Request]]:
    asked: list[httpx.Request] = []

    def answer(request: httpx.Request) -> httpx.Response:
        asked.append(request)
        found = answers[int(request.url.host[-1])]
        if isinstance(found, Exception):
            raise found
        return found

    stores = [LogStore(name=f"s{i}", url=f"https://store{i}") for i in range(len(answers))]
    return KeptLogs(stores, httpx.MockTransport(answer)), asked


def test_the_question_names_the_namespace_and_the_runs_own_pods_alone() -> None:
    assert text(TARGET, None) == 'namespace:="ava-vision" pod:="r1ilp5dnq7e1m-"*'
    one = Target("default", "ava-vision", "r1ilp5dnq7e1m-", (POD,), only=True)
    assert text(one, BEGIN) == (
        f'_time:[2026-11-24T12:00:00.000000Z, 2200-01-01T00:00:00Z) namespace:="ava-vision" pod:in("{POD}")'
    )


@pytest.mark.parametrize("name", ['a" or *', "a b", "", "a|b", "A"])
def test_a_name_that_would_change_the_question_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match="no name"):
        text(Target("default", name, "r-"), None)


def test_lines_of_all_stores_come_once_and_in_order() -> None:
    logs, asked = kept(
        httpx.Response(200, text=rows((STAMP, "a"), ("2026-11-24T12:00:01Z", "b"))),
        httpx.Response(200, text=rows(("2026-11-24T12:00:02Z", "c"), (STAMP, "a"))),
    )
    found = asyncio.run(_read(logs))
    assert [line.text for line in found] == ["a", "b", "c"]
    assert b"limit=10" in asked[0].content


async def _read(logs: Any, limit: int = 10) -> Sequence[LogLine]:
    try:
        return list(await logs.read(TARGET, since=None, limit=limit))
    finally:
        await logs.close()


def test_a_store_that_is_away_or_talks_nonsense_is_made_up_for_and_none_at_all_is_reported() -> None:
    good = httpx.Response(200, text=rows((STAMP, "a")))
    for bad in (httpx.ConnectError("no"), httpx.Response(500), httpx.Response(200, text="<html>")):
        assert [x.text for x in asyncio.run(_read(kept(good, bad)[0]))] == ["a"]
        with pytest.raises(LogBackendUnavailable, match="s0"):
            asyncio.run(_read(kept(bad)[0]))


def test_times_are_read_to_the_nanosecond() -> None:
    assert nanoseconds(STAMP) == NANO + 1
    assert nanoseconds("2026-11-24T13:00:00.5+01:00") == NANO + 5 * 10**8
    assert nanoseconds("2026-11-24T12:00:00Z") == NANO
    with pytest.raises(ValueError, match="Invalid isoformat string"):
        nanoseconds("yesterday")


async def _pieces(*pieces: bytes) -> AsyncIterator[bytes]:
    for piece in pieces:
        yield piece


async def _lines(*pieces: bytes) -> list[LogLine]:
    return [line async for line in lines_of(_pieces(*pieces), POD)]


def test_lines_are_put_together_from_pieces() -> None:
    found = asyncio.run(
        _lines(f"{STAMP} hel".encode(), f"lo\n{STAMP} w\xf6".encode("latin-1"), b"rld\nnonsense\n")
    )
    assert [line.text for line in found] == ["hello", "w\N{REPLACEMENT CHARACTER}rld"]


def test_a_character_that_two_pieces_share_is_whole() -> None:
    whole = f"{STAMP} h\u00e9llo \u4f60\u597d \U0001f600\n".encode()
    for cut in range(len(whole)):
        found = asyncio.run(_lines(whole[:cut], whole[cut:]))
        assert [line.text for line in found] == ["h\u00e9llo \u4f60\u597d \U0001f600"]
    assert len(asyncio.run(_lines(*(whole[i : i + 1] for i in range(len(whole)))))) == 1


def test_a_line_without_an_end_takes_bounded_memory_and_is_cut() -> None:
    endless = [f"{STAMP} ".encode(), *[b"x" * 10_000] * 50, f"\n{STAMP} next\n".encode()]
    found = asyncio.run(_lines(*endless))
    assert [len(line.text) for line in found] == [LONGEST, 4]


@asynccontextmanager
async def kubernetes(handle: Any) -> AsyncIterator[Access]:
    """Serve a pod's log endpoint on this machine."""
    app = web.Application()
    app.router.add_get("/api/v1/namespaces/{namespace}/pods/{pod}/log", handle)
    runner = web.AppRunner(app)
    await runner.setup()
    server = web.TCPSite(runner, "127.0.0.1", 0)
    await server.start()
    port = runner.addresses[0][1]
    try:
        yield Access(f"http://127.0.0.1:{port}")
    finally:
        await runner.cleanup()


def test_a_live_log_whose_connection_is_cut_goes_on_where_it_ended() -> None:
    calls: list[dict[str, str]] = []

    async def handle(request: web.Request) -> web.StreamResponse:
        calls.append(dict(request.query))
        assert request.match_info["namespace"] == "ava-vision"
        reply = web.StreamResponse()
        await reply.prepare(request)
        await reply.write(f"{STAMP} one\n".encode())
        if len(calls) > 1:
            await reply.write(b"2026-11-24T12:00:00.000000002Z two\n")
        return reply

    async def follow() -> list[str]:
        async with kubernetes(handle) as access:
            logs = LiveLogs({"default": access})
            here: list[Sequence[str] | None] = [TARGET.pods]
            found = []
            async for line in logs.follow(TARGET, lambda: here[0], since=BEGIN):
                found.append(line.text)
                if line.text == "two":
                    here[0] = None
            await logs.close()
            return found

    assert asyncio.run(follow()) == ["one", "two"]
    assert [c["follow"] for c in calls[:2]] == ["true", "true"]


def test_a_cluster_without_access_is_read_from_the_stores() -> None:
    stores, _ = kept(httpx.Response(200, text=rows((STAMP, "kept"))))
    assert [x.text for x in asyncio.run(_read(CombinedLogs(LiveLogs({}), stores)))] == ["kept"]
    with pytest.raises(LogBackendUnavailable, match="cluster default"):
        asyncio.run(_read(CombinedLogs(LiveLogs({}), NoLogs())))


def test_what_both_sources_have_comes_once() -> None:
    same = LogLine(1, POD, "a")
    assert merged([same, LogLine(2, POD, "b"), LogLine(1, POD, "a")], 10) == [same, LogLine(2, POD, "b")]


def _started(site: Site) -> str:
    run = str(site.run()["id"])
    site.db.runs.admit(run, site.now)
    site.db.heartbeats.record("operator", site.now, {})
    state = PodState(run, pod(run, 0, "worker", 0), "worker", 0, 0, "Running", address="10.244.0.7")
    site.db.pods.record(run, [state], site.now)
    site.logs.lines = [LogLine(NANO + i, pod(run, 0, "worker", 0), f"line {i}") for i in range(3)]
    return run


def test_a_user_gets_the_newest_lines_as_text_or_json(site: Site) -> None:
    run = _started(site)
    plain = site.call("GET", f"/runs/{run}/logs?tail=2", "ann")
    assert (plain.text, plain.headers["content-type"]) == ("line 1\nline 2\n", "text/plain; charset=utf-8")
    stamped = site.call("GET", f"/runs/{run}/logs?tail=1&timestamps=true", "ann").text
    assert stamped == "2026-11-24T12:00:00.000000Z line 2\n"
    as_json = site.call("GET", f"/runs/{run}/logs?format=json", "ann").text.splitlines()
    assert [json.loads(row)["text"] for row in as_json] == ["line 0", "line 1", "line 2"]


def test_only_the_runs_own_namespace_and_pods_are_ever_asked_for(site: Site) -> None:
    run = _started(site)
    site.call("GET", f"/runs/{run}/logs", "ann")
    site.call("GET", f"/runs/{run}/logs?pod={pod(run, 0, 'worker', 0)}", "ann")
    site.call("GET", f"/runs/{run}/logs?pod=r0000000000000-0-worker-0", "ann")
    assert {(t.namespace, t.prefix) for t in site.logs.asked} == {(namespace("vision"), f"{run}-")}
    assert all(p.startswith(f"{run}-") for t in site.logs.asked for p in t.pods)


def test_a_pods_address_inside_the_cluster_is_not_reported(site: Site) -> None:
    run = _started(site)
    assert "10.244.0.7" not in site.call("GET", f"/runs/{run}/pods", "ann").text


def test_sources_that_are_away_are_a_problem_with_a_remedy(site: Site) -> None:
    run = _started(site)
    site.services.logs = CombinedLogs(LiveLogs({}), NoLogs())
    answer = site.call("GET", f"/runs/{run}/logs", "ann")
    assert (answer.status_code, codes(answer)) == (503, ["logs-unavailable"])
    rows = site.call("GET", f"/runs/{run}/logs?follow=true&format=json", "ann").text.splitlines()
    reasons = ("the log cannot be followed", "cluster default", "no source of logs")
    assert [reason in json.loads(rows[-1])["end"] for reason in reasons] == [True] * 3


@pytest.mark.parametrize("query", ["", "?follow=true"])
def test_a_site_without_logs_says_so_before_anything_is_sent(site: Site, query: str) -> None:
    run = _started(site)
    site.services.logs = NoLogs()
    answer = site.call("GET", f"/runs/{run}/logs{query}", "ann")
    assert (answer.status_code, codes(answer)) == (404, ["logs-not-kept"])
    foreign = site.call("GET", f"/runs/{run}/logs{query}", "eve")
    assert (foreign.status_code, codes(foreign)) == (404, ["not-found"])


def test_a_followed_log_ends_with_its_run_and_says_so(site: Site) -> None:
    run = _started(site)
    site.db.runs.finish(run, site.db.runs.stop(run, site.now, by="ann").outcome or _stopped(), "", site.now)
    answer = site.call("GET", f"/runs/{run}/logs?follow=true&format=json&tail=1", "ann")
    ends = [json.loads(row) for row in answer.text.splitlines() if row.strip()]
    assert ends[0]["text"] == "line 2"
    assert ends[-1] == {"end": "end"}


def test_a_line_that_was_written_just_before_it_was_asked_for_and_is_on_its_way_is_not_lost(
    site: Site,
) -> None:
    run = _started(site)
    site.db.runs.finish(run, site.db.runs.stop(run, site.now, by="ann").outcome or _stopped(), "", site.now)
    created = site.db.runs.get(run).created
    ask = f"/runs/{run}/logs?follow=true&format=json"
    seen, site.logs.lines = site.logs.lines, []
    site.call("GET", f"{ask}&tail=10", "ann")
    assert site.logs.since[-1] == created
    # Who wants none of what was before, or has lines already, gets nothing twice.
    site.call("GET", f"{ask}&tail=0", "ann")
    assert site.logs.since[-1] > created
    site.logs.lines = seen
    site.call("GET", f"{ask}&tail=10", "ann")
    assert site.logs.since[-1] > seen[-1].time


def _stopped() -> Any:
    from ava.domain.model import Outcome

    return Outcome.STOPPED


def test_one_user_follows_a_bounded_number_of_logs(site: Site) -> None:
    run = _started(site)
    with site.services.rates.one_of(100, "ann", "followed logs"):
        site.services.config.limits.model_config["frozen"] = True
        object.__setattr__(site.services.config.limits, "streams", 1)
        answer = site.call("GET", f"/runs/{run}/logs?follow=true", "ann")
    object.__setattr__(site.services.config.limits, "streams", 20)
    assert (answer.status_code, codes(answer)) == (429, ["too-many-requests"])
