"""A flood of one pod's lines: cut at the store's rate, named in the log, and at no one else's cost; a burst is kept whole."""

import json
import urllib.parse
import urllib.request
from datetime import UTC, datetime, timedelta

import pytest

from tests.platform.logs.shipping import NAME, POD, Shipping, shipping

BURST = 10_000
MIB = 1 << 20


@pytest.fixture(scope="module")
def both(tmp_path_factory):
    with shipping(tmp_path_factory.mktemp("flood")) as made:
        yield made


def ask(both: Shipping, path: str, body: bytes | None = None, kind: str = "") -> str:
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    asked = urllib.request.Request(f"{both.url}{path}", body, {"Content-Type": kind} if kind else {})  # noqa: S310  its own address
    with opener.open(asked, timeout=60) as answer:
        return str(answer.read().decode())


def count(both: Shipping, query: str) -> int:
    """Return how many lines the store has."""
    body = urllib.parse.urlencode({"query": f"{query} | stats count() as n"}).encode()
    return int(json.loads(ask(both, "/select/logsql/query", body) or '{"n": 0}')["n"])


def send(both: Shipping, namespace: str, pod: str, lines: int, size: int) -> None:
    """Send lines as a shipper does."""
    now = datetime.now(UTC)
    fields = {"host": "comp1", "component": "pod", "namespace": namespace, "pod": pod, "severity": "info"}
    rows = (
        {"_time": f"{now + timedelta(microseconds=i):%Y-%m-%dT%H:%M:%S.%fZ}", "_msg": "x" * size, **fields}
        for i in range(lines)
    )
    body = "\n".join(map(json.dumps, rows)).encode()
    path = "/insert/jsonline?_stream_fields=host,component,namespace,pod,container"
    ask(both, path, body, "application/stream+json")


def dropped(both: Shipping) -> int:
    rows = [row for row in ask(both, "/metrics").splitlines() if row.startswith("vl_rows_dropped_total")]
    return sum(int(row.rpartition(" ")[2]) for row in rows if "rate_limit" in row)


def test_a_burst_of_ten_thousand_lines_comes_through_whole(both):
    begin = datetime.now(UTC)
    text = "2026-11-27 02:00:00 INFO step {} of 10000: loss 0.6931, accuracy 0.50, 131 images a second, learning rate 0.001"
    at = [f"{begin + timedelta(microseconds=i):%Y-%m-%dT%H:%M:%S.%f}000Z" for i in range(BURST)]
    both.write([(at[i], "stdout", text.format(i) + "\n") for i in range(BURST)])
    assert len(both.wait(BURST, 180)) == BURST
    assert count(both, f'pod:"{POD}" "Log limit"') == dropped(both) == 0
    assert NAME.startswith(POD)


def test_a_flood_is_cut_and_says_so_and_no_other_user_loses_a_line(both):
    lines, size = 4_000, 16_000
    for _ in range(2):
        send(both, "ava-vision", "flood", lines // 2, size)
        send(both, "ava-vision", "calm", 100, 100)
        send(both, "ava-speech", "calm", 100, 100)
    both.wait(BURST + 400, 5)
    kept = count(both, 'pod:"flood" xxx*')
    assert 16 * MIB / (size + 400) - 10 < kept < 20 * MIB / size, kept
    assert dropped(both) == lines - kept
    assert count(both, 'pod:"flood" "Log limit" "64KiB a second"') == 1
    assert count(both, 'pod:"calm"') == 400
