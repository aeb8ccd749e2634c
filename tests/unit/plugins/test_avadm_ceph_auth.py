"""avadm_ceph_auth: only what differs is imported, and keys never pass as arguments."""

import avadm_ceph_auth
from fake_ceph import FakeCeph

MDS = {"entity": "mds.a", "key": "AAA=", "caps": {"mon": "allow profile mds", "mds": "allow *"}}
RBD = {"entity": "client.rbd", "key": "BBB=", "caps": {"mon": "profile rbd"}}


def cluster(*entities):
    return FakeCeph({"auth ls": {"auth_dump": list(entities)}})


def test_nothing_is_done_when_all_are_right():
    ceph = cluster(MDS, RBD)
    assert avadm_ceph_auth.ensure(ceph, [MDS, RBD]) == []
    assert ceph.done == []


def test_missing_and_different_ones_are_imported_in_one_call():
    ceph = cluster({**MDS, "caps": {"mon": "allow *"}}, {**RBD, "entity": "client.other"})
    assert avadm_ceph_auth.ensure(ceph, [MDS, RBD]) == ["mds.a", "client.rbd"]
    assert ceph.done == ["auth import -i /dev/stdin"]


def test_a_changed_key_is_imported():
    assert avadm_ceph_auth.ensure(cluster({**RBD, "key": "OLD="}), [RBD]) == ["client.rbd"]


def test_keys_go_through_standard_input():
    ceph = cluster()
    avadm_ceph_auth.ensure(ceph, [MDS])
    assert "AAA=" not in ceph.done[0]
    assert ceph.stdin == ['[mds.a]\n\tkey = AAA=\n\tcaps mds = "allow *"\n\tcaps mon = "allow profile mds"\n']


def test_a_dry_run_changes_nothing():
    ceph = cluster()
    assert avadm_ceph_auth.ensure(ceph, [RBD], check_mode=True) == ["client.rbd"]
    assert ceph.done == []
