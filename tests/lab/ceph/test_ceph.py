"""The lab's ceph cluster is what its site file says, and its clients can do no more than they need."""

import json
from pathlib import Path

import pytest

from avadm.inventory.variables import variables
from avadm.pki.store import KeyStore
from avadm.site import load as loader

pytestmark = pytest.mark.lab


@pytest.fixture(scope="session")
def site(lab):
    """The lab's site file."""
    return loader.load(Path(lab.nodes[0]["ssh"]["key"]).with_name("site.yml"))


@pytest.fixture(scope="session")
def wanted(site):
    """The variables of the roles."""
    return variables(site, KeyStore.open(site.path))


@pytest.fixture(scope="session")
def ceph(lab):
    """A function that asks the cluster and returns the parsed answer."""
    mon = lab.names("mon")[0]
    return lambda words: json.loads(lab.sh(mon, f"ceph {words} --format json"))


@pytest.fixture(scope="session")
def client(lab):
    return lab.names("client")[0]


@pytest.mark.core("ceph")
def test_the_cluster_is_healthy_and_nothing_is_muted(ceph):
    health = ceph("health")
    assert health["status"] == "HEALTH_OK"
    assert not health.get("mutes")


@pytest.mark.core("ceph")
def test_every_daemon_of_the_site_file_runs(lab, ceph, wanted):
    status = ceph("status")
    assert sorted(status["quorum_names"]) == sorted(lab.names("mon"))
    managers = ceph("mgr dump")
    found = [managers["active_name"], *(one["name"] for one in managers["standbys"])]
    assert sorted(found) == sorted(lab.names("mgr"))
    osds = wanted.all["ceph_common_osds"]
    osdmap = status["osdmap"].get("osdmap", status["osdmap"])  # one level deeper until 14
    assert (osdmap["num_up_osds"], osdmap["num_in_osds"]) == (osds, osds)


@pytest.mark.core("ceph")
def test_pools_are_as_computed(ceph, wanted):
    found = {pool["pool_name"]: pool for pool in ceph("osd pool ls detail")}
    for pool in wanted.all["ceph_fs_pools"] + wanted.all["ceph_rbd_pools"]:
        one = found[pool["name"]]
        assert (one["size"], one["min_size"]) == (pool["size"], pool["min_size"])
        assert one["pg_num"] == one["pg_placement_num"] == pool["pg_num"]
        assert list(one["application_metadata"]) == [pool["application"]]


def test_no_pool_has_less_than_two_copies_or_an_autoscaler(ceph):
    for pool in ceph("osd pool ls detail"):
        assert pool["size"] == 2, pool["pool_name"]
        assert pool["pg_autoscale_mode"] == "off", pool["pool_name"]


def test_osds_hang_under_their_host_and_rack(ceph, site):
    tree = {node["id"]: node for node in ceph("osd tree")["nodes"]}
    places = {
        (rack["name"], host["name"], len(host["children"]))
        for rack in tree.values()
        if rack["type"] == "rack"
        for host in (tree[child] for child in rack["children"])
    }
    assert places == {(n.rack, n.name, len(n.devices)) for n in site.site.with_role("osd")}


def test_metadata_servers_are_active_and_standing_by(lab, ceph, site):
    dump = ceph("fs dump")
    active = [
        m["name"] for m in dump["filesystems"][0]["mdsmap"]["info"].values() if m["state"] == "up:active"
    ]
    standby = [m["name"] for m in dump["standbys"]]
    assert len(active) == site.site.components.ceph.filesystem.active_mds
    assert sorted(active + standby) == sorted(lab.names("mds"))


@pytest.mark.core("ceph")
def test_caps_are_those_that_were_asked_for(ceph, wanted):
    found = {one["entity"]: one["caps"] for one in ceph("auth ls")["auth_dump"]}
    for one in wanted.all["ceph_mon_entities"]:
        assert found[one["entity"]] == one["caps"]


