"""What forbids an upgrade of ceph: each by its id, all in one pass, and which of them may be accepted."""

import pytest

from avadm.catalogue import finding
from avadm.operations.upgrade_ceph_refusals import HARMLESS
from avadm.site import profile as profiles
from tests.unit.operations.ceph_room import NEW, OLD, SITE, CephRoom, Killed


@pytest.fixture
def room(tmp_path, monkeypatch):
    monkeypatch.setenv("AVADM_CACHE", str(tmp_path / "cache"))
    (tmp_path / "site.yml").write_text(SITE)
    return CephRoom(tmp_path / "site.yml")


def everywhere(room, version):
    room.ceph.running = dict.fromkeys(room.ceph.running, version)
    room.facts_of = lambda node, found=room.facts_of: type(found(node))(found(node).daemons, version)


def test_a_healthy_cluster_is_not_refused(room):
    assert room.refused() == []


@pytest.mark.parametrize(
    ("version", "codes"),
    [
        ("16.2.15", []),
        ("17.2.7", []),
        ("15.2.17", ["upgrade-skips-release"]),
        ("14.2.21", ["upgrade-skips-release"]),
        ("19.2.0", ["upgrade-downgrade"]),
        ("18.3.0", ["upgrade-downgrade"]),
    ],
)
def test_two_releases_at_once_are_the_most(room, version, codes):
    everywhere(room, version)
    room.ceph.clients = []
    assert room.refused() == codes


def own_profile(room, text):
    (room.path.parent / "ours.yml").write_text(text)
    return "./ours.yml"


@pytest.mark.parametrize(
    ("version", "required", "codes"),
    [
        ("14.2.21", "nautilus", []),
        ("13.2.10", "mimic", ["upgrade-osd-release", "upgrade-skips-release"]),
        ("16.2.15", "nautilus", []),
    ],
)
def test_the_rules_hold_for_14_to_16_too(room, version, required, codes):
    to = own_profile(room, "inherits: lab-bookworm\nversions: {ceph: '16.2.'}\n")
    everywhere(room, version)
    room.ceph.required = required
    assert room.refused(to=to) == codes


def test_a_former_upgrade_that_was_not_finished_is_refused(room):
    room.ceph.required = "octopus"
    assert room.refused() == ["upgrade-osd-release"]


@pytest.mark.parametrize("daemon", ["mon.s2", "osd.3", "mgr.s3", "mds.s1"])
@pytest.mark.parametrize("version", [NEW, "16.2.14"])
def test_mixed_versions_that_no_half_done_upgrade_explains_are_refused(room, daemon, version):
    room.ceph.running[daemon] = version
    assert room.refused() == ["upgrade-mixed-versions"]


def test_mixed_versions_of_a_half_done_upgrade_are_continued(room):
    room.killed_at = "restart mon.s2"
    with pytest.raises(Killed):
        room.run()
    room.reload()
    room.ceph.running["mon.s2"] = ""
    room.ceph.outside.add("s2")
    room.ceph.checks = {"MON_DOWN": ("HEALTH_WARN", "1/3 mons down")}
    assert room.refused() == []


def test_a_daemon_that_does_not_run_is_refused(room):
    room.ceph.running["osd.3"] = ""
    assert room.refused() == ["upgrade-version-unknown"]


@pytest.mark.parametrize(("size", "least"), [(2, 2), (3, 3), (1, 1)])
def test_a_pool_that_stops_with_one_copy_down_is_refused(room, size, least):
    room.ceph.pools.append(("shared", size, least))
    [found] = room.plan().refusals
    assert (found.check, found.where, found.found) == (
        "upgrade-pool-copies",
        "shared",
        f"size {size}, min_size {least}",
    )


def test_hosts_whose_osds_may_not_stop_are_refused(room):
    room.ceph.no = "4 PGs would go inactive"
    assert room.refused() == ["pools-stop"]
    assert {f.where for f in room.plan().refusals} == {"s1", "s2", "s3"}


@pytest.mark.parametrize(
    ("clients", "codes"),
    [
        ([("luminous", 3), ("pacific", 2)], []),
        ([("reef", 3)], []),
        ([("tentacle", 3)], []),
        ([("jewel", 1), ("luminous", 3)], ["upgrade-client-old"]),
        ([("unknown", 1)], ["upgrade-client-old"]),
    ],
)
def test_clients_that_are_too_old_are_refused(room, clients, codes):
    room.ceph.clients = clients
    assert room.refused() == codes


def test_an_osd_that_is_down_is_refused_with_its_warning(room):
    room.ceph.down.add(3)
    room.ceph.checks = {"OSD_DOWN": ("HEALTH_WARN", "1 osds down")}
    assert room.refused() == ["upgrade-ceph-health", "upgrade-osd-down"]


