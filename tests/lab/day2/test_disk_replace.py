"""A disk is replaced on the running lab: dead or drained, with a bad new one between, interrupted, and under load."""

import hashlib
import json
import time
from pathlib import Path

import pytest

from avadm.site.load import load
from tests.controls.day_two import UNINTERRUPTED
from tests.lab.day2.interruptions import killed
from tests.lab.faults.drive import avadm, healthy, reachable, start, unchanged

pytestmark = [pytest.mark.lab, pytest.mark.slow, pytest.mark.day2]
COPIED = 1.2
"""Bytes copied by a replacement, of what the OSD held, at most."""
OUT_S = 5
"""Seconds after which these tests let an OSD count as out."""


@pytest.fixture(autouse=True)
def whole(lab):
    healthy(lab)
    yield
    ceph(lab, "config rm mon mon_osd_down_out_interval")
    for node in lab.nodes:
        reachable(lab, node["name"])
    healthy(lab, limit=900)


def ceph(lab, words):
    """Return what ceph answers, as JSON where it does so."""
    for node in lab.names("mon"):
        done = lab.run(node, f"timeout 30 ceph {words} --format json 2>/dev/null")
        if done.returncode == 0:
            return json.loads(done.stdout) if done.stdout.strip() else None
    raise AssertionError(f"no monitor answers {words}")


def osd(lab, number):
    """Return one OSD of the map."""
    return next(o for o in ceph(lab, "osd dump")["osds"] if o["osd"] == number)


def placed(lab, number):
    """Return an OSD's place in the CRUSH map: host, weight and class."""
    nodes = ceph(lab, "osd tree")["nodes"]
    host = next(n["name"] for n in nodes if n["type"] == "host" and number in n["children"])
    one = next(n for n in nodes if n["id"] == number)
    return host, one["crush_weight"], one["device_class"]


def a_disk(lab):
    """Return the last storage node, the serial number of its first disk, and the OSD on it."""
    node = lab.names("osd")[-1]
    listed = avadm("disk", "list", "--limit", node, "--json")
    assert listed.returncode == 0, listed.stderr
    disks = [d for d in json.loads(listed.stdout)["disks"] if d["verdict"].startswith("osd.")]
    serial = disks[0]["links"][0].rpartition("_")[2]
    return node, serial, int(disks[0]["verdict"].removeprefix("osd."))


def held(lab, number):
    """Return the bytes that an OSD holds."""
    return next(n for n in ceph(lab, "osd df")["nodes"] if n["id"] == number)["kb_used_data"] * 1024


def pushed(lab, but):
    """Return the bytes that all OSDs but one have copied to others since they were started."""
    total = 0
    for node in lab.names("osd"):
        for path in lab.sh(node, "ls /var/run/ceph/ceph-osd.*.asok").split():
            if not path.endswith(f".{but}.asok"):
                done = lab.run(node, f"ceph --admin-daemon {path} perf dump")
                total += json.loads(done.stdout)["osd"]["push_out_bytes"] if done.returncode == 0 else 0
    return total


def swap(node, serial, *more):
    """Pull a disk and insert a new one; return the new one's serial number."""
    done = avadm("lab", "disk", "pull", node, serial)
    assert done.returncode == 0, done.stderr
    done = avadm("lab", "disk", "insert", node, *more)
    assert done.returncode == 0, done.stderr
    return done.stdout.split()[1]


def recovered(lab, number, limit=600):
    """Wait until an OSD that is down may be destroyed."""
    until = time.monotonic() + limit
    while number not in (ceph(lab, f"osd safe-to-destroy {number}") or {}).get("safe_to_destroy", ()):
        assert time.monotonic() < until, ceph(lab, "status")
        time.sleep(2)


def devices(lab, node):
    return [d.by_id.rpartition("_")[2] for d in load(lab.site_path).site.node(node).devices]


def refusals(node, *words):
    """Return the ids of what speaks against a replacement."""
    done = avadm("disk", "replace", node, *words, "--dry-run", "--json")
    assert done.returncode in (0, 2), done.stdout + done.stderr
    return {f["check"] for f in json.loads(done.stdout)["refused"]}


def digest(lab, serial):
    """Return the digest of what is on a disk, as its file has it on this machine."""
    path = Path(lab.site_path).parent / "disks" / f"{serial}.img"
    found = hashlib.sha256()
    with path.open("rb") as stream:
        while block := stream.read(1 << 22):
            found.update(block)
    return found.hexdigest()


