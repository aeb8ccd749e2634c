from ipaddress import IPv4Network

import pytest
from pydantic import ValidationError

from avadm.errors import AvadmError
from avadm_lab.layout import MIB, Config, nodes, parse_size
from tests.unit.fakes.errors import refused


def test_default_lab_has_storage_a_master_and_three_compute_nodes():
    by_name = {n.name: n for n in nodes(Config())}
    assert list(by_name) == ["stor1", "stor2", "stor3", "mast1", "comp1", "comp2", "comp3"]
    assert by_name["stor1"].roles == ("mon", "mgr", "osd", "mds")
    assert by_name["mast1"].roles == ("etcd", "master")
    assert [len(n.disks) for n in by_name.values()] == [2, 2, 2, 0, 0, 0, 0]
    assert {n.rack for n in by_name.values()} == {"r1", "r2", "r3"}


def test_compute_nodes_are_workers_and_two_have_gpus():
    by_name = {n.name: n for n in nodes(Config())}
    assert set(by_name["comp1"].roles) >= {"client", "worker", "dns", "ingress", "registry"}
    assert set(by_name["comp2"].roles) >= {"client", "worker", "ingress", "gpu"}
    assert {name: n.gpus for name, n in by_name.items() if n.gpus} == {"comp2": 4, "comp3": 4}


def test_a_lab_without_masters_has_nothing_of_kubernetes():
    made = nodes(Config(masters=0))
    assert [n.name for n in made] == ["stor1", "stor2", "stor3", "comp1", "comp2", "comp3"]
    assert not any(n.kubernetes or n.gpus or {"ingress", "dns", "registry"} & set(n.roles) for n in made)


def test_a_lab_without_storage_nodes_has_nothing_of_ceph():
    made = nodes(Config(storage=0, masters=3, compute=2))
    assert [n.name for n in made] == ["mast1", "mast2", "mast3", "comp1", "comp2"]
    assert not any({"mon", "mgr", "osd", "mds", "client"} & set(n.roles) or n.disks for n in made)


@pytest.mark.parametrize("masters", [2, 4, -1, 6])
def test_number_of_masters_is_odd_and_at_most_five(masters):
    with pytest.raises(ValidationError):
        Config(masters=masters)


def test_two_prometheus_and_three_alertmanagers():
    made = nodes(Config())
    assert [n.name for n in made if "prometheus" in n.roles] == ["comp1", "comp2"]
    assert [n.name for n in made if "alertmanager" in n.roles] == ["comp1", "comp2", "comp3"]


@pytest.mark.parametrize(("storage", "mons"), [(1, 1), (2, 1), (3, 3), (4, 3), (9, 3)])
def test_mon_count_is_odd(storage, mons):
    assert sum("mon" in n.roles for n in nodes(Config(storage=storage))) == mons


def test_more_nodes_move_no_address_and_no_serial():
    few = {n.name: n for n in nodes(Config())}
    many = {n.name: n for n in nodes(Config(storage=9, compute=20, masters=5))}
    assert all(many[name].address == few[name].address for name in few)
    assert all(many[name].disks == few[name].disks for name in few)


def test_addresses_and_serials_are_unique():
    config = Config(storage=40, compute=40, masters=5, disks=12)
    made = nodes(config)
    assert len({n.address for n in made} | {config.api_vip, config.ingress_vip, config.gateway}) == 88
    assert len({d.serial for n in made for d in n.disks}) == 480


def test_disk_names():
    disk = nodes(Config())[0].disks[1]
    assert (disk.serial, disk.by_id) == ("LAB-stor1-c", "/dev/disk/by-id/scsi-AVADM_LAB-stor1-c")


@pytest.mark.parametrize("subnet", ["10.0.0.0/25", "10.0.0.0/30", "10.0.0.0/8"])
def test_subnet_of_the_wrong_size_is_reported(subnet):
    assert refused(nodes, Config(subnet=IPv4Network(subnet)))[0].check == "lab-subnet"


@pytest.mark.parametrize("name", ["", "Lab", "a" * 10, "-a", "a-", "a_b", "1a"])
def test_name_must_fit_a_bridge_and_a_host_name(name):
    with pytest.raises(ValidationError):
        Config(name=name)


@pytest.mark.parametrize(
    ("text", "mib"), [("10G", 10240), ("10GiB", 10240), ("1.5g", 1536), ("512M", 512), ("1T", 1024 * 1024)]
)
def test_sizes(text, mib):
    assert parse_size(text) == mib * MIB


@pytest.mark.parametrize("text", ["", "10", "G", "-1G", "10K", "1e3M"])
def test_what_is_no_size(text):
    with pytest.raises(AvadmError):
        parse_size(text)
