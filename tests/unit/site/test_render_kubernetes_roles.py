"""What the roles of the control plane and of nodes are told, from the site file."""

import base64
import stat
from pathlib import Path

import pytest
import yaml

from avadm.pki import store as pki
from avadm.render import Vars, etcd, kube_nodes, masters
from avadm.site import profile as profiles
from avadm.site.model import Hardware, Site

NODES = [
    {"name": "m1", "address": "10.0.0.11", "roles": ["etcd", "master"]},
    {"name": "m2", "address": "10.0.0.12", "roles": ["etcd", "master"]},
    {"name": "m3", "address": "10.0.0.13", "roles": ["etcd", "master"], "rack": "r2"},
    {
        "name": "w1",
        "address": "10.0.0.21",
        "roles": ["worker", "gpu"],
        "gpus": {"count": 4, "model": "tesla-v100"},
    },
]


def site(**network: object) -> Site:
    given = {"management": "10.0.0.0/24", "domain": "demo.test", "api_vip": "10.0.0.250", **network}
    return Site.model_validate({"name": "demo", "network": given, "nodes": NODES})


@pytest.fixture
def made(tmp_path: Path) -> tuple[Vars, pki.Store, dict[str, str], Site]:
    one, path = site(), tmp_path / "demo.yml"
    keys = {name: make() for name, make in pki.makers(one).items()}
    pki.issue(pki.Store.open(path), one, keys)
    store, out, profile = pki.Store.open(path), Vars(), profiles.load("lab-bookworm")
    for module in (etcd, masters, kube_nodes):
        module.render(one, profile, store, out)
    return out, store, keys, one


def test_nodes_ask_the_virtual_address_and_masters_their_own(made) -> None:
    out, _, _, _ = made
    assert out.all["kube_node_server"] == out.all["calico_server"] == "https://10.0.0.250:6443"
    for role in ("kube_controllers", "kube_admission"):
        assert out.hosts["m2"][f"{role}_server"] == "https://10.0.0.12:6443"
    assert out.all["kube_vip_servers"] == {"m1": "10.0.0.11", "m2": "10.0.0.12", "m3": "10.0.0.13"}


def test_an_api_server_asks_the_member_of_its_own_node_and_all_where_there_is_none(made, tmp_path) -> None:
    out, store, _, one = made
    assert out.hosts["m2"]["kube_apiserver_etcd_servers"] == ["https://10.0.0.12:2379"]
    apart = one.model_copy(deep=True)
    apart.nodes[0].roles.remove("etcd")
    again = Vars()
    masters.render(apart, profiles.load("lab-bookworm"), store, again)
    assert again.hosts["m1"]["kube_apiserver_etcd_servers"] == [f"https://10.0.0.1{i}:2379" for i in (2, 3)]
    assert again.hosts["m3"]["kube_apiserver_etcd_servers"] == ["https://10.0.0.13:2379"]


def test_masters_take_no_pods_of_users(made) -> None:
    out, _, _, _ = made
    assert out.hosts["m1"]["kube_node_taints"] == ["node-role.kubernetes.io/master=:NoSchedule"]
    assert out.hosts["w1"]["kube_node_taints"] == []


def test_labels(made) -> None:
    out, _, _, _ = made
    assert out.hosts["w1"]["kube_node_labels"] == {
        "node-role.kubernetes.io/worker": "",
        "avadm.io/rack": "rack1",
        "avadm.io/pool": "gpu",
        "avadm.io/gpu-model": "tesla-v100",
        "avadm.io/gpu-driver": "396",
    }
    assert out.hosts["m3"]["kube_node_labels"]["avadm.io/rack"] == "r2"


def test_labels_of_the_driver_and_of_the_links_speed_are_what_was_looked_for() -> None:
    one = site()
    one.hardware["worker"] = Hardware(nic_gbit=2.5)
    worker, master = one.node("w1"), one.node("m1")
    of_profile = kube_nodes.labels(worker, site(), profiles.load("stated"))
    assert of_profile["avadm.io/gpu-driver"] == "396.44"
    assert of_profile["avadm.io/nic-gbit"] == "10", "GPU nodes have 10 GbE (P6)"
    assert kube_nodes.labels(worker, one, profiles.load("lab-bookworm"))["avadm.io/nic-gbit"] == "2.5"
    bare = kube_nodes.labels(master, one, profiles.load("stated"))
    assert not {"avadm.io/nic-gbit", "avadm.io/gpu-driver"} & set(bare)


