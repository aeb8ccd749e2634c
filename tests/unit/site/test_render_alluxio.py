"""Variables of the cache's role, which nodes take part, and a site without a cache."""

import json

import pytest
import yaml

from avadm.components.alluxio import placement as cache
from avadm.components.alluxio import variables as alluxio
from avadm.components.catalog import PHASES
from avadm.errors import AvadmError
from avadm.inventory.model import RenderContext, Variables
from avadm.inventory.render import groups
from avadm.pki import store as pki
from avadm.pki.model import Authority
from avadm.plan.graph import make_plan
from avadm.site.load import load
from tests.unit.fakes import sites
from tests.unit.fakes.sites import data, node

PHASE = next(p for p in PHASES if p.name == "cache")
CEPHFS = {"path": "/cephfs", "cephfs": "/data"}
STORE = {"bucket": "sets", "folder": "a/b", "endpoint": "https://s3.demo.test", "secret": "store"}
S3 = {"path": "/s3", "s3": STORE}
HDFS = {"path": "/Big_data", "hdfs": {"namenodes": ["nn1.test", "nn2.test:9000"], "folder": "data/sets"}}
BUCKET = {"path": "/s3", "s3": {"bucket": "sets"}}
OWN = {"users": [{"name": "cache-user"}], "buckets": [{"name": "sets", "owner": "cache-user"}]}
THEIRS = {
    "provider": "external",
    "external": {"endpoint": "https://s3.kodo.test/", "region": "z0"},
    "buckets": [{"name": "sets"}],
}


@pytest.fixture
def site_file(tmp_path):
    """Return a function: load a site with these mounts (none: no cache) and this object store."""

    def made(*mounts, masters=1, objects=None):
        nodes = [
            node("s1", 9, "mon", "mgr", "mds", "osd", *(["rgw"] if objects == OWN else [])),
            node("s2", 8, "osd", devices=[{"serial": "T"}]),
            node("m1", 11, "etcd", "master"),
        ]
        nodes[0]["devices"] = [{"serial": "S"}]
        for i in range(1, 5):
            served = ["alluxio_worker"] if mounts and i in (1, 2) else []
            served += ["alluxio_master"] if mounts and i <= masters else []
            nodes.append(node(f"w{i}", 20 + i, "client", *(["worker"] if i < 4 else []), *served))
        parts = {"alluxio": {"mounts": mounts} if mounts else None, "object_store": objects}
        path = tmp_path / "demo.yml"
        parts = {name: part for name, part in parts.items() if part}
        path.write_text(json.dumps(data(*nodes, profile="lab-bookworm", components=parts)))
        return load(path)

    return made


def render_all(one):
    out = Variables()
    alluxio.render(RenderContext(one, pki.KeyStore.open(one.path)), out)
    return out


def test_a_site_without_a_cache_is_reported_nothing_of_it(site_file):
    one = site_file()
    out = render_all(one)
    assert (out.all, out.hosts, out.secrets) == ({}, {}, {})
    assert "alluxio" not in yaml.safe_dump([sites.rendered(one).all, sites.rendered(one).hosts])
    assert not any("alluxio" in name for name in groups(one.site))
    assert PHASE.hosts(one.site) == ()
    assert "cache" not in [s.name for s in make_plan(one.site)]


def test_each_node_is_reported_its_parts_and_one_master_mounts(site_file):
    one = site_file(CEPHFS, masters=3)
    out = render_all(one)
    parts = {name: " ".join(own["alluxio_parts"]) for name, own in out.hosts.items()}
    every = "master worker client"
    assert parts == {"m1": "client", "w1": every, "w2": every, "w3": "master client"}
    assert [n for n, own in out.hosts.items() if own["alluxio_mounter"]] == ["w1"]
    assert not any(own["alluxio_dedicated"] for own in out.hosts.values())
    assert out.all["alluxio_masters"] == ["10.0.0.21", "10.0.0.22", "10.0.0.23"]
    assert out.all["alluxio_mounts"] == [
        {"path": "/cephfs", "read_only": False, "options": {}, "store": "/mnt/cephfs/data", "folder": True}
    ]
    assert out.all["alluxio_cephfs"] == "/mnt/cephfs"
    assert set(PHASE.hosts(one.site)) == set(out.hosts)
    assert groups(one.site)["alluxio_client"] == ["m1", "w1", "w2", "w3"]


def test_clients_by_role_take_the_place_of_kubernetes_nodes(site_file):
    one = site_file(CEPHFS)
    one.site.node("w4").roles.append("alluxio_client")
    site = one.site
    assert [n.name for n in cache.clients(site)] == ["w4"]
    assert PHASE.hosts(site) == ("w1", "w2", "w4")
    assert groups(site)["alluxio_client"] == ["w4"]


def test_keys_of_a_store_are_read_of_the_vault_and_never_made_up(site_file):
    one = site_file(S3)
    out = render_all(one)
    (mount,) = out.all["alluxio_mounts"]
    assert mount["store"] == "s3://sets/a/b/"
    assert mount["options"]["s3a.secretKey"] == "{{ vault_store_secret_key }}"
    assert mount["options"]["alluxio.underfs.s3.endpoint"] == "https://s3.demo.test"
    assert sorted(out.secrets) == ["vault_store_access_key", "vault_store_secret_key"]
    with pytest.raises(AvadmError) as caught:
        out.secrets["vault_store_secret_key"]()
    assert "ansible-vault edit demo.vault.yml" in caught.value.findings[0].remedy
    assert out.all["alluxio_cephfs"] == ""