def test_metrics_are_offered(lab, ceph):
    url = ceph("mgr services")["prometheus"]
    assert ":9283" in url
    metrics = lab.sh(lab.names("mon")[0], f"curl -sf --noproxy '*' {url}metrics")
    assert "ceph_health_status" in metrics


def test_keys_are_readable_by_their_owner_only(lab):
    for node in {*lab.names("mon"), *lab.names("osd"), *lab.names("mds"), *lab.names("client")}:
        find = "find /etc/ceph /var/lib/ceph -name '*keyring*' -type f -printf '%m %p\\n' 2>/dev/null"
        keys = lab.sh(node, find).splitlines()
        assert keys, node
        assert [key for key in keys if not key.startswith("600 ")] == [], node


def test_only_monitor_nodes_have_the_administrators_key(lab):
    for node in lab.nodes:
        found = lab.host(node["name"]).file("/etc/ceph/ceph.client.admin.keyring").exists
        assert found == ("mon" in node["roles"]), node["name"]


@pytest.mark.core("cephfs")
def test_the_file_system_is_mounted_on_every_client(lab, wanted):
    mount = wanted.all["ceph_client_mount"]
    for name in lab.names("client"):
        assert lab.sh(name, f"findmnt -n -o FSTYPE --mountpoint {mount}").strip() == "fuse.ceph-fuse"
        assert lab.host(name).service("avadm-cephfs").is_enabled


@pytest.mark.core("cephfs")
def test_what_one_client_writes_the_next_reads(lab, wanted):
    writer, reader = lab.names("client")[:2]
    path = f"{wanted.all['ceph_client_mount']}/.avadm-test-{writer}"
    lab.sh(writer, f"echo from-{writer} > {path}")
    try:
        assert lab.sh(reader, f"cat {path}") == f"from-{writer}\n"
    finally:
        lab.sh(writer, f"rm -f {path}")


@pytest.mark.core("rbd")
def test_an_image_has_an_exclusive_lock_and_works_with_the_clients_key_alone(lab, client):
    image = "rbd/avadm-test-features"
    lab.sh(client, f"rbd --id rbd create {image} --size 16M")
    try:
        info = json.loads(lab.sh(client, f"rbd --id rbd info {image} --format json"))
        assert {"layering", "exclusive-lock"} <= set(info["features"])
        assert info["format"] == 2
        lab.sh(client, f"rbd --id rbd bench --io-type write --io-size 4K --io-total 1M {image}")
    finally:
        lab.sh(client, f"rbd --id rbd rm --no-progress {image}")


@pytest.mark.parametrize(
    "command",
    [
        "rados --id rbd -p cephfs_data ls",
        "rados --id rbd -p cephfs_metadata ls",
        "rados --id cephfs -p rbd ls",
        "rados --id cephfs -p cephfs_metadata ls",
        "ceph --id cephfs auth ls",
        "ceph --id rbd auth ls",
        "ceph --id rbd osd pool create stolen 1",
        "ceph --id cephfs config-key ls",
    ],
)
def test_a_client_can_do_no_more_than_it_needs(lab, client, command):
    done = lab.run(client, f"timeout 60 {command}")
    assert done.returncode not in (0, 124, 127)
    refused = ("not permitted", "EACCES", "EPERM", "access denied")
    assert any(word in done.stderr for word in refused), done.stderr


def test_the_block_clients_key_mounts_no_file_system(lab, client):
    folder = "/run/avadm-test-mount"
    # ceph-fuse does not say that it is refused, it continues asking: so look whether it came to a mount.
    script = (
        f"mkdir -p {folder}; ceph-fuse -f --id rbd {folder} >/dev/null 2>&1 & asks=$!; sleep 10; "
        f"mountpoint -q {folder}; mounted=$?; kill -9 $asks; wait $asks; umount -l {folder} 2>/dev/null; "
        f"rmdir {folder}; exit $mounted"
    )
    done = lab.run(client, script)
    assert done.returncode not in (0, 255)
