"""What data sets from elsewhere need of the platform's pods: no more rights, ways and volumes than a site's sources want."""

import pytest
import yaml
from pydantic import ValidationError

from avadm.site.ava import Ava
from tests.unit.site.test_render_ava import objects, rendered, site

SHARED = {"ava_mount": "/mnt/cephfs"}


def config(found, name, key):
    return yaml.safe_load(found[f"ConfigMap {name}"]["data"][key])


def test_a_site_without_such_sources_has_neither_their_rights_nor_their_volumes(tmp_path):
    none = {"ava_snapshots": False, "ava_nfs_servers": [], "ava_cache_masters": []}
    base = objects(tmp_path, "base.yml.j2", **SHARED, **none)
    runs = base["PodSecurityPolicy ava-runs"]["spec"]
    assert "flexVolume" not in runs["volumes"] and "allowedFlexVolumes" not in runs
    assert base["NetworkPolicy storage"]["spec"]["policyTypes"] == ["Ingress"]
    assert (config(base, "ava", "api.yml")["snapshots"], config(base, "ava", "api.yml")["nfs_servers"]) == (
        False,
        [],
    )
    storage = objects(tmp_path, "storage.yml.j2", **SHARED, **none)
    assert len(storage["Role storage"]["rules"]) == 1


def test_the_storage_may_ask_for_volumes_in_its_own_namespace_and_for_nothing_else_of_them(tmp_path):
    more = {"ava_snapshots": True, "ava_nfs_servers": ["nfs.test"], "ava_cache_masters": ["10.0.0.31"]}
    more["ava_hdfs_stores"] = ["hdfs"]
    storage = objects(tmp_path, "storage.yml.j2", **SHARED, **more)
    role = storage["Role storage"]
    assert role["metadata"]["namespace"] == "ava-system"
    rules = {tuple(rule["resources"]): sorted(rule["verbs"]) for rule in role["rules"]}
    assert rules == {
        ("podsecuritypolicies",): ["use"],
        ("persistentvolumeclaims",): ["create", "delete", "get"],
        ("events",): ["list"],
    }
    assert not [kind for kind in storage if kind.startswith("ClusterRole")]
    told = config(storage, "storage", "storage.yml")
    assert (told["snapshots"], told["cache_masters"]) == (True, ["http://10.0.0.31:19999"])
    base = objects(tmp_path, "base.yml.j2", **SHARED, **more)
    runs = base["PodSecurityPolicy ava-runs"]["spec"]
    assert "flexVolume" in runs["volumes"]
    assert runs["allowedFlexVolumes"] == [{"driver": "avadm/volume"}]
    way = base["NetworkPolicy storage"]["spec"]["egress"]
    assert way == [
        {
            "to": [{"ipBlock": {"cidr": "10.0.0.31/32"}}],
            "ports": [{"protocol": "TCP", "port": 19999}],
        }
    ]
    told = config(base, "ava", "api.yml")
    assert (told["nfs_servers"], told["hdfs_stores"]) == (["nfs.test"], ["hdfs"])


def test_the_site_file_says_which_servers(tmp_path):
    assert rendered(tmp_path).all["ava_nfs_servers"] == []
    assert Ava(nfs_servers=["nfs.test", "10.0.0.9"]).nfs_servers == ["nfs.test", "10.0.0.9"]


def test_each_hdfs_is_known_by_the_folder_of_the_cache_where_workers_see_it(tmp_path):
    assert rendered(tmp_path).all["ava_hdfs_stores"] == []
    mounts = [{"path": "/a", "cephfs": "/data"}, {"path": "/big", "hdfs": {"namenodes": ["nn1.test"]}}]
    for fuse in (True, False):
        cached = site(alluxio={"mounts": mounts, "fuse": fuse})
        cached.node("w1").roles.append("alluxio_worker")
        assert rendered(tmp_path, cached).all["ava_hdfs_stores"] == (["big"] if fuse else [])


@pytest.mark.parametrize(
    "server",
    ["localhost", "a.localhost", "127.0.0.1", "169.254.1.1", "0.0.0.0", "-o", "a b", "a:/b", "A.test", ""],  # noqa: S104
)
def test_a_node_itself_and_what_is_no_name_are_no_servers(server):
    with pytest.raises(ValidationError):
        Ava(nfs_servers=[server])
