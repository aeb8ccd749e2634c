"""The object store continues when a gateway, its node or the address' holder is lost, and when an OSD is slow."""

import json
import subprocess
import threading
import time
from contextlib import ExitStack
from itertools import pairwise

import pytest

from avadm import paths
from tests.lab.faults.drive import avadm, healthy, reachable
from tests.lab.faults.planting import planted

pytestmark = [pytest.mark.lab, pytest.mark.slow]
FOLDER = "/tmp/avadm-fault-s3"
TOOLS = ("s3client.py", "s3common.py", "s3load.py")
SECONDS = 45
FIRST_OSD = "ls /var/lib/ceph/osd | sed -n '1s/.*-//p'"
STATES = """python3 -c 'import socket
s = socket.socket(socket.AF_UNIX)
s.connect("/run/haproxy/admin.sock")
s.sendall(b"show stat\\n")
print(s.makefile().read())'"""


@pytest.fixture(autouse=True)
def _there(lab):
    if len(lab.names("rgw")) < 2:
        pytest.skip("this lab has no two gateways: lab up --with objects")


class Load:
    """Objects written and read back with checksums from one client, for some seconds.

    Args:
        lab: the lab.
    """

    def __init__(self, lab):
        self.lab, self.node = lab, lab.names("client")[0]
        kept = json.loads(lab.site_path.with_suffix(".objects.json").read_text())
        keys = kept["users"]["lab-ai"]
        self.job = {
            "endpoint": kept["endpoint"],
            "region": "default",
            "ca": "/etc/avadm/objects/ca.crt",
            "keys": [keys["access_key"], keys["secret_key"]],
            "bucket": "lab-data",
            "op": "mixed",
            "size": 65536,
            "threads": 4,
            "seconds": SECONDS,
            "client": "avadm-fault",
            "read_timeout_s": 15,
        }
        self.doc = None
        source = paths.home() / "validation/avadm_validation/tools"
        lab.sh(self.node, f"rm -rf {FOLDER}; mkdir -m 700 {FOLDER}")
        for name in TOOLS:
            self._ask(f"cat > {FOLDER}/{name}", (source / name).read_text())

    def _ask(self, command, text, timeout=300):
        done = subprocess.run(
            [*self.lab.argv(self.node), command],
            input=text,
            capture_output=True,
            text=True,
            timeout=timeout,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    def run(self):
        self.doc = json.loads(self._ask(f"python3 {FOLDER}/s3client.py load", json.dumps(self.job)))

    def during(self, act):
        """Run, and act after some seconds; return the document."""
        thread = threading.Thread(target=self.run)
        thread.start()
        try:
            time.sleep(8)
            act()
        finally:
            thread.join()
        self.lab.sh(self.node, f"rm -rf {FOLDER}")
        assert self.doc is not None, "the load could not be run"
        return self.doc


def pause(doc):
    """Return the longest time, seconds, in which nothing was completed."""
    marks = [0, *doc["done_ms"], int(doc["seconds"] * 1000)]
    return max(b - a for a, b in pairwise(marks)) / 1000


def judged(row, doc, limit):
    worst = pause(doc)
    row.came = f"{len(doc['done_ms'])} objects written and read, {len(doc['errors'])} errors, longest pause {worst:.1f} s"
    assert doc["done_ms"], doc
    assert (doc["errors"], doc["wrong"], doc["hanging"]) == ([], 0, 0)
    assert worst <= limit
    return worst


@pytest.mark.parametrize("signal", ["KILL", "STOP"])
def test_a_gateway_is_lost_under_load(lab, tried, signal):
    node = lab.names("rgw")[0]
    unit = f"ceph-radosgw@rgw.{node}"
    limit = 20 if signal == "KILL" else 45
    row = tried(
        "S3 gateway lost",
        f"the gateway on {node} gets SIG{signal} under checksummed load",
        f"no error, nothing wrong, no pause above {limit} s",
    )
    load = Load(lab)
    do = f"systemctl kill -s {signal} {unit}"
    undo = f"systemctl kill -s CONT {unit} || true; systemctl start {unit}"
    with ExitStack() as stack:
        doc = load.during(lambda: stack.enter_context(planted(lab, node, "gateway", do, undo)))
    judged(row, doc, limit)


def test_the_node_that_holds_the_address_is_lost_under_load(lab, tried):
    holder = next(
        n for n in lab.names("rgw") if lab.run(n, "ip -4 -o addr | grep -q '\\.249/32'").returncode == 0
    )
    row = tried(
        "S3 address' holder lost",
        f"{holder}, which holds the address, loses power under checksummed load",
        "nothing wrong, no error after the library's retries, no pause above 60 s",
    )
    load = Load(lab)
    try:
        doc = load.during(lambda: avadm("lab", "power", holder, "off"))
    finally:
        assert avadm("lab", "power", holder, "on").returncode == 0
        reachable(lab, holder)
    healthy(lab)
    judged(row, doc, 60)


def up_since(lab):
    """Return each OSD to the map's number since which it is up: another one later means that it was marked down."""
    dump = json.loads(lab.sh(lab.names("mon")[0], "timeout 20 ceph osd dump --format json 2>/dev/null"))
    return {osd["osd"]: osd["up_from"] for osd in dump["osds"]}


# How an OSD is slow: words, what does it, what undoes it, and the pause in seconds that there is at least, if it is slow at all.
SLOW = {
    "network": (
        "{node} sends 20 Mbit/s at most, queued up to 300 ms (tbf)",
        "tc qdisc add dev eth0 root tbf rate 20mbit burst 32k latency 300ms",
        "if tc qdisc show dev eth0 | grep -q tbf; then tc qdisc del dev eth0 root; fi",
        0,
    ),
    # As a disk that answers late: shorter than ceph takes to call the OSD lost (20 s without heartbeats).
    "stalls": (
        "the first OSD of {node} stands still for 3 of every 4 s (SIGSTOP)",
        f"id=$({FIRST_OSD}); systemd-run --quiet --collect --unit=avadm-fault-slow sh -c "
        '"while systemctl kill -s STOP ceph-osd@$id; do sleep 3; systemctl kill -s CONT ceph-osd@$id; sleep 1; done"',
        f"systemctl stop avadm-fault-slow 2>/dev/null || true; systemctl kill -s CONT ceph-osd@$({FIRST_OSD})",
        1,
    ),
}


@pytest.mark.parametrize("how", sorted(SLOW))
def test_a_slow_osd_makes_objects_slow_and_takes_no_gateway_away(lab, tried, how):
    node = lab.names("osd")[-1]
    words, do, undo, least = SLOW[how]
    row = tried(
        "slow OSD under S3",
        words.format(node=node),
        "no error, nothing wrong, no pause above 45 s, every gateway stays in haproxy, no OSD is marked down",
    )
    load, before = Load(lab), up_since(lab)
    states = []

    def look():
        for _ in range(5):
            time.sleep(4)
            states.extend(lab.run(gateway, STATES).stdout for gateway in lab.names("rgw"))

    with planted(lab, node, "slow-osd", do, undo):
        doc = load.during(look)
    healthy(lab)
    assert judged(row, doc, 45) >= least, "the OSD was not slow"
    lines = [line.split(",") for text in states for line in text.splitlines() if line.startswith("gateways,")]
    seen = {(line[1], line[17].split()[0]) for line in lines if line[1] != "BACKEND"}
    assert seen == {(gateway, "UP") for gateway in lab.names("rgw")}
    assert up_since(lab) == before