def test_the_authority_of_a_store_is_read_beside_the_site_file_or_missed(site_file, tmp_path):
    one = site_file({"path": "/s3", "s3": {**STORE, "ca_file": "s3.pem"}})
    with pytest.raises(AvadmError, match="cannot be read"):
        render_all(one)
    (tmp_path / "s3.pem").write_text("CERT\n")
    assert render_all(one).all["alluxio_authorities"] == ["CERT"]


def test_a_bucket_of_the_sites_own_store_is_reached_with_its_owners_keys_and_the_stores_authority(site_file):
    one = site_file(BUCKET, objects=OWN)
    made = sites.rendered(one)
    (mount,) = made.all["alluxio_mounts"]
    bucket = made.all["ceph_rgw_buckets"][0]
    assert mount["store"] == "s3://sets/"
    options = mount["options"]
    keys = [options["s3a.accessKeyId"], options["s3a.secretKey"]]
    assert keys == [bucket["access_key"], bucket["secret_key"]]
    assert {key.strip("{} ") for key in keys} <= set(made.secrets)
    assert made.all["ceph_rgw_endpoint"] == "https://objects.demo.test:7443"
    assert options["alluxio.underfs.s3.endpoint"] == made.all["ceph_rgw_endpoint"]
    assert options["alluxio.underfs.s3.endpoint.region"] == made.all["ceph_rgw_region"]
    assert made.all["alluxio_authorities"] == [pki.KeyStore.open(one.path).trusted(Authority.OBJECTS)]
    steps = {s.name: s for s in make_plan(one.site)}
    assert "objects" in steps["cache"].needs


def test_a_bucket_of_a_store_that_others_run_has_that_stores_keys_and_a_public_authority(site_file):
    one = site_file(BUCKET, objects=THEIRS)
    out = render_all(one)
    options = out.all["alluxio_mounts"][0]["options"]
    assert options["s3a.secretKey"] == "{{ vault_objects_secret_key }}"
    assert options["alluxio.underfs.s3.endpoint"] == "https://s3.kodo.test"
    assert options["alluxio.underfs.s3.endpoint.region"] == "z0"
    assert out.all["alluxio_authorities"] == []
    assert out.secrets == {}


def test_an_hdfs_is_mounted_read_only_below_a_name_of_its_own_and_the_active_namenode_is_found(site_file):
    out = render_all(site_file(HDFS))
    (mount,) = out.all["alluxio_mounts"]
    assert (mount["store"], mount["read_only"], mount["folder"]) == ("hdfs://big-data/data/sets", True, False)
    assert mount["reach"] == ["nn1.test:8020", "nn2.test:9000"]
    options = mount["options"]
    assert options["dfs.ha.namenodes.big-data"] == "n1,n2"
    assert options["dfs.namenode.rpc-address.big-data.n2"] == "nn2.test:9000"
    assert options["hadoop.security.authentication"] == "simple"
    assert out.all["alluxio_hdfs_user"] == "ava"
    assert out.secrets == {}
    assert render_all(site_file(CEPHFS)).all["alluxio_hdfs_user"] == ""


def test_one_namenode_more_is_the_same_store_and_properties_of_the_site_file_come_before_ours(site_file):
    def mount(**more):
        return render_all(site_file({"path": "/hdfs", "hdfs": more})).all["alluxio_mounts"][0]

    one = mount(namenodes=["nn1.test"], properties={"ipc.client.connect.timeout": "9000"})
    assert one["store"] == mount(namenodes=["nn1.test", "nn2.test"])["store"] == "hdfs://hdfs/"
    assert one["options"]["ipc.client.connect.timeout"] == "9000"


def test_prometheus_reads_masters_and_workers_where_their_metrics_are(site_file):
    made = sites.rendered(site_file(CEPHFS)).all
    targets = made["prometheus_targets"]
    assert [t["targets"] for t in targets["alluxio-master"]] == [["10.0.0.21:19999"]]
    assert [t["targets"] for t in targets["alluxio-worker"]] == [["10.0.0.21:29998"], ["10.0.0.22:29998"]]
    assert made["prometheus_jobs"]["alluxio-worker"]["path"] == "/metrics/prometheus/"
    assert made["prometheus_jobs"]["etcd"]["client"] == "etcd"


def test_release_1_8_is_refused_with_all_that_it_lacks(site_file):
    site = site_file(S3, masters=3).site
    ((what, found, wanted, _),) = alluxio.lacking(site, "1.8.1", {})
    assert "1.8.1" in what
    assert all(words in found for words in ("S3", "FUSE", "ZooKeeper", "recipe"))
    assert wanted == "2.9.6"
    assert alluxio.lacking(site, "2.9.6", {}) == []


def test_java_8_is_refused_where_keys_would_be_arguments(site_file):
    features = {"alluxio_argument_files": False}
    assert alluxio.lacking(site_file(CEPHFS).site, "2.9.6", features) == []
    ((what, _, _, _),) = alluxio.lacking(site_file(S3).site, "2.9.6", features)
    assert "keys" in what