def test_gpu_nodes_are_tainted_only_where_the_site_asks_for_it() -> None:
    one = site()
    assert kube_nodes.taints(one.node("w1"), one) == []
    one = Site.model_validate({**one.model_dump(), "components": {"kubernetes": {"gpu_taint": True}}})
    assert kube_nodes.taints(one.node("w1"), one) == ["nvidia.com/gpu=:NoSchedule"]
    assert kube_nodes.taints(one.node("m1"), one) == ["node-role.kubernetes.io/master=:NoSchedule"]


def test_reservations_are_as_kubelet_writes_them(made) -> None:
    out, _, _, _ = made
    assert out.all["kube_node_system_reserved"] == {"cpu": "500m", "memory": "1024Mi"}
    assert out.all["kube_node_eviction"]["nodefs.available"] == "10%"


def test_only_masters_run_calicos_controllers(made) -> None:
    out, _, _, _ = made
    assert [n for n in out.hosts if out.hosts[n].get("calico_controllers")] == ["m1", "m2", "m3"]
    assert "calico_controllers_key" not in out.hosts["w1"]


def test_no_private_key_is_in_the_inventory(made) -> None:
    out, _, keys, _ = made
    text = yaml.safe_dump([out.all, out.hosts])
    assert [name for name, value in keys.items() if value in text] == []
    assert "{{ vault_pki_key_node_w1 }}" in out.hosts["w1"]["kube_node_key"]


def test_the_controllers_kubeconfig_is_whole_and_its_owners_alone(made) -> None:
    _, store, keys, one = made
    masters.keep_kubeconfig(one, store, keys)
    path = store.path.with_name("demo.kubeconfig")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    config = yaml.safe_load(path.read_text())
    assert config["clusters"][0]["cluster"]["server"] == "https://10.0.0.250:6443"
    user = {k: base64.b64decode(v).decode() for k, v in config["users"][0]["user"].items()}
    assert user["client-certificate-data"] == store.leaf("admin")
    assert keys["vault_pki_key_admin"] in user["client-key-data"]
    before = path.stat().st_mtime_ns
    masters.keep_kubeconfig(one, store, keys)
    assert path.stat().st_mtime_ns == before, "what is right is left alone"
    path.chmod(0o644)
    masters.keep_kubeconfig(one, store, keys)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_site_without_masters_has_none_of_it() -> None:
    bare = Site.model_validate(
        {
            "name": "demo",
            "network": {"management": "10.0.0.0/24", "domain": "demo.test"},
            "nodes": [{"name": "a", "address": "10.0.0.1"}],
        }
    )
    out = Vars()
    for module in (etcd, masters, kube_nodes):
        module.render(bare, profiles.load("lab-bookworm"), pki.Store(Path("none")), out)
    assert (out.all, out.hosts, out.secrets) == ({}, {}, {})


def test_routes_of_one_segment_and_of_routed_racks_with_switches(made) -> None:
    out, store, _, _ = made
    plain = {k: out.all[f"calico_{k}"] for k in ("ipip", "mtu", "mesh", "peers", "as_number")}
    assert plain == {"ipip": "Never", "mtu": 1500, "mesh": True, "peers": [], "as_number": 64512}
    assert out.hosts["w1"]["calico_address"] == "10.0.0.21/24"
    tor = {"address": "10.0.0.1", "as_number": 65001}
    routed = site(
        rack_prefix=28,
        ipip="cross_subnet",
        route_reflectors=["m1"],
        bgp={"peers": [{**tor, "nodes": ["m1"], "racks": ["r2"]}, {**tor, "address": "10.0.0.2"}]},
    )
    again = Vars()
    kube_nodes.render(routed, profiles.load("stated"), store, again)
    assert again.hosts["w1"]["calico_address"] == "10.0.0.21/28"
    assert (again.all["calico_ipip"], again.all["calico_mtu"]) == ("CrossSubnet", 1480)
    assert again.all["calico_mesh"] is False
    assert again.all["calico_peers"] == [
        {**tor, "node": "m1"},
        {**tor, "node": "m3"},
        {"address": "10.0.0.2", "as_number": 65001, "node": ""},
    ]
