"""A workbench's disk on its node: kept over runs, grown while it runs, never shrunk, and gone with the workbench alone."""

import json
import time

import pytest

from ava.client import ApiError
from tests.lab.ava.bench_people import SPEC
from tests.lab.ava.bench_ways import Ssh
from tests.lab.waiting import until

pytestmark = pytest.mark.lab
GIB, MIB = 2**30, 2**20
SIZE = "df --output=size --block-size=1M /disk | tail -1"


@pytest.fixture
def quota(people):
    eve = people.eve
    before = next(g for g in eve.ava.groups() if g.name == eve.name).quota.model_dump()
    eve.admin.set_quota(eve.name, before | {"disk": 2 * GIB})
    yield
    eve.admin.set_quota(eve.name, before)


def inside(eve, definition, gateway):
    """Return ssh into a workbench that has just started."""
    ssh = Ssh(eve.folder, eve.ava.workbench(definition).ssh, gateway, key="disk")
    eve.ava.put_key("ssh", "disk", ssh.public)
    ssh.write()
    until(lambda: ssh.run("bench", "true", check=False).returncode == 0, 120)
    return lambda command: ssh.run("bench", command).stdout.strip()


def node_of(eve, run):
    return next(p.node for p in eve.ava.pods(run))


def test_a_disk_is_kept_grown_and_gone_with_its_workbench_alone(people, platform, gateway, quota):
    eve, lab = people.eve, platform.lab
    one = eve.ava.define("disk", SPEC | {"disk": GIB})
    try:
        began = time.monotonic()
        run = eve.ava.start_definition(one.id)
        until(lambda: eve.ava.run(run.id).state == "running", 120)
        print(f"first start, with a disk of 1 GiB made: {time.monotonic() - began:.1f} s")
        sh = inside(eve, one.id, gateway)
        assert 800 < int(sh(SIZE)) < 1024
        sh("echo mine > /disk/kept")
        until(lambda: eve.ava.workbench(one.id).disk.size == GIB, 60)
        node = eve.ava.workbench(one.id).disk.node
        assert node_of(eve, run.id) == node

        eve.ava.grow_disk(one.id, GIB + 512 * MIB)
        began = time.monotonic()
        until(lambda: eve.ava.workbench(one.id).disk.size == GIB + 512 * MIB, 60)
        if may_resize(lab, node):
            until(lambda: int(sh(SIZE)) > 1024, 60)
        print(f"grown while it ran: {time.monotonic() - began:.1f} s after it was asked for")
        assert sh("cat /disk/kept") == "mine"
        with pytest.raises(ApiError) as refused:
            eve.ava.grow_disk(one.id, GIB)
        assert [p.code for p in refused.value.problems] == ["disk-shrinks"]
        with pytest.raises(ApiError) as refused:
            eve.ava.grow_disk(one.id, 3 * GIB)
        assert [p.code for p in refused.value.problems] == ["disk-quota"]

        eve.stop(run.id)
        again = eve.ava.start_definition(one.id)
        until(lambda: eve.ava.run(again.id).state == "running", 120)
        assert node_of(eve, again.id) == node
        sh = inside(eve, one.id, gateway)
        assert sh("cat /disk/kept") == "mine"
        assert int(sh(SIZE)) > 1024
        eve.stop(again.id)
        (claim,) = claims(platform, one.id)
    finally:
        for left in eve.ava.runs(definition=one.id):
            if left.state not in ("stopped", "failed", "succeeded"):
                eve.stop(left.id)
        eve.ava.delete_definition(one.id)
    volume = claim["spec"]["volumeName"]
    until(lambda: not claims(platform, one.id), 60)
    until(lambda: volume not in lab.sh(platform.master, "kubectl get pv -o name"), 60)
    until(lambda: volume not in lab.sh(node, "ls /var/lib/avadm/local"), 60)


def may_resize(lab, node):
    """Return whether the kernel lets a node resize what is mounted (CAP_SYS_RESOURCE); else that comes with the next mount."""
    return int(lab.sh(node, "awk '/CapEff/ {print $2}' /proc/self/status"), 16) >> 24 & 1


def claims(platform, definition):
    found = json.loads(
        platform.lab.sh(platform.master, "kubectl get pvc --all-namespaces -l ava.io/managed=true -o json")
    )
    return [c for c in found["items"] if c["metadata"]["labels"]["ava.io/definition"] == definition]
