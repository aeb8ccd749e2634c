"""A store that is down while one namespace's pods write more than the node keeps: no other namespace's line is lost."""

import re
import signal
import subprocess
import time

import pytest

from avadm_node.agents.logs import shipper as stats
from tests.platform.logs.shipping import program, shipping

LINE, FLOOD = 16_000, 2_500
"""Bytes of a line, and lines: 40 MB where the node may keep 16 MiB."""
OTHERS = {"kube-system": "dns", "ava-speech": "calm", "team-a": "web", "team-b": "job"}


def name(namespace, pod):
    return f"{pod}_{namespace}_main-{'0' * 64}.log"


def row(number, text):
    return (f"2026-11-27T02:00:00.{number:06d}000Z", "stdout", f"{text}\n")


def lost(both):
    """Return how many lines the node reports as lost to the store."""
    there, env = program()
    argv = [there / "usr/sbin/syslog-ng-ctl", "stats", "-c", both.folder / "control"]
    text = subprocess.run(argv, env=env, capture_output=True, text=True, check=True, timeout=30).stdout
    found = re.search(
        r'^avadm_log_shipper_dropped_total\{store="s1"\} (\d+)$', stats.metrics(text, ["s1"]), re.M
    )
    return int(found[1])


@pytest.fixture
def both(tmp_path):
    with shipping(tmp_path) as made:
        yield made


@pytest.mark.slow
def test_one_namespaces_flood_takes_no_other_namespaces_buffer(both):
    both.write([row(0, "begin")], name("ava-vision", "flood"))
    assert len(both.wait(1)) == 1
    store = both.store
    # It keeps its port and answers nothing.
    store.send_signal(signal.SIGSTOP)
    try:
        both.write([row(i, f"{i} " + "x" * LINE) for i in range(FLOOD)], name("ava-vision", "flood"))
        time.sleep(20)
        for namespace, pod in OTHERS.items():
            both.write([row(i, f"{pod} {i}") for i in range(100)], name(namespace, pod))
        time.sleep(5)
        assert lost(both) > FLOOD // 2
    finally:
        store.send_signal(signal.SIGCONT)
    end = time.monotonic() + 60
    counts = {}
    while time.monotonic() < end and counts != dict.fromkeys(OTHERS.values(), 100):
        time.sleep(1)
        counts = {pod: both.kept(f'pod:"{pod}"').count(b"\n") for pod in OTHERS.values()}
    assert counts == dict.fromkeys(OTHERS.values(), 100)
    assert both.kept('pod:"flood" xxx*').count(b"\n") < FLOOD