def test_a_dead_disk_under_load(lab, loads, recorder, tried):
    at_work = loads()
    recorder.skip_if_done("disk replace", UNINTERRUPTED, at_work)
    node, serial, number = a_disk(lab)
    row = tried(
        "disk replaced",
        f"a disk of {node} is pulled, a blank one inserted, under load",
        f"same id and place, at most {COPIED} of its bytes copied, nothing lost",
    )
    before = placed(lab, number)
    new = swap(node, serial)
    checks = refusals(node, f"osd.{number}")
    # Until its peers have noticed, placement groups are still active on it, or about to be elsewhere.
    assert checks and checks <= {"replace-in-use", "replace-degraded", "replace-last-copy"}
    # Not before: what it held could be complete elsewhere by the time of the look.
    ceph(lab, f"config set mon mon_osd_down_out_interval {OUT_S}")
    recovered(lab, number)
    old = digest(lab, serial)
    size, copied = held(lab, number), pushed(lab, number)
    with recorder.under("disk replace", UNINTERRUPTED, at_work):
        begun = time.monotonic()
        done = avadm("disk", "replace", node, f"osd.{number}", "--yes", timeout=1800)
        seconds = time.monotonic() - begun
        assert done.returncode == 0, done.stdout + done.stderr
        copied = pushed(lab, number) - copied
    assert placed(lab, number) == before
    assert osd(lab, number)["up"] == 1
    assert (new in devices(lab, node), serial in devices(lab, node)) == (True, False)
    assert digest(lab, serial) == old
    size = max(size, held(lab, number))
    assert copied <= COPIED * size + (8 << 20), (copied, size)
    healthy(lab)
    again = avadm("disk", "replace", node, f"osd.{number}", "--with", f"scsi-AVADM_{new}", "--yes")
    assert again.returncode == 0, again.stderr
    assert unchanged(lab)
    row.came = f"{copied / size:.2f} of its bytes copied; {seconds:.0f} s"


def test_a_bad_new_disk_costs_another_try(lab):
    node, serial, number = a_disk(lab)
    before = placed(lab, number)
    ceph(lab, f"config set mon mon_osd_down_out_interval {OUT_S}")
    bad = swap(node, serial)
    recovered(lab, number)
    listed = json.loads(avadm("disk", "list", "--limit", node, "--json").stdout)["disks"]
    real = next(d["real"] for d in listed if any(bad in link for link in d["links"]))
    # Something is written on it: it is not proven blank.
    lab.sh(node, f"head -c 4096 /dev/urandom | dd of={real} bs=4096 seek=7 conv=fsync 2>&1")
    assert refusals(node, f"osd.{number}", "--with", f"scsi-AVADM_{bad}") == {"replace-not-blank"}
    assert "destroyed" not in osd(lab, number)["state"]
    new = swap(node, bad)
    done = avadm("disk", "replace", node, f"osd.{number}", "--yes", timeout=1800)
    assert done.returncode == 0, done.stdout + done.stderr
    assert placed(lab, number) == before
    assert devices(lab, node).count(new) == 1
    assert not {serial, bad} & set(devices(lab, node))


def test_a_working_disk_is_drained_and_never_written(lab):
    node, serial, number = a_disk(lab)
    assert refusals(node, f"osd.{number}") == {"replace-in-use", "replace-no-disk"}
    assert refusals(node, f"osd.{number}", "--drain") == {"replace-no-disk"}
    before = placed(lab, number)
    arguments = ("disk", "replace", node, f"osd.{number}", "--drain", "--accept", "replace-no-disk", "--yes")
    running = start(*arguments)
    until = time.monotonic() + 900
    # It waits for a disk once the old one is drained and destroyed.
    while "destroyed" not in osd(lab, number)["state"]:
        assert running.poll() is None, running.communicate()[0]
        assert time.monotonic() < until
        time.sleep(1)
    old = digest(lab, serial)
    new = swap(node, serial)
    text, _ = running.communicate(timeout=1800)
    assert running.returncode == 0, text
    assert digest(lab, serial) == old
    assert placed(lab, number) == before
    assert new in devices(lab, node)


# Words of a line of progress; avadm is killed when it appears.
BOUNDARIES = ["stop osd", "destroy osd", "write the new disk", "make osd", "copy the data"]


@pytest.mark.parametrize("boundary", BOUNDARIES)
def test_killed_at_a_step_the_same_command_continues(lab, boundary):
    node, serial, number = a_disk(lab)
    before = placed(lab, number)
    ceph(lab, f"config set mon mon_osd_down_out_interval {OUT_S}")
    new = swap(node, serial)
    recovered(lab, number)
    assert killed(["disk", "replace", node, f"osd.{number}", "--yes"], boundary).alive
    other = avadm("apply", "ceph")
    assert other.returncode == 2
    assert f"avadm disk replace {node} osd.{number}" in " ".join(other.stderr.split())
    done = avadm("disk", "replace", node, f"osd.{number}", "--yes", timeout=1800)
    assert done.returncode == 0, done.stdout + done.stderr
    assert placed(lab, number) == before
    assert new in devices(lab, node)
    assert not ceph(lab, "osd dump").get("crush_node_flags")