@pytest.mark.parametrize("code", sorted(HARMLESS - {"MON_MSGR2_NOT_ENABLED", "OSD_UPGRADE_FINISHED"}))
def test_a_warning_that_an_upgrade_cannot_harm_is_accepted_by_its_id(room, code):
    room.ceph.checks = {code: ("HEALTH_WARN", "a warning")}
    assert room.refused() == ["upgrade-ceph-warnings"]
    assert room.refused(["upgrade-ceph-warnings"]) == []
    room.ceph.checks = {code: ("HEALTH_ERR", "an error")}
    assert room.refused(["upgrade-ceph-warnings"]) == ["upgrade-ceph-health"]


@pytest.mark.parametrize("code", ["MON_MSGR2_NOT_ENABLED", "OSD_UPGRADE_FINISHED"])
def test_a_warning_that_the_upgrade_ends_is_no_reason(room, code):
    room.ceph.checks = {code: ("HEALTH_WARN", "a warning")}
    assert room.refused() == []


@pytest.mark.parametrize("code", ["OSD_NEARFULL", "PG_DEGRADED", "SLOW_OPS", "MON_DOWN", "NEVER_HEARD_OF"])
def test_other_warnings_cannot_be_accepted(room, code):
    room.ceph.checks = {code: ("HEALTH_WARN", "a warning")}
    assert room.refused(["upgrade-ceph-warnings"]) == ["upgrade-ceph-health"]


def test_placement_groups_that_recover_are_refused_those_that_are_scrubbed_are_not(room):
    room.ceph.states = {"active+clean+scrubbing+deep": 62}
    assert room.refused() == []
    room.ceph.states = {"active+clean": 61, "active+remapped+backfilling": 1}
    assert room.refused() == ["upgrade-ceph-health"]


def test_no_standby_and_no_spare_monitor_may_be_accepted(room):
    room.ceph.outside.add("s3")
    room.ceph.order, room.ceph.max_mds = ["s1"], 1
    assert room.refused() == ["filesystem-stops", "mon-quorum"]
    assert room.refused(["filesystem-stops", "mon-quorum"]) == []


def test_pods_that_could_not_leave_are_found_before_anything_changes(room):
    room.pods["w2"] = finding("drain-refused", host="w2", found="nothing makes these pods again", remedy="-")
    assert room.refused() == ["drain-refused"]


def test_all_reasons_come_in_one_pass(room):
    room.ceph.pools.append(("shared", 2, 2))
    room.ceph.clients = [("jewel", 1)]
    room.ceph.down.add(0)
    room.ceph.running["mon.s3"] = NEW
    room.ceph.checks = {"POOL_APP_NOT_ENABLED": ("HEALTH_WARN", "x"), "OSD_FULL": ("HEALTH_ERR", "y")}
    assert room.refused() == [
        "upgrade-ceph-health",
        "upgrade-ceph-warnings",
        "upgrade-client-old",
        "upgrade-mixed-versions",
        "upgrade-osd-down",
        "upgrade-pool-copies",
    ]


@pytest.fixture
def database(tmp_path, monkeypatch):
    monkeypatch.setenv("AVADM_CACHE", str(tmp_path / "cache"))
    text = SITE.replace("roles: [worker, client]", "roles: [worker, client, database]")
    text = text.replace("components:\n", "components:\n  database: {}\n")
    (tmp_path / "site.yml").write_text(text)
    return CephRoom(tmp_path / "site.yml")


@pytest.mark.parametrize(
    ("patroni", "sorts", "codes"),
    [
        ("4.0.7-3~deb13u1", ["C.UTF-8"], []),
        ("4.0.7-3~deb13u1", ["C", "C.utf8", "POSIX"], []),
        ("3.0.2-1", ["C.UTF-8"], ["upgrade-first"]),
        ("", ["C.UTF-8"], ["upgrade-first"]),
        ("3.0.2-1", ["C.UTF-8", "de_DE.UTF-8"], ["upgrade-collation", "upgrade-first"]),
    ],
)
def test_what_python_and_the_c_library_would_break_of_postgresql_comes_first(database, patroni, sorts, codes):
    database.patroni, database.sorts = patroni, sorts
    assert database.refused() == codes


def test_a_profile_that_brings_no_python_needs_no_other_patroni(database):
    database.patroni, database.sorts = "3.0.2-1", ["de_DE.UTF-8"]
    to = own_profile(database, "inherits: lab-bookworm\nversions: {ceph: '17.2.'}\n")
    assert database.refused(to=to) == []


def test_a_site_without_ceph_is_refused(tmp_path, monkeypatch):
    monkeypatch.setenv("AVADM_CACHE", str(tmp_path / "cache"))
    text = "\n".join(
        line
        for line in SITE.split("\n")
        if "osd" not in line and "ceph" not in line and "components" not in line
    ).replace(", client", "")
    (tmp_path / "site.yml").write_text(text)
    assert CephRoom(tmp_path / "site.yml").refused() == ["upgrade-no-node"]


def test_the_old_profile_is_of_the_old_release(room):
    assert profiles.load("lab-bookworm").versions["ceph"] == OLD[:5]
