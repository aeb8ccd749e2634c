"""Monitoring with one replica lost: the other has recorded everything; an alert is reported once, neither lost nor doubled."""

import json
import re
import shlex
import time
import uuid
from contextlib import ExitStack
from datetime import UTC, datetime, timedelta
from itertools import pairwise

import pytest

from tests.lab import prometheus
from tests.lab.faults.planting import planted
from tests.lab.monitoring import mesh as router

pytestmark = [pytest.mark.lab, pytest.mark.slow]

PORT = 5270
RECEIVED = "/tmp/avadm-fault-received"
RECEIVER = f"""
import http.server, json
class Receiver(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        with open("{RECEIVED}", "a") as f:
            f.writelines(a["labels"]["case"] + chr(10) for a in body["alerts"])
        self.send_response(200)
        self.end_headers()
http.server.ThreadingHTTPServer(("", {PORT}), Receiver).serve_forever()
"""
CONFIG = """
route:
  receiver: none
  group_by: [case]
  group_wait: 5s
  group_interval: 1h
  repeat_interval: 12h
  routes: [{receiver: hook, matchers: ['alertname="AvadmFault"']}]
receivers: [{name: none}, {name: hook, webhook_configs: [{url: 'http://%s:%d/', send_resolved: false}]}]
"""
FILE, KEPT = "/etc/prometheus/alertmanager.yml", "/root/avadm-fault.alertmanager"
UNIT = "prometheus-alertmanager"
# How long after group_wait the last of three members waits for those before it (--cluster.peer-timeout 15 s each).
PATIENCE_S = 5 + 2 * 15 + 5


def gaps(lab, asked, seconds):
    """Return for each node's exporter the longest time between two samples in the last ``seconds``."""
    found = prometheus.query(lab, asked, f'up{{job="node"}}[{seconds}s]')
    times = {r["metric"]["node"]: [t for t, _ in r["values"]] for r in found}
    return {n: max(b - a for a, b in pairwise(ts)) for n, ts in times.items()}


def interval_s(lab, asked):
    """Return the seconds between two scrapes of a node's exporter."""
    config = prometheus.get(lab, asked, "/api/v1/status/config")["data"]["yaml"]
    return int(re.search(r"^  scrape_interval: (\d+)s", config, re.MULTILINE)[1])


def test_a_prometheus_is_lost(lab, tried):
    lost, other = lab.names("prometheus")[:2]
    row = tried(
        "Prometheus lost", f"Prometheus on {lost} is stopped for 45 s", f"no gap in what {other} recorded"
    )
    with planted(lab, lost, "stopped", "systemctl stop prometheus", "systemctl start prometheus"):
        time.sleep(45)
        found = gaps(lab, other, 60)
    assert set(found) == {n["name"] for n in lab.nodes}
    # One scrape that is missing makes two intervals.
    every = interval_s(lab, other)
    assert max(found.values()) < 1.8 * every, found
    row.came = f"longest time between two samples of any node: {max(found.values()):.1f} s (one scrape each {every} s)"


class Mesh:
    """The lab's Alertmanagers with a receiver that counts."""

    def __init__(self, lab, counter):
        self.lab, self.counter = lab, counter
        self.members = lab.names("alertmanager")

    def post(self, case):
        """Send an alert to every member that takes it, as each Prometheus does."""
        ends = (datetime.now(UTC) + timedelta(minutes=30)).strftime("%Y-%m-%dT%H:%M:%SZ")
        alert = json.dumps([{"labels": {"alertname": "AvadmFault", "case": case}, "endsAt": ends}])
        taken = 0
        for name in self.members:
            asked = f"{router.curl(self.lab, name)} {router.url(self.lab, name)}/api/v2/alerts"
            command = f"{asked} -H 'Content-Type: application/json' -d {shlex.quote(alert)}"
            taken += self.lab.run(name, command).returncode == 0
        return taken

    def received(self, case):
        """Return how often the receiver was informed of a case."""
        return self.lab.run(self.counter, f"cat {RECEIVED} 2>/dev/null").stdout.split().count(case)

    def ready(self):
        """Wait until every member sees all of the mesh."""
        for _ in range(60):
            peers = []
            for name in self.members:
                asked = f"{router.curl(self.lab, name)} {router.url(self.lab, name)}/api/v2/status"
                status = self.lab.run(name, asked).stdout
                peers.append(len(json.loads(status)["cluster"]["peers"]) if status else 0)
            if set(peers) == {len(self.members)}:
                return
            time.sleep(1)
        raise AssertionError(f"the mesh is not whole: {peers}")


@pytest.fixture
def mesh(lab):
    counter = lab.names("mon")[0]
    config = shlex.quote(CONFIG % (lab.node(counter)["address"], PORT))
    with ExitStack() as stack:
        receive = f"systemd-run --quiet --unit=avadm-fault-receiver python3 -c {shlex.quote(RECEIVER)}"
        stop = f"systemctl stop avadm-fault-receiver 2>/dev/null; rm -f {RECEIVED}"
        stack.enter_context(planted(lab, counter, "receiver", f"{stop}; {receive}", stop + "; true"))
        do = f"cp -a {FILE} {KEPT} && printf '%s' {config} | tee {FILE} >/dev/null && systemctl reload {UNIT}"
        undo = f"if [ -e {KEPT} ]; then mv {KEPT} {FILE}; systemctl reload-or-restart {UNIT}; fi"
        stack.enter_context(planted(lab, "alertmanager", "receiver", do, undo))
        made = Mesh(lab, counter)
        made.ready()
        yield made


def test_an_alertmanager_is_lost(lab, tried, mesh):
    row = tried(
        "Alertmanager lost",
        "each Alertmanager in turn is stopped after it took an alert and before it sent it; the alert is sent again later",
        "each alert sent exactly once",
    )
    counts = {}
    for victim in mesh.members:
        # Alertmanager remembers for hours what it has reported: another run has other alerts.
        case = f"without-{victim}-{uuid.uuid4().hex[:6]}"
        assert mesh.post(case) == len(mesh.members)
        with planted(lab, victim, "stopped", f"systemctl stop {UNIT}", f"systemctl start {UNIT}"):
            time.sleep(PATIENCE_S)
            counts[case] = mesh.received(case)
        mesh.ready()
        mesh.post(case)
    time.sleep(PATIENCE_S)
    after = {case: mesh.received(case) for case in counts}
    row.came = f"sent: {', '.join(f'{c} {n}' for c, n in after.items())}"
    assert counts == dict.fromkeys(counts, 1), counts
    assert after == counts
