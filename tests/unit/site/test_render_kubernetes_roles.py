"""Variables of the roles of the control plane and of nodes, from the site file."""

import base64
import stat
from pathlib import Path

import pytest
import yaml

from avadm.components.etcd import variables as etcd
from avadm.components.masters import variables as masters
from avadm.components.nodes import variables as kube_nodes
from avadm.components.nodes import variables_common
from avadm.pki import store as pki
from avadm.site import profile as profiles
from avadm.site.model import Hardware
from tests.unit.fakes import sites
from tests.unit.fakes.sites import node, render

NODES = [
    node("m1", 11, "etcd", "master"),
    node("m2", 12, "etcd", "master"),
    node("m3", 13, "etcd", "master", rack="r2"),
    node("w1", 21, "worker", "gpu", gpus={"count": 4, "model": "tesla-v100"}),
]
SERVERS = (etcd, masters, kube_nodes)


def site(components=None, **network):
    return sites.site(*NODES, network=network, components=components or {})


@pytest.fixture
def keys():
    return sites.keys(site())


@pytest.fixture
def store(keys, tmp_path):
    return sites.issued(site(), tmp_path, keys)


@pytest.fixture
def out(store):
    return render(site(), *SERVERS, store=store)


def test_nodes_ask_the_virtual_address_and_masters_their_own(out):
    assert out.all["kube_node_server"] == out.all["calico_server"] == "https://10.0.0.250:6443"
    for role in ("kube_controllers", "kube_admission"):
        assert out.hosts["m2"][f"{role}_server"] == "https://10.0.0.12:6443"
    assert out.all["kube_vip_servers"] == {"m1": "10.0.0.11", "m2": "10.0.0.12", "m3": "10.0.0.13"}


def test_an_api_server_asks_the_member_of_its_own_node_and_all_where_there_is_none(out, store):
    assert out.hosts["m2"]["kube_apiserver_etcd_servers"] == ["https://10.0.0.12:2379"]
    apart = site()
    apart.nodes[0].roles.remove("etcd")
    again = render(apart, masters, store=store)
    assert again.hosts["m1"]["kube_apiserver_etcd_servers"] == [f"https://10.0.0.1{i}:2379" for i in (2, 3)]
    assert again.hosts["m3"]["kube_apiserver_etcd_servers"] == ["https://10.0.0.13:2379"]


def test_admission_knows_the_names_that_no_tenant_may_have(store):
    nodes = [*NODES, node("in1", 31, "ingress")]
    plain = render(sites.site(*nodes), masters, store=store)
    assert plain.all["kube_admission_hosts"] == [
        "in1.demo.test",
        "objects.demo.test",
        "registry.demo.test",
        "ssh.demo.test",
    ]
    assert plain.all["kube_admission_platform"] == {}
    report = render(sites.site(*nodes, components={"ava": {}}), masters, store=store).all
    names = {f"{name}.demo.test" for name in ("ava", "wb", "services")}
    assert set(report["kube_admission_hosts"]) - set(plain.all["kube_admission_hosts"]) == names
    assert report["kube_admission_platform"] == {
        "user": "system:serviceaccount:ava-system:operator",
        "domain": "services.demo.test",
    }


def test_masters_take_no_pods_of_users(out):
    assert out.hosts["m1"]["kube_node_taints"] == ["node-role.kubernetes.io/master=:NoSchedule"]
    assert out.hosts["w1"]["kube_node_taints"] == []


def test_labels(out):
    assert out.hosts["w1"]["kube_node_labels"] == {
        "node-role.kubernetes.io/worker": "",
        "avadm.io/rack": "rack1",
        "avadm.io/pool": "gpu",
        "avadm.io/gpu-model": "tesla-v100",
        "ava.io/gpu-model": "tesla-v100",
        "avadm.io/gpu-driver": "396",
    }
    assert out.hosts["m3"]["kube_node_labels"]["avadm.io/rack"] == "r2"


def test_nodes_that_share_their_gpus_say_so_to_kubelet_to_both_schedulers_and_are_a_pool_of_their_own(store):
    shared = node("w1", 21, "worker", "gpu", gpus={"count": 4, "model": "tesla-v100", "slots": 4})
    one = sites.site(*NODES[:3], shared, network={}, components={})
    rendered = render(one, kube_nodes, store=store).hosts["w1"]["kube_node_labels"]
    assert (rendered["avadm.io/pool"], rendered["ava.io/gpu-slots"]) == ("gpu-shared", "4")
    assert render(one, variables_common, store=store).hosts["w1"]["gpu_device_plugin_slots"] == 4


