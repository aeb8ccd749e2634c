"""Members of etcd that are replaced, removed, added, while objects are written: none is lost, and no step risks the quorum."""

import json
import subprocess
import sys
import time
import uuid
from pathlib import Path

import pytest

from tests.lab.faults.drive import avadm, edit_site
from tests.lab.kubernetes.drive import etcd_leader, healthy, unchanged
from tests.lab.kubernetes.probe import Api, Writer

pytestmark = [pytest.mark.lab, pytest.mark.slow, pytest.mark.usefixtures("three_masters")]

ROOT = Path(__file__).parents[3]
PAUSE_S = 30
"""Longest time without an acknowledged write that one step may cost, seconds."""


@pytest.fixture
def written(lab, kube):
    """Objects that are written all the time through the virtual address."""
    space = f"members-{uuid.uuid4().hex[:8]}"
    kube.ctl(f"create namespace {space}")
    api = Api(lab.site_path.with_suffix(".kubeconfig"))
    with Writer(api, space) as writer:
        yield writer
    kube.ctl(f"delete namespace {space}")


def members(lab, node):
    """Return the names of the members that vote."""
    reply = json.loads(lab.sh(node, "avadm-etcd ctl member list --write-out=json"))["members"]
    return {m["name"] for m in reply if not m.get("isLearner")}


def playbook(folder, name, member):
    """Run a playbook by hand for one member, as `avadm site render` says."""
    reply = json.loads(avadm("site", "render", "--out", str(folder), "--json").stdout)
    program = Path(sys.executable).parent / "ansible-playbook"
    argv = [program, *reply["ansible_args"], f"playbooks/{name}.yml", "-e", f"member={member}"]
    return subprocess.run(argv, cwd=ROOT, capture_output=True, text=True, timeout=600, check=False)


def everything_is_there(writer):
    """Assert that all objects whose writing was acknowledged are served, and that no pause was too long."""
    assert len(writer.kept) > 10, writer.errors[-3:]
    assert not writer.lost(), f"not all of {len(writer.kept)} objects are there"
    assert writer.pause() < PAUSE_S, writer.errors


def test_a_member_that_lost_its_data_is_replaced(lab, kube, written, tried, tmp_path):
    node = next(n for n in lab.names("etcd") if n != etcd_leader(lab))
    row = tried(
        "etcd data lost",
        f"the data of etcd on {node} are deleted",
        "apply refuses to start it as it is; etcd-replace.yml has it join again; nothing lost",
    )
    identity = lab.sh(node, "avadm-etcd ctl endpoint status --write-out=json")
    was = json.loads(identity)[0]["Status"]["header"]["member_id"]
    lab.sh(node, "systemctl kill -s KILL etcd; systemctl stop etcd; rm -rf /var/lib/etcd/avadm/*")
    refused = avadm("apply", "etcd", timeout=600)
    reply = refused.stdout + refused.stderr
    assert refused.returncode != 0
    assert "etcd-replace.yml" in reply, reply[-2000:]
    assert not lab.host(node).service("etcd").is_running, "etcd was started without its data"
    begun = time.monotonic()
    done = playbook(tmp_path / "inventory", "etcd-replace", node)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-1000:]
    took = time.monotonic() - begun
    healthy(kube)
    now = json.loads(lab.sh(node, "avadm-etcd ctl endpoint status --write-out=json"))[0]["Status"]
    assert now["header"]["member_id"] != was
    assert members(lab, node) == set(lab.names("etcd"))
    everything_is_there(written)
    unchanged(("etcd", "masters"))
    row.came = (
        f"refused with the remedy; replaced in {took:.0f} s; all {len(written.kept)} acknowledged objects there, longest"
        f" pause {written.pause():.1f} s; apply changes nothing"
    )


def test_three_members_become_one_and_three_again(lab, kube, written, tried, tmp_path):
    stays, *leave = sorted(lab.names("etcd"), key=lambda n: n != lab.names("master")[0])
    row = tried(
        "etcd members",
        f"{', '.join(leave)} leave etcd, as the site file then says, and come back",
        f"no write for less than {PAUSE_S} s at each step, nothing lost",
    )
    before = lab.site_path.read_text()

    def without_leaving(data):
        for node in data["nodes"]:
            if node["name"] in leave:
                node["roles"].remove("etcd")

    # A member that the site file still names would be added again: refused.
    refused = playbook(tmp_path / "inventory", "etcd-remove", leave[0])
    assert refused.returncode != 0
    assert "still has the role etcd" in refused.stdout
    try:
        edit_site(lab, without_leaving)
        # No one asks them any more before they leave.
        done = avadm("apply", "masters", "nodes", timeout=900)
        assert done.returncode == 0, done.stdout + done.stderr
        for node in leave:
            done = playbook(tmp_path / "inventory", "etcd-remove", node)
            assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-1000:]
            lab.sh(node, "systemctl disable --now etcd; rm -rf /var/lib/etcd/avadm")
        assert members(lab, stays) == {stays}
        everything_is_there(written)
        alone = written.pause()
    finally:
        lab.site_path.write_text(before)
        grown = avadm("apply", "etcd", timeout=900)
        done = avadm("apply", timeout=900)
    assert grown.returncode == 0, grown.stdout + grown.stderr
    assert done.returncode == 0, done.stdout + done.stderr
    healthy(kube)
    assert members(lab, stays) == {stays, *leave}
    everything_is_there(written)
    unchanged(("etcd", "masters"))
    row.came = (
        f"all {len(written.kept)} acknowledged objects there; longest pause {alone:.1f} s while they left,"
        f" {written.pause():.1f} s over all; apply changes nothing"
    )
