"""What looks after etcd by the clock: snapshots from which it can be restored, and defragmentation."""

import json

import pytest

from tests.lab.faults.planting import planted

pytestmark = pytest.mark.lab
SNAPSHOTS = "/var/lib/etcd/snapshots"
UNIT = "avadm-etcd-snapshot.service"
STORE = "/etc/avadm/etcd/store.json"


@pytest.fixture
def copied(lab):
    """A member whose snapshots are copied into the object store; a lab without one skips the test."""
    if not lab.names("rgw"):
        pytest.skip("this lab has no object store: lab up --with objects")
    return lab.names("etcd")[-1]


def taken(lab, node):
    """Take a snapshot; return its name."""
    before = lab.sh(node, f"ls {SNAPSHOTS}").split()
    lab.sh(node, f"sleep 1; systemctl start {UNIT}", 300)
    (name,) = set(lab.sh(node, f"ls {SNAPSHOTS}").split()) - set(before)
    return name


def metrics_of(lab, node):
    """Return metric to value of what is reported of copies."""
    text = lab.sh(node, "cat /var/lib/prometheus/node-exporter/avadm-etcd*.prom")
    return dict(line.split() for line in text.splitlines() if line.startswith("avadm_etcd"))


def test_a_snapshot_is_whole_and_can_be_restored(lab):
    node = lab.names("etcd")[-1]
    before = lab.sh(node, f"ls {SNAPSHOTS}").split()
    keys = len(lab.sh(node, "avadm-etcd ctl get / --prefix --keys-only").split())
    lab.sh(node, "systemctl start avadm-etcd-snapshot.service")
    after = lab.sh(node, f"ls {SNAPSHOTS}").split()
    newest = f"{SNAPSHOTS}/{max(after)}"
    assert set(after) - set(before) == {max(after)}
    kept = lab.host(node).file(newest)
    assert (kept.mode, kept.user) == (0o600, "root")
    reply = json.loads(lab.sh(node, f"avadm-etcd ctl snapshot status {newest} --write-out=json"))
    lab.sh(node, f"avadm-etcd check {newest}")
    copy = lab.sh(
        node,
        f"t=$(mktemp) && cp {newest} $t && printf x | dd of=$t bs=1 seek=9000 conv=notrunc 2>/dev/null; echo $t",
    )
    assert lab.run(node, f"avadm-etcd check {copy.strip()}; r=$?; rm {copy.strip()}; exit $r").returncode == 1
    # Older revisions of keys count too.
    assert reply["totalKey"] >= keys > 0
    # Restoring compares the digest at the end of the file with what is in it.
    folder = lab.sh(node, "mktemp -d").strip()
    try:
        lab.sh(node, f"avadm-etcd ctl snapshot restore {newest} --data-dir {folder}/data")
        lab.sh(node, f"test -s {folder}/data/member/snap/db")
    finally:
        lab.sh(node, f"rm -rf {folder}")


def test_a_snapshot_lies_in_the_object_store_too(lab, copied):
    name = taken(lab, copied)
    kept = lab.host(copied).file(STORE)
    assert (kept.mode, kept.user) == (0o600, "root")
    listed = [line.split()[1] for line in lab.sh(copied, "avadm-etcd copies").splitlines()]
    assert f"{copied}/{name}" in listed
    assert {f"{copied}/{one}" for one in lab.sh(copied, f"ls {SNAPSHOTS}").split()} <= set(listed)
    got = "/root/avadm-test-copy.db"
    try:
        lab.sh(copied, f"rm -f {got}; avadm-etcd fetch {copied}/{name} {got} && avadm-etcd check {got}")
        lab.sh(copied, f"cmp {got} {SNAPSHOTS}/{name}")
    finally:
        lab.sh(copied, f"rm -f {got}")
    found = metrics_of(lab, copied)
    assert (found["avadm_etcd_copy_wanted"], found["avadm_etcd_copy_failed"]) == ("1", "0")
    late = int(found["avadm_etcd_snapshot_timestamp_seconds"]) - int(
        found["avadm_etcd_copy_timestamp_seconds"]
    )
    assert 0 <= late < 300


