"""What ceph reports, read alike from replies of 14.2, 16.2 and 18.2.

The replies are written from ceph's documentation and sources (src/mds/MDSMap.cc, src/mon/MonMap.cc, src/mon/Session.h), cut to
the keys that matter and to those in which the releases differ.
"""

import pytest

from avadm.cluster import ceph_release as module
from avadm.cluster.kinds_filesystem import NoStandbyReplay, OneRank
from avadm.cluster.settings import KINDS
from avadm.errors import AvadmError


class Ceph:
    """A cluster whose replies are given."""

    def __init__(self, **replies):
        self.replies, self.done = replies, []

    def ceph(self, *words):
        if words[:2] == ("fs", "set"):
            self.done.append(words[2:])
            return None
        return self.replies["_".join(words).replace("-", "_")]


def mds(name, rank, state):
    return {"gid": 4100 + rank, "name": name, "rank": rank, "state": state, "flags": 0}


def file_system(flags, max_mds, *servers, **more):
    ranks = sorted({m["rank"] for m in servers if m["state"] == "up:active"})
    return {
        "fs_name": "cephfs",
        "max_mds": max_mds,
        "flags": flags,
        "in": ranks,
        "info": {f"gid_{m['gid']}{m['name']}": m for m in servers},
        **more,
    }


STATES = {"joinable": True, "allow_snaps": True, "allow_multimds_snaps": True, "allow_standby_replay": True}
DUMPS = {
    # 14.2 and 16.2 have the flags as a number alone; 17.2 and later spell them out as well.
    "16.2": file_system(
        50, 2, mds("a", 0, "up:active"), mds("b", 1, "up:active"), mds("c", 0, "up:standby-replay")
    ),
    "18.2": file_system(
        50,
        2,
        mds("a", 0, "up:active"),
        mds("b", 1, "up:active"),
        mds("c", 0, "up:standby-replay"),
        flags_state=STATES,
        max_xattr_size=65536,
        bal_rank_mask="-1",
    ),
}


@pytest.mark.parametrize("release", DUMPS)
def test_file_systems_are_read_alike(release):
    [fs] = module.file_systems(
        Ceph(fs_dump={"filesystems": [{"id": 1, "mdsmap": DUMPS[release]}], "standbys": []})
    )
    assert (fs.name, fs.max_mds, fs.inside, dict(fs.ranks)) == ("cephfs", 2, 2, {0: "a", 1: "b"})
    assert (fs.followers, fs.standby_replay) == ({"c"}, True)


def test_a_site_without_file_systems_has_none():
    assert module.file_systems(Ceph(fs_dump={"filesystems": [], "standbys": []})) == []


@pytest.mark.parametrize(
    "clients",
    [
        [{"features": "0x27018fb86aa42ada", "release": "jewel", "num": 2}, {"release": "luminous", "num": 5}],
        {"group": {"features": "0x27018fb86aa42ada", "release": "jewel", "num": 2}},
    ],
)
def test_old_clients_are_counted_in_lists_and_in_groups_of_older_releases(clients):
    assert module.clients_before(Ceph(features={"mon": [], "client": clients}), 12) == {"jewel": 2}


def test_no_connected_client_is_no_old_one():
    assert module.clients_before(Ceph(features={"mon": []}), 12) == {}


def test_muted_checks_are_left_out_and_14_knows_no_muting():
    checks = {
        "OSD_DOWN": {"severity": "HEALTH_WARN", "summary": {"message": "1 osds down"}},
        "PG_DAMAGED": {"severity": "HEALTH_ERR", "summary": {"message": "x", "count": 1}, "muted": False},
        "RECENT_CRASH": {"severity": "HEALTH_WARN", "summary": {"message": "y"}, "muted": True},
    }
    found = module.health_checks(Ceph(health_detail={"status": "HEALTH_ERR", "checks": checks, "mutes": []}))
    assert [(one.code, one.error) for one in found] == [("OSD_DOWN", False), ("PG_DAMAGED", True)]


def test_monitors_that_do_not_listen_for_messenger_v2_are_named():
    def mon(name, *kinds):
        return {"name": name, "public_addrs": {"addrvec": [{"type": kind} for kind in kinds]}}

    dump = {
        "min_mon_release": 14,
        "min_mon_release_name": "nautilus",
        "mons": [mon("a", "v2", "v1"), mon("b", "v1")],
    }
    assert module.without_messenger_v2(Ceph(mon_dump=dump)) == ["b"]
    assert module.monitors_release(Ceph(mon_dump=dump)) == 14


@pytest.mark.parametrize(
    ("dump", "found"),
    [
        ({"available": True, "active_name": "a", "standbys": [{"name": "b"}]}, ("a", {"b"})),
        ({"available": False, "active_name": "", "standbys": []}, ("", set())),
        ({"available": False, "active_name": "a"}, ("", set())),
    ],
)
def test_the_active_manager_is_one_that_serves(dump, found):
    assert module.managers(Ceph(mgr_dump=dump)) == found


@pytest.mark.parametrize("reply", [None, [], {}, {"filesystems": [{"mdsmap": {"fs_name": "x"}}]}, "no"])
def test_a_reply_of_another_shape_is_an_error_never_good(reply):
    for ask in (
        module.file_systems,
        module.health_checks,
        module.required_osd_release,
        module.monitors_release,
    ):
        name = {
            "file_systems": "fs_dump",
            "health_checks": "health_detail",
            "required_osd_release": "osd_dump",
            "monitors_release": "mon_dump",
        }[ask.__name__]
        if ask is module.file_systems and reply == {}:
            continue  # a cluster without file systems
        with pytest.raises(AvadmError):
            ask(Ceph(**{name: reply}))


def test_releases_have_names_and_numbers():
    assert (module.major_of("reef"), module.RELEASES[18], module.major_of("tentacle")) == (18, "reef", 0)


def dump(max_mds, flags=18):
    return Ceph(fs_dump={"filesystems": [{"mdsmap": file_system(flags, max_mds, mds("a", 0, "up:active"))}]})


def test_one_rank_is_set_and_the_former_number_comes_back_from_the_record_alone():
    several = dump(3)
    setting = KINDS["max-mds"]("cephfs=3")
    assert not setting.held(several)
    setting.set(several)
    assert several.done == [("cephfs", "max_mds", "1")]
    one = dump(1)
    setting.unset(one)
    assert one.done == [("cephfs", "max_mds", "3")]


def test_a_number_that_was_set_meanwhile_stays():
    other = dump(2)
    OneRank("cephfs=3").unset(other)
    assert other.done == []


def test_followers_are_allowed_again_unless_they_are():
    without, allowed = dump(1), dump(1, flags=18 + 32)
    NoStandbyReplay("cephfs").unset(without)
    NoStandbyReplay("cephfs").unset(allowed)
    assert without.done == [("cephfs", "allow_standby_replay", "true")]
    assert allowed.done == []


@pytest.mark.parametrize("setting", [OneRank("gone=2"), NoStandbyReplay("gone")])
def test_of_a_file_system_that_is_gone_nothing_is_undone(setting):
    cluster = dump(1)
    setting.unset(cluster)
    assert cluster.done == []
