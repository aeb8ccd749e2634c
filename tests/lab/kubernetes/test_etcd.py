"""What looks after etcd by the clock: snapshots from which it can be restored, and defragmentation."""

import json

import pytest

pytestmark = pytest.mark.lab
SNAPSHOTS = "/var/lib/etcd/snapshots"


def test_a_snapshot_is_whole_and_can_be_restored(lab):
    node = lab.names("etcd")[-1]
    before = lab.sh(node, f"ls {SNAPSHOTS}").split()
    keys = len(lab.sh(node, "avadm-etcd ctl get / --prefix --keys-only").split())
    lab.sh(node, "systemctl start avadm-etcd-snapshot.service")
    after = lab.sh(node, f"ls {SNAPSHOTS}").split()
    newest = f"{SNAPSHOTS}/{max(after)}"
    assert set(after) - set(before) == {max(after)}
    assert lab.sh(node, f"stat -c %a:%U {newest}").strip() == "600:root"
    said = json.loads(lab.sh(node, f"avadm-etcd ctl snapshot status {newest} --write-out=json"))
    lab.sh(node, f"avadm-etcd check {newest}")
    copy = lab.sh(
        node,
        f"t=$(mktemp) && cp {newest} $t && printf x | dd of=$t bs=1 seek=9000 conv=notrunc 2>/dev/null; echo $t",
    )
    assert lab.run(node, f"avadm-etcd check {copy.strip()}; r=$?; rm {copy.strip()}; exit $r").returncode == 1
    # Older revisions of keys count too.
    assert said["totalKey"] >= keys > 0
    # Restoring compares the digest at the end of the file with what is in it.
    folder = lab.sh(node, "mktemp -d").strip()
    try:
        lab.sh(node, f"avadm-etcd ctl snapshot restore {newest} --data-dir {folder}/data")
        lab.sh(node, f"test -s {folder}/data/member/snap/db")
    finally:
        lab.sh(node, f"rm -rf {folder}")


def test_a_member_is_defragmented_and_stays_well(lab):
    node, unit = lab.names("etcd")[-1], "avadm-etcd-defrag.service"
    lab.sh(node, f"systemctl start {unit}")
    run = lab.sh(node, f"systemctl show -p InvocationID {unit}").strip().partition("=")[2]
    assert run
    said = lab.sh(node, f"journalctl --no-pager -o cat _SYSTEMD_INVOCATION_ID={run}")
    assert "Finished defragmenting etcd member" in said
    lab.sh(node, "avadm-etcd health")


def test_only_members_get_into_the_port_of_members(lab):
    """Calico's certificate is on every node; root's is one of clients too."""
    node = lab.names("etcd")[0]
    address = lab.node(node)["address"]
    members = (
        f"curl -sS --http1.1 --max-time 10 --cacert /etc/etcd/pki/peer-ca.crt https://{address}:2380/members"
    )
    own = "--cert /etc/etcd/pki/peer.crt --key /etc/etcd/pki/etcd.key"
    assert node in lab.sh(node, f"{members} {own}")
    for cert, key in (
        ("/etc/calico/pki/etcd.crt", "/etc/calico/pki/calico.key"),
        ("/etc/etcd/pki/client.crt", "/etc/etcd/pki/etcd.key"),
        ("/etc/etcd/pki/server.crt", "/etc/etcd/pki/etcd.key"),
    ):
        lab.sh(node, f"test -s {cert} && test -s {key}")
        assert not lab.run(node, f"{members} --cert {cert} --key {key}").ok, cert
    assert "2379" in lab.sh(node, "avadm-etcd ctl member list")


@pytest.mark.core("etcd")
def test_both_come_by_the_clock(lab):
    for node in lab.names("etcd"):
        for timer in ("avadm-etcd-snapshot.timer", "avadm-etcd-defrag.timer"):
            lab.sh(node, f"systemctl is-active {timer} && systemctl is-enabled {timer}")