def test_a_members_key_changes_its_own_copies_alone(lab, copied):
    """It reads all members' copies and sees no other bucket; the owner's keys are on no node."""
    mon, user = lab.names("mon")[0], f"avadm-etcd-{copied}"
    other = (lab.names("etcd")[:-1] or ["gone"])[0]
    assert json.loads(lab.sh(mon, "radosgw-admin bucket list --uid=avadm-etcd")) == ["avadm-etcd"]
    assert json.loads(lab.sh(mon, f"radosgw-admin bucket list --uid={user}")) == []
    info = json.loads(lab.sh(mon, f"radosgw-admin user info --uid={user}"))
    assert (info["caps"], info["subusers"], len(info["keys"])) == ([], [], 1)
    owner = json.loads(lab.sh(mon, "radosgw-admin user info --uid=avadm-etcd"))["keys"][0]["access_key"]
    assert lab.run(copied, f"grep -q {owner} {STORE}").returncode == 1

    def ask(bucket, do):
        start = (
            f"import json; from importlib.machinery import SourceFileLoader as L;"
            f' m = L("etcd_copy", "/usr/local/sbin/avadm-etcd-copy").load_module(); s = json.load(open("{STORE}"));'
            f' s["bucket"] = "{bucket}"; one = m.Store(s)'
        )
        return lab.run(copied, f"python3 -B -c '{start}; {do}'")

    body = 'Bucket="avadm-etcd", Key="%s/lab-test"'
    own, theirs = body % copied, body % other
    assert (
        ask("avadm-etcd", f'one.s3.put_object({own}, Body=b"x"); print(one.s3.get_object({own}))').returncode
        == 0
    )
    assert f"{copied}/lab-test" in lab.sh(copied, "avadm-etcd copies")
    assert ask("avadm-etcd", f"one.s3.delete_object({own})").returncode == 0
    assert f"{copied}/lab-test" not in lab.sh(copied, "avadm-etcd copies")
    for do, where in (
        (f'one.s3.put_object({theirs}, Body=b"x")', "avadm-etcd"),
        (f"one.s3.delete_object({theirs})", "avadm-etcd"),
        ('one.s3.delete_bucket_policy(Bucket="avadm-etcd")', "avadm-etcd"),
        ("one.held()", "lab-data"),
    ):
        refused = ask(where, do)
        assert refused.returncode != 0, do
        assert "AccessDenied" in refused.stderr, do
    there = [line.split()[1] for line in lab.sh(copied, "avadm-etcd copies").splitlines()]
    got = "/root/avadm-test-other.db"
    for key in [one for one in there if one.startswith(f"{other}/")][-1:]:
        try:
            lab.sh(copied, f"rm -f {got}; avadm-etcd fetch {key} {got} && avadm-etcd check {got}")
        finally:
            lab.sh(copied, f"rm -f {got}")


@pytest.mark.slow
def test_a_store_that_does_not_answer_is_reported_and_fails_no_snapshot(lab, copied, tried):
    row = tried(
        "copies of etcd's snapshots",
        f"{copied} does not reach the object store",
        "the snapshot is taken, the copy is reported as failed, and comes with the next",
    )
    ask = f"""python3 -c 'import json, socket
print(socket.gethostbyname(json.load(open("{STORE}"))["endpoint"].split("/")[2].split(":")[0]))'"""
    address = lab.sh(copied, ask).strip()
    assert address not in lab.sh(copied, "ip -4 -o addr"), (
        "this member would reach its own address all the same"
    )
    taken(lab, copied)
    last = metrics_of(lab, copied)["avadm_etcd_copy_timestamp_seconds"]
    do = f"ip route add unreachable {address}/32"
    undo = f"ip route del unreachable {address}/32 2>/dev/null || true"
    with planted(lab, copied, "no-store", do, undo):
        name = taken(lab, copied)
        found = metrics_of(lab, copied)
        lab.sh(copied, f"avadm-etcd check {SNAPSHOTS}/{name}")
        assert lab.sh(copied, f"systemctl show -p Result {UNIT}").strip() == "Result=success"
        assert lab.run(copied, f"systemctl is-failed {UNIT}").returncode != 0
        assert (found["avadm_etcd_copy_failed"], found["avadm_etcd_copy_timestamp_seconds"]) == ("1", last)
        assert "Not copied" in lab.sh(copied, f"journalctl --no-pager -o cat -u {UNIT} --since=-5min")
    both = {name, taken(lab, copied)}
    listed = {line.split("/")[-1] for line in lab.sh(copied, "avadm-etcd copies").splitlines()}
    assert both <= listed
    assert metrics_of(lab, copied)["avadm_etcd_copy_failed"] == "0"
    row.came = "the snapshot was taken and whole, the unit well, the copy reported as failed, and there after the next"


def test_a_member_is_defragmented_and_stays_well(lab):
    node, unit = lab.names("etcd")[-1], "avadm-etcd-defrag.service"
    lab.sh(node, f"systemctl start {unit}")
    run = lab.sh(node, f"systemctl show -p InvocationID {unit}").strip().partition("=")[2]
    assert run
    reply = lab.sh(node, f"journalctl --no-pager -o cat _SYSTEMD_INVOCATION_ID={run}")
    assert "Finished defragmenting etcd member" in reply
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
        assert lab.run(node, f"{members} --cert {cert} --key {key}").returncode != 0, cert
    assert "2379" in lab.sh(node, "avadm-etcd ctl member list")


def test_both_come_by_the_clock(lab):
    for node in lab.names("etcd"):
        for timer in ("avadm-etcd-snapshot.timer", "avadm-etcd-defrag.timer"):
            assert lab.host(node).service(timer).is_running and lab.host(node).service(timer).is_enabled
