"""Charts of a run: asked of Prometheus for this run alone, bounded, with gaps as gaps, and an error where none answers."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

import httpx
import pytest

from ava.services.config import LogStore
from ava.web import metrics
from tests.unit.ava.api.site import NOW, Site
from tests.unit.ava.web.browser import Browser, web_site
from tests.unit.ava.web.sample_site import inhabit

TITLES = {"gpu": "G", "cpu": "C", "memory": "M"}
STORES = (LogStore(name="p1", url="https://p1.test"), LogStore(name="p2", url="https://p2.test"))
Answer = Callable[[str, dict[str, str]], httpx.Response]


class Prometheus:
    """Answers as Prometheus does, and keeps what it was asked."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.asked: list[tuple[str, dict[str, str]]] = []
        self.down: set[str] = set()
        self.values: Callable[[int], str] = str
        monkeypatch.setattr(metrics, "_client", self.client)

    def client(self, server: LogStore) -> httpx.Client:
        def handle(request: httpx.Request) -> httpx.Response:
            form = {k: v[0] for k, v in parse_qs(request.content.decode()).items()}
            self.asked.append((server.name, form))
            if server.name in self.down:
                raise httpx.ConnectError("refused")
            first, last, step = int(form["start"]), int(form["end"]), int(form["step"])
            pairs = [[t, self.values(t)] for t in range(first, last + 1, step)]
            label = "card" if "gpu" in form["query"] else "pod_name"
            row = {"metric": {label: "one"}, "values": pairs}
            return httpx.Response(200, json={"status": "success", "data": {"result": [row]}})

        return httpx.Client(base_url=server.url, transport=httpx.MockTransport(handle))


@pytest.fixture
def prometheus(monkeypatch: pytest.MonkeyPatch) -> Prometheus:
    return Prometheus(monkeypatch)


@pytest.fixture
def measured(tmp_path: Path) -> Any:
    made = web_site(tmp_path, config={"prometheus": STORES})
    yield made
    made.close()


def test_a_runs_charts_are_of_its_own_pods_alone(measured: Site, prometheus: Prometheus) -> None:
    ids = inhabit(measured)
    answer = Browser(measured).log_in("ann").ask("GET", f"/runs/{ids['running']}/charts")
    report = answer.json()
    assert [c["title"] for c in report["charts"]] == [
        "GPU use of each of its cards, %",
        "CPU cores used",
        "Memory used",
    ]
    assert report["live"] is True
    gpu, cpu, memory = (form["query"] for _, form in prometheus.asked)
    assert f'run:gpu_utilization:percent{{run="{ids["running"]}"}}' in gpu
    for query in (cpu, memory):
        assert f'pod_name=~"{ids["running"]}-.+"' in query
        assert 'namespace="' in query
        assert "vision" in query
    assert answer.headers["cache-control"] == "no-store"


def test_a_run_that_has_not_begun_or_asks_for_no_gpu_has_no_such_chart(
    measured: Site, prometheus: Prometheus
) -> None:
    ids = inhabit(measured)
    ann = Browser(measured).log_in("ann")
    assert ann.ask("GET", f"/runs/{ids['waiting']}/charts").json() == {"charts": [], "live": True}
    assert prometheus.asked == []
    bench = ann.ask("GET", f"/runs/{ids['bench']}/charts").json()
    assert len(bench["charts"]) == 2
    ended = ann.ask("GET", f"/runs/{ids['done']}/charts").json()
    assert ended["live"] is False


def test_no_other_user_sees_them_and_nothing_is_asked_for_them(
    measured: Site, prometheus: Prometheus
) -> None:
    ids = inhabit(measured)
    for who in ("ben", "eve"):
        assert Browser(measured).log_in(who).ask("GET", f"/runs/{ids['running']}/charts").status_code == 404
    assert prometheus.asked == []


@pytest.mark.parametrize("hours", [0, 1, 24 * 300])
def test_a_long_run_has_no_more_points_than_a_short_one(prometheus: Prometheus, hours: int) -> None:
    wanted = metrics.charts("ns", "r1", 1, TITLES)
    found = metrics.read(STORES, wanted, NOW - timedelta(hours=hours), NOW)
    for chart in found:
        assert 1 <= len(chart["times"]) <= metrics.POINTS + 2
        assert len(chart["times"]) == len(chart["series"][0]["values"])


def test_a_gap_is_none_and_no_zero(prometheus: Prometheus) -> None:
    cut = int(NOW.timestamp()) - 300
    prometheus.values = lambda t: "NaN" if t < cut else "2147483648"
    memory = metrics.read(
        STORES, metrics.charts("ns", "r1", 0, TITLES)[1:], NOW - timedelta(minutes=10), NOW
    )[0]
    values = memory["series"][0]["values"]
    assert values[0] is None
    assert (values[-1], memory["unit"]) == (2.0, " GiB")


@pytest.mark.parametrize(
    ("used", "value", "unit", "least"),
    [
        (30 * 2**20, 30, " MiB", 16),
        (2**30 - 1, 1024, " MiB", 16),
        (2**30, 1, " GiB", 1),
        (2**41, 2048, " GiB", 1),
    ],
)
def test_memory_is_reported_in_the_unit_that_fits_it(
    prometheus: Prometheus, used: int, value: float, unit: str, least: float
) -> None:
    prometheus.values = lambda t: str(used)
    [memory] = metrics.read(STORES, metrics.charts("ns", "r1", 0, TITLES)[1:], NOW, NOW)
    assert (memory["unit"], memory["least"]) == (unit, least)
    assert memory["series"][0]["values"][0] == pytest.approx(value)


def test_the_next_server_answers_where_one_is_away_and_all_away_is_reported(
    measured: Site, prometheus: Prometheus
) -> None:
    ids = inhabit(measured)
    ann = Browser(measured).log_in("ann")
    prometheus.down = {"p1"}
    assert len(ann.ask("GET", f"/runs/{ids['running']}/charts").json()["charts"]) == 3
    prometheus.down = {"p1", "p2"}
    answer = ann.ask("GET", f"/runs/{ids['running']}/charts")
    assert answer.status_code == 503
    assert "The figures cannot be read at the moment." in answer.text
    assert "p1.test" not in answer.text


def test_a_server_that_hangs_takes_four_requests_and_no_more(
    prometheus: Prometheus, monkeypatch: pytest.MonkeyPatch
) -> None:
    taken = [metrics.AT_ONCE.acquire(timeout=0) for _ in range(4)]
    try:
        assert taken == [True] * 4
        with pytest.raises(metrics.MetricsUnavailable, match="too many"):
            metrics.read(STORES, metrics.charts("ns", "r1", 0, TITLES), NOW, NOW)
    finally:
        for _ in taken:
            metrics.AT_ONCE.release()


def test_names_cannot_leave_their_quotation_marks() -> None:
    chart = metrics.charts('n"} or vector(1) #', 'r"1', 1, TITLES)
    assert all('\\"' in c.query for c in chart)
