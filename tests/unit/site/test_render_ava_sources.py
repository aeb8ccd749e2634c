"""What data sets from elsewhere need of the platform's pods: no more rights, ways and volumes than a site's sources want."""

import pytest
import yaml
from pydantic import ValidationError

from avadm.components.ava.options import Ava
from avadm.components.masters import variables as masters
from tests.unit.fakes import sites
from tests.unit.fakes.roles import given, value
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
    assert not [name for name in storage if "cache-" in name]


def test_the_storage_may_ask_for_volumes_in_its_own_namespace_and_for_nothing_else_of_them(tmp_path):
    addresses = ["10.0.0.31", "10.0.0.32"]
    more = {"ava_snapshots": True, "ava_nfs_servers": ["nfs.test"], "ava_cache_masters": addresses}
    more["ava_hdfs_stores"] = ["hdfs"]
    storage = objects(tmp_path, "storage.yml.j2", **SHARED, **more)
    role = storage["Role storage"]
    assert role["metadata"]["namespace"] == "ava-system"
    rules = {tuple(rule["resources"]): sorted(rule["verbs"]) for rule in role["rules"]}
    assert rules == {
        ("podsecuritypolicies",): ["use"],
        ("persistentvolumeclaims",): ["create", "delete", "get"],
        ("events",): ["list"],
        ("services/proxy",): ["get"],
    }
    assert role["rules"][-1]["resourceNames"] == ["cache-0", "cache-1"]
    assert not [kind for kind in storage if kind.startswith("ClusterRole")]
    report = config(storage, "storage", "storage.yml")
    assert (report["snapshots"], report["cache_services"]) == (True, ["cache-0", "cache-1"])
    for number, master in enumerate(addresses):
        service, endpoints = (storage[f"{kind} cache-{number}"] for kind in ("Service", "Endpoints"))
        # No selector: pods could be its endpoints. No address: nothing forwards to it but the API server.
        assert service["spec"] == {"clusterIP": "None", "ports": [{"protocol": "TCP", "port": 19999}]}
        port = {"protocol": "TCP", "port": 19999}
        assert endpoints["subsets"] == [{"addresses": [{"ip": master}], "ports": [port]}]
    base = objects(tmp_path, "base.yml.j2", **SHARED, **more)
    runs = base["PodSecurityPolicy ava-runs"]["spec"]
    assert "flexVolume" in runs["volumes"]
    assert runs["allowedFlexVolumes"] == [{"driver": "avadm/volume"}]
    assert base["NetworkPolicy storage"]["spec"]["policyTypes"] == ["Ingress"]
    assert "19999" not in str(base)
    report = config(base, "ava", "api.yml")
    assert (report["nfs_servers"], report["hdfs_stores"]) == (["nfs.test"], ["hdfs"])


@pytest.mark.parametrize(("cache", "platform"), [(True, True), (False, True), (True, False)])
def test_api_servers_forward_to_what_is_no_pod_where_the_platform_has_a_cache_alone(
    tmp_path, cache, platform
):
    of = site(alluxio={"mounts": [{"path": "/a", "cephfs": "/data"}]}, ava={} if platform else None)
    of.node("w1").roles.extend(["alluxio_master", "alluxio_worker"] if cache else [])
    out = sites.render(of, masters, store=sites.issued(of, tmp_path))
    have = given("kube_common") | given("kube_apiserver")
    have["kube_apiserver_external_endpoints"] = out.all["kube_apiserver_external_endpoints"]
    gates = value("{{ _kube_apiserver_args['feature-gates'] }}", **have).split(",")
    assert ("ServiceProxyAllowExternalIPs=True" in gates) is (cache and platform)
    assert "PodPriority=True" in gates


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
