"""Data that are away are not recreated: apply refuses with the remedy, and all is there once they are back."""

import json
import time

import pytest

from tests.lab.faults.drive import avadm
from tests.lab.kubernetes.drive import unchanged

pytestmark = [pytest.mark.lab, pytest.mark.slow]
AWAY = "/var/lib/avadm-test-away"


def refused(phase, *words):
    """Assert that apply refuses the phase and says all these words."""
    done = avadm("apply", phase, timeout=900)
    reply = done.stdout + done.stderr
    assert done.returncode != 0, reply[-2000:]
    assert [w for w in words if w not in reply] == [], reply[-3000:]


def eventually(check, seconds=120):
    end = time.monotonic() + seconds
    while not check():
        assert time.monotonic() < end
        time.sleep(2)


def moved(lab, node, unit, folder):
    """Stop a unit and move its data away, as where a disk is not mounted; return what puts them back."""
    lab.sh(node, f"test ! -e {AWAY} && systemctl stop {unit} && mv {folder} {AWAY}")

    def back():
        lab.sh(
            node,
            f"systemctl stop {unit}; rm -rf {folder} && mv {AWAY} {folder} && systemctl start {unit}",
            300,
        )

    return back


def test_an_etcd_whose_data_are_away_is_not_bootstrapped_again(lab, tried):
    nodes = lab.names("etcd")
    if not nodes:
        pytest.skip("this lab has no etcd")
    row = tried(
        "etcd data away",
        "etcd stopped, member/ moved away on all members",
        "apply refuses; all is there again",
    )
    mark = json.loads(lab.sh(nodes[0], "cat /var/lib/avadm/founded/etcd.json"))
    host = lab.host(nodes[0])
    kept = host.file("/var/lib/avadm/founded/etcd.json")
    assert (kept.mode, kept.user) == (0o600, "root")
    assert not host.file("/run/avadm/etcd-bootstrap").exists
    keys = lab.sh(nodes[0], "avadm-etcd ctl get / --prefix --keys-only | sort").split()
    backs = [moved(lab, node, "etcd", "/var/lib/etcd/avadm/member") for node in nodes]
    try:
        refused("etcd", "has lost its data", f"--replace {nodes[0]}")
        # The state's mark alone says the same: the node was reinstalled.
        lab.sh(nodes[0], "mv /var/lib/avadm/founded/etcd.json /var/lib/avadm/founded/etcd.away")
        refused("etcd", "has lost its data")
        lab.run(nodes[0], "systemctl start etcd", 120)
        for node in nodes:
            assert lab.run(node, "ls /var/lib/etcd/avadm/member/wal").returncode != 0, (
                "an empty etcd was bootstrapped"
            )
    finally:
        lab.run(nodes[0], "mv /var/lib/avadm/founded/etcd.away /var/lib/avadm/founded/etcd.json")
        for back in backs:
            back()
    eventually(lambda: all(lab.run(n, "avadm-etcd health").returncode == 0 for n in nodes))
    now = lab.sh(nodes[0], "avadm-etcd ctl get / --prefix --keys-only | sort").split()
    assert set(keys) <= set(now) | {k for k in keys if "/events/" in k or "/leases/" in k}
    assert json.loads(lab.sh(nodes[0], "cat /var/lib/avadm/founded/etcd.json")) == mark
    unchanged(("etcd",))
    row.came = f"refused by the node's mark and by the state's; all {len(keys)} keys there again"


@pytest.mark.parametrize("all_of_them", [False, True], ids=["one", "all"])
def test_a_monitor_whose_store_is_away_is_not_made_again(lab, tried, all_of_them):
    mons = lab.names("mon")
    chosen = mons if all_of_them else mons[-1:]
    row = tried(
        "monitor's store away",
        f"{len(chosen)} of {len(mons)} moved away",
        "apply refuses; all is there again",
    )
    pools = lab.sh(mons[0], "ceph osd pool ls")
    backs = [moved(lab, node, f"ceph-mon@{node}", f"/var/lib/ceph/mon/ceph-{node}") for node in chosen]
    try:
        refused("ceph", "has lost its data", f"--replace {chosen[0]}")
        for node in chosen:
            assert not lab.host(node).file(f"/var/lib/ceph/mon/ceph-{node}/store.db").exists
    finally:
        for back in backs:
            back()
    eventually(lambda: lab.run(mons[0], "timeout 20 ceph health | grep -v MON_DOWN").returncode == 0, 300)
    assert lab.sh(mons[0], "ceph osd pool ls") == pools
    unchanged(("ceph",))
    row.came = "refused with the remedy; every pool there again"


def test_a_monitor_whose_store_is_lost_is_made_again_by_name(lab, tried):
    mons = lab.names("mon")
    if len(mons) < 3:
        pytest.skip("the others must have a quorum")
    node = mons[-1]
    row = tried(
        "monitor's store lost",
        f"the store of {node} is deleted",
        "apply --replace makes it again from the others",
    )
    lab.sh(node, f"systemctl stop ceph-mon@{node} && rm -rf /var/lib/ceph/mon/ceph-{node}")
    done = avadm("apply", "ceph", "--replace", node, timeout=900)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-1000:]
    reply = json.loads(lab.sh(mons[0], "ceph quorum_status --format json"))
    assert set(reply["quorum_names"]) == set(mons)
    unchanged(("ceph",))
    row.came = "in the quorum again"
