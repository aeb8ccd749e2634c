"""Variables of the role of volumes, and which nodes make volumes."""

from pathlib import Path

import pytest
import yaml

from avadm.components import certificates
from avadm.components.catalog import PHASES
from avadm.components.volumes import variables as volumes
from avadm.pki import store as pki
from avadm.site import placement as places
from tests.unit.fakes import sites
from tests.unit.fakes.sites import node

PHASE = next(p for p in PHASES if p.name == "volumes")


def site(master=True, local=0, knobs=None, **ceph):
    """Return a site with five workers, of which the last ones have local volumes and the second no mount."""
    nodes = [node("s1", 9, "mon", "mgr", "osd")]
    nodes += [node("m1", 11, "etcd", "master")] if master else []
    for i in range(1, 6):
        own = {"local_volumes_gib": 100} if i > 5 - local else {}
        nodes.append(node(f"w{i}", 20 + i, *(["worker"] if i == 2 else ["client", "worker"]), **own))
    return sites.site(*nodes, components={"ceph": ceph, "kubernetes": knobs or {}})


def rendered(one, tmp_path, profile="lab-bookworm", keys=None):
    return sites.render(one, volumes, profile=profile, store=sites.issued(one, tmp_path, keys))


def test_three_nodes_that_have_the_mount_and_pods_make_volumes_each_in_its_turn(tmp_path):
    one = site()
    keys = sites.keys(one)
    out = rendered(one, tmp_path, keys=keys)
    turns = {name: own["kube_volumes_turn"] for name, own in out.hosts.items() if "kube_volumes_turn" in own}
    assert turns == {"w1": 0, "w3": 1, "w4": 2}
    assert [n.name for n in places.provisioners(one)] == list(turns)
    for own in (out.hosts[name] for name in turns):
        assert own["kube_volumes_provisioner_certificate"] and own["kube_volumes_key"]
    assert out.all["kube_volumes_entity"] == "client.cephfs-volumes"
    assert list(out.secrets) == ["vault_ceph_key_client_cephfs_volumes"]
    text = yaml.safe_dump([out.all, out.hosts])
    assert [name for name, value in keys.items() if value in text] == []


def test_each_node_makes_volumes_as_a_user_of_its_own_and_those_of_the_site_as_another():
    users = {leaf.name: (leaf.user, leaf.group, leaf.owner) for leaf in certificates.leaves(site(local=2))}
    assert users["volumes-w5"] == ("avadm:volumes:w5", "avadm:volumes", "volumes-w5")
    assert users["volumes-w4"] == ("avadm:volumes:w4", "avadm:volumes", "volumes-w4")
    assert users["provisioner-w4"] == ("avadm:provisioner:w4", "avadm:provisioners", "volumes-w4")
    makers = {user for user, group, _ in users.values() if group in ("avadm:volumes", "avadm:provisioners")}
    assert len(makers) == 5
    assert not {"volumes-w1", "provisioner-w5"} & set(users)
    assert "volumes" not in {user for user, *_ in users.values()}


def test_nodes_with_local_volumes_make_their_own_and_three_of_them_tell(tmp_path):
    out = rendered(site(local=4), tmp_path)
    own = {name: v for name, v in out.hosts.items() if "kube_volumes_local_gib" in v}
    tells = {name: v["kube_volumes_local_tells"] for name, v in own.items()}
    assert tells == {"w2": True, "w3": True, "w4": True, "w5": False}
    assert all(v["kube_volumes_certificate"] for v in own.values())
    assert out.all["kube_volumes_local"] is True
    assert rendered(site(), tmp_path).all["kube_volumes_local"] is False


@pytest.mark.parametrize(("profile", "mapper"), [("stated", "krbd"), ("lab-bookworm", "rbd-fuse")])
def test_the_profile_says_how_images_are_mapped_and_the_site_where_they_are(tmp_path, profile, mapper):
    pools = [{"name": "rbd"}, {"name": "fast"}]
    rbd = rendered(site(rbd_pools=pools), tmp_path, profile).all["kube_volumes_rbd"]
    assert rbd == {"pool": "rbd", "entity": "client.rbd", "mapper": mapper}
    chosen = {"rbd_pool": "fast", "default_class": "rbd"}
    out = rendered(site(rbd_pools=pools, knobs=chosen), tmp_path, profile)
    assert out.all["kube_volumes_rbd"]["entity"] == "client.rbd-fast"
    assert out.all["kube_volumes_default"] == "rbd"
    assert rendered(site(rbd_pools=[]), tmp_path, profile).all["kube_volumes_rbd"] == {}


@pytest.mark.parametrize("lacks", [{"master": False}, {"filesystem": None}], ids=str)
def test_a_site_without_masters_or_file_system_has_no_volumes(lacks):
    one = site(**lacks)
    out = sites.render(one, volumes, store=pki.KeyStore(Path("none")))
    assert (out.all, out.secrets) == ({}, {})
    assert PHASE.hosts(one) == ()


def test_monitors_masters_and_clients_take_part():
    assert PHASE.hosts(site()) == ("s1", "m1", "w1", "w3", "w4", "w5")


@pytest.mark.parametrize(
    ("has", "wanted"),
    [
        ({"local": 1, "rbd_pools": [{"name": "rbd"}]}, ["cephfs", "rbd", "local"]),
        ({"rbd_pools": []}, ["cephfs"]),
        ({"local": 1, "filesystem": None}, []),
        ({"master": False}, []),
    ],
    ids=["all", "cephfs alone", "no file system", "no master"],
)
def test_a_site_has_the_storage_classes_that_it_has_means_for(has, wanted):
    assert volumes.classes(site(**has)) == wanted