def test_labels_of_the_driver_and_of_the_links_speed_are_what_was_looked_for():
    one = site()
    one.hardware["worker"] = Hardware(nic_gbit=2.5)
    worker, master = one.node("w1"), one.node("m1")
    of_profile = kube_nodes.labels(worker, site(), profiles.load("stated"))
    assert of_profile["avadm.io/gpu-driver"] == "396.44"
    assert of_profile["avadm.io/nic-gbit"] == "10", "GPU nodes have 10 GbE (P6)"
    assert kube_nodes.labels(worker, one, profiles.load("lab-bookworm"))["avadm.io/nic-gbit"] == "2.5"
    bare = kube_nodes.labels(master, one, profiles.load("stated"))
    assert not {"avadm.io/nic-gbit", "avadm.io/gpu-driver"} & set(bare)


def test_gpu_nodes_are_tainted_only_where_the_site_asks_for_it():
    one = site()
    assert kube_nodes.taints(one.node("w1"), one) == []
    one = site({"kubernetes": {"gpu_taint": True}})
    assert kube_nodes.taints(one.node("w1"), one) == ["nvidia.com/gpu=:NoSchedule"]
    assert kube_nodes.taints(one.node("m1"), one) == ["node-role.kubernetes.io/master=:NoSchedule"]


def test_reservations_are_as_kubelet_writes_them(out):
    assert out.all["kube_node_system_reserved"] == {"cpu": "500m", "memory": "1024Mi"}
    assert out.all["kube_node_eviction"]["nodefs.available"] == "10%"
    assert out.all["kube_node_image_gc_percent"] == 85


def test_only_masters_run_calicos_controllers(out):
    assert [n for n in out.hosts if out.hosts[n].get("calico_controllers")] == ["m1", "m2", "m3"]
    assert "calico_controllers_key" not in out.hosts["w1"]


def test_no_private_key_is_in_the_inventory(out, keys):
    text = yaml.safe_dump([out.all, out.hosts])
    assert [name for name, value in keys.items() if value in text] == []
    assert "{{ vault_pki_key_node_w1 }}" in out.hosts["w1"]["kube_node_key"]


def test_the_controllers_kubeconfig_is_whole_and_its_owners_alone(store, keys):
    masters.keep_files(site(), store, keys)
    path = store.path.with_name("demo.kubeconfig")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    config = yaml.safe_load(path.read_text())
    assert config["clusters"][0]["cluster"]["server"] == "https://10.0.0.250:6443"
    user = {k: base64.b64decode(v).decode() for k, v in config["users"][0]["user"].items()}
    assert user["client-certificate-data"] == store.leaf("admin")
    assert keys["vault_pki_key_admin"] in user["client-key-data"]
    before = path.stat().st_mtime_ns
    masters.keep_files(site(), store, keys)
    assert path.stat().st_mtime_ns == before, "what is right is left alone"
    path.chmod(0o644)
    masters.keep_files(site(), store, keys)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_site_without_masters_has_none_of_it():
    out = render(sites.site(node("a", 1)), *SERVERS, store=pki.KeyStore(Path("none")))
    assert (out.all, out.hosts, out.secrets) == ({}, {}, {})


def test_routes_of_one_segment_and_of_routed_racks_with_switches(out, store):
    plain = {k: out.all[f"calico_{k}"] for k in ("ipip", "mtu", "mesh", "peers", "as_number")}
    assert plain == {"ipip": "Never", "mtu": 1500, "mesh": True, "peers": [], "as_number": 64512}
    assert out.hosts["w1"]["calico_address"] == "10.0.0.21/24"
    tor = {"address": "10.0.0.1", "as_number": 65001}
    routed = site(
        rack_prefix=28,
        ipip="cross_subnet",
        tunnels="10.250.0.0/24",
        route_reflectors=["m1"],
        bgp={"peers": [{**tor, "nodes": ["m1"], "racks": ["r2"]}, {**tor, "address": "10.0.0.2"}]},
    )
    again = render(routed, kube_nodes, profile="stated", store=store)
    assert again.hosts["w1"]["calico_address"] == "10.0.0.21/28"
    assert (again.all["calico_ipip"], again.all["calico_mtu"]) == ("CrossSubnet", 1480)
    assert (out.all["calico_tunnels"], again.all["calico_tunnels"]) == ("", "10.250.0.0/24")
    assert again.all["calico_mesh"] is False
    assert again.all["calico_peers"] == [
        {**tor, "node": "m1"},
        {**tor, "node": "m3"},
        {"address": "10.0.0.2", "as_number": 65001, "node": ""},
    ]
