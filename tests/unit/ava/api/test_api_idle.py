"""Idle workbenches: whose users are notified, which are stopped, and that an unreachable part stops none."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import httpx
import pytest

from ava.domain.model import Phase, Run, Topic
from ava.services.config import Idle, LogStore
from ava.services.workbenches import access, idle
from ava.services.workbenches.idle import JUMP, IdleWatcher, PrometheusUses
from tests.unit.ava.api.test_api_workbenches import GATE, Benches, log_in
from tests.unit.ava.api.test_api_workbenches import JUMP as SECRET

RULE = Idle(hours=8, warn_hours=2)
STEP = timedelta(minutes=5)


class Room:
    """A site with a workbench that runs, and a watch over it."""

    def __init__(self, site: Benches) -> None:
        self.site, self.uses, self.jump = site, {}, True  # type: ignore[var-annotated]
        self.bench = site.make()
        self.run = site.start(self.bench)
        self.watch = IdleWatcher(site.services, RULE, self.busy)

    def busy(self, runs: Iterable[Run]) -> Mapping[str, bool]:
        if isinstance(self.uses, Exception):
            raise self.uses
        return self.uses

    def hours(self, count: float) -> None:
        """Let so many hours go by, with looks as they are made."""
        end = self.site.now + timedelta(hours=count)
        while self.site.now < end:
            self.site.now += STEP
            if self.jump:
                self.site.db.heartbeats.record(JUMP, self.site.now, {})
            self.watch.look(self.site.now)

    @property
    def stopped(self) -> bool:
        return self.site.db.runs.get(self.run).stop is not None

    @property
    def warnings(self) -> list[str]:
        messages = self.site.db.outbox.list_open(Topic.NOTICE, 1000)
        return [m.payload["until"] for m in messages if m.kind == "bench-idle"]


@pytest.fixture
def room(tmp_path: Path) -> Iterator[Room]:
    site = Benches(tmp_path)
    made = Room(site)
    made.uses = {made.run: False}
    yield made
    site.close()


def test_who_does_not_work_is_reported_once_and_stopped_and_the_workbench_stays(room: Room) -> None:
    room.hours(6.5)
    assert len(room.warnings) == 1
    assert not room.stopped
    room.hours(2)
    assert room.stopped
    assert len(room.warnings) == 1
    assert "idle" in room.site.db.runs.get(room.run).reason
    assert room.site.db.definitions.get(room.bench)


@pytest.mark.parametrize(
    "uses", [{}, OSError("away"), ValueError("no JSON"), httpx.ReadTimeout("slow")], ids=str
)
def test_without_figures_nothing_is_stopped_nor_reported(room: Room, uses: object) -> None:
    room.uses = uses
    room.hours(30)
    assert not room.stopped
    assert room.warnings == []


def test_use_is_work(room: Room) -> None:
    room.uses = {room.run: True}
    room.hours(20)
    assert not room.stopped
    room.uses = {room.run: False}
    room.hours(5)
    assert room.warnings == []


def test_while_the_ssh_gateway_tells_nothing_no_one_is_idle(room: Room) -> None:
    room.jump = False
    room.hours(30)
    assert not room.stopped
    room.jump = True
    room.hours(5.5)
    assert room.warnings == []


def test_after_a_gap_in_the_looks_the_time_begins_again(room: Room) -> None:
    room.hours(7)
    assert len(room.warnings) == 1
    room.site.now += timedelta(hours=3)  # the interface was away, and so was what sees who comes in
    room.hours(5.5)
    assert not room.stopped
    assert len(room.warnings) == 1


def test_a_clock_that_went_back_stops_nothing(room: Room) -> None:
    room.hours(7)
    room.site.now -= timedelta(hours=5)
    room.hours(4)
    assert not room.stopped


def test_an_open_browser_and_an_ssh_session_are_work(room: Room, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(access, "SEEN", 0.0)
    site = room.site
    cookie = site.cookie(log_in(site, "ann"), room.bench)
    room.hours(7)
    assert len(room.warnings) == 1
    assert site.ask("alive", GATE, cookies=[cookie]).json() == {"alive": [True]}
    room.hours(5.5)
    assert not room.stopped
    assert len(room.warnings) == 1
    assert site.ask("sessions", GATE, definitions=[room.bench]).status_code == 401
    assert site.ask("sessions", SECRET, definitions=[room.bench, "d-not-there", ""]).status_code == 200
    room.hours(5.5)
    assert not room.stopped
    assert len(room.warnings) == 1
    room.hours(3)
    assert room.stopped


def test_one_that_is_exempt_is_left_alone(room: Room) -> None:
    room.site.db.workbenches.set_idle_exempt(room.bench, True, room.site.now)
    room.hours(30)
    assert not room.stopped
    assert room.warnings == []


def test_a_site_without_the_rule_watches_nothing(room: Room) -> None:
    plain = room.site.services.config.workbenches
    assert plain is not None
    room.site.services.config = room.site.services.config.model_copy(
        update={"workbenches": plain.model_copy(update={"idle": None})}
    )
    assert idle.watch(room.site.services) is None


class Answers:
    """A Prometheus."""

    def __init__(self, cpu: object, gpu: object = ()) -> None:
        self.values = {"cpu": cpu, "gpu": gpu}

    def post(self, path: str, data: Mapping[str, str]) -> httpx.Response:
        found = self.values["gpu" if "gpu" in data["query"] else "cpu"]
        request = httpx.Request("POST", "http://p")
        if isinstance(found, int):
            return httpx.Response(found, request=request)
        rows = [{"metric": metric, "value": [0, value]} for metric, value in found]  # type: ignore[attr-defined]
        return httpx.Response(200, request=request, json={"data": {"result": rows}})


def measured(
    room: Room, monkeypatch: pytest.MonkeyPatch, answers: Answers, gpu: int = 0
) -> Mapping[str, bool]:
    monkeypatch.setattr(idle, "client", lambda server: answers)
    run = room.site.db.runs.get(room.run)
    asked = replace(run, asks=run.asks._replace(gpu=gpu))
    assert run.phase is Phase.ADMITTED
    return PrometheusUses([LogStore(name="p", url="http://p")], RULE)([asked])


def pod(room: Room, cores: str) -> list[tuple[dict[str, str], str]]:
    return [
        ({"pod_name": f"{room.run}-0-worker-0"}, cores),
        ({"pod_name": "r-other-0-worker-0"}, "9"),
        ({}, "1"),
    ]


@pytest.mark.parametrize(("cores", "busy"), [("0.01", False), ("0.06", True), ("NaN", False)])
def test_cores_that_a_pod_uses_say_whether_it_is_busy(
    room: Room, monkeypatch: pytest.MonkeyPatch, cores: str, busy: bool
) -> None:
    found = measured(room, monkeypatch, Answers(pod(room, cores)))
    assert found == ({} if cores == "NaN" else {room.run: busy})


def test_one_with_cards_is_idle_only_where_those_are_measured(
    room: Room, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert measured(room, monkeypatch, Answers(pod(room, "0")), gpu=1) == {}
    idle_card = [({"run": room.run}, "0")]
    assert measured(room, monkeypatch, Answers(pod(room, "0"), idle_card), gpu=1) == {room.run: False}
    busy_card = [({"run": room.run}, "80")]
    assert measured(room, monkeypatch, Answers([], busy_card), gpu=1) == {room.run: True}


@pytest.mark.parametrize("cpu", [500, [({"pod_name": "x"}, "no number")], []])
def test_a_prometheus_that_has_no_answer_says_nothing(
    room: Room, monkeypatch: pytest.MonkeyPatch, cpu: object
) -> None:
    try:
        assert measured(room, monkeypatch, Answers(cpu)) == {}
    except OSError:
        assert cpu != []
