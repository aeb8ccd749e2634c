"""avadm_ceph_fs: made once, adjusted, never moved to other pools."""

import pytest
from ansible.module_utils.avadm_ceph import CephError
from avadm_ceph_fs import FileSystem
from fake_ceph import FakeCeph

PARAMS = {"name": "cephfs", "metadata_pool": "cephfs_metadata", "data_pool": "cephfs_data"}
PARAMS |= {"max_mds": 1, "standbys": 1}
MAP = {
    "fs_name": "cephfs",
    "max_mds": 1,
    "standby_count_wanted": 1,
    "metadata_pool": 1,
    "data_pools": [2],
    "info": {"gid_1": {"name": "a", "state": "up:active"}},
}
POOLS = [{"poolnum": 1, "poolname": "cephfs_metadata"}, {"poolnum": 2, "poolname": "cephfs_data"}]


def run(*maps, check_mode=False, **params):
    dump = {"filesystems": [{"mdsmap": one} for one in maps]}
    ceph = FakeCeph({"fs dump": dump, "osd lspools": POOLS})
    work = FileSystem(ceph, {**PARAMS, **params}, check_mode)
    work.ensure()
    return ceph, work


def test_nothing_is_done_when_all_is_right():
    ceph, work = run(MAP)
    assert ceph.done == []
    assert work.served() is None
    assert work.active == ["a"]


def test_a_missing_file_system_is_made_of_its_pools():
    ceph, _work = run()
    assert ceph.done[0] == "fs new cephfs cephfs_metadata cephfs_data"


def test_ranks_and_standbys_are_set():
    ceph, _work = run(MAP, max_mds=2, standbys=3)
    assert ceph.done == ["fs set cephfs max_mds 2", "fs set cephfs standby_count_wanted 3"]


def test_other_pools_are_an_error_that_names_both():
    with pytest.raises(CephError, match=r"found metadata cephfs_data.*wanted metadata cephfs_metadata"):
        run({**MAP, "metadata_pool": 2})


def test_what_is_missing_is_named_with_its_state():
    _ceph, work = run({**MAP, "info": {"gid_1": {"name": "a", "state": "up:creating"}}})
    assert work.served() == "0 of 1 ranks of cephfs are active (a up:creating)"


def test_a_dry_run_makes_nothing():
    ceph, work = run(check_mode=True)
    assert ceph.done == []
    assert work.actions[0].startswith("fs new cephfs")
