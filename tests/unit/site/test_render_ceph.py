"""Variables of the ceph roles: keys, configuration, placement groups, CRUSH places."""

import base64
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from avadm.components.ceph import variables as ceph
from avadm.components.ceph.placement_groups import FLOOR, LIMIT_PER_OSD, pg_counts
from avadm.errors import AvadmError
from avadm.inventory.model import Variables
from tests.unit.fakes.sites import node, render, site

STORAGE = [
    node(f"s-{i}", i, "mon", "mgr", "osd", "mds", rack=f"r{i}", devices=[{"serial": f"S{i}"}])
    for i in (1, 2, 3)
]
CLIENT = node("c-1", 4, "client", rack="r1")


def rendered(profile="lab-bookworm", network=None, **components):
    one = site(*STORAGE, CLIENT, network=network, components={"ceph": components})
    return render(one, ceph, profile=profile)


def caps(out):
    return {one["entity"]: one["caps"] for one in out.all["ceph_mon_entities"]}


def test_a_site_without_monitors_gets_nothing():
    assert render(site(CLIENT), ceph) == Variables()


def test_keys_have_cephs_own_form():
    kind, created, _nsec, length = struct.unpack("<HIIH", base64.b64decode(ceph.make_key())[:12])
    assert (kind, length) == (1, 16)
    assert created > 1_500_000_000
    assert len(base64.b64decode(ceph.make_key())) == 28
    assert ceph.make_key() != ceph.make_key()


def test_each_entity_has_its_own_secret_and_none_is_in_the_inventory():
    out = rendered()
    entities = ["mon", *(f"client_{name}" for name in ("admin", "bootstrap_osd", "cephfs", "rbd"))]
    entities += [f"{kind}_s_{i}" for kind in ("mgr", "mds") for i in (1, 2, 3)]
    assert set(out.secrets) == {"vault_ceph_fsid", *(f"vault_ceph_key_{name}" for name in entities)}
    assert out.host("s-1")["ceph_mgr_key"] == "{{ vault_ceph_key_mgr_s_1 }}"
    assert all(one["key"].startswith("{{ vault_") for one in out.all["ceph_mon_entities"])
    assert "ceph_mgr_key" not in out.host("c-1")


def test_clients_get_the_least_caps():
    found = caps(rendered(rbd_pools=[{"name": "rbd", "share": 0.2}, {"name": "vm", "share": 0.2}]))
    cephfs = {"mon": "allow r", "mds": "allow rw", "osd": "allow rw tag cephfs data=cephfs"}
    assert found["client.cephfs"] == cephfs
    assert found["client.rbd"] == {"mon": "profile rbd", "osd": "profile rbd pool=rbd"}
    assert found["client.rbd-vm"] == {"mon": "profile rbd", "osd": "profile rbd pool=vm"}
    assert [name for name, one in found.items() if "allow *" in one.get("mon", "")] == ["client.admin"]


def test_limits_are_set_by_nodes_on_the_platforms_folders_alone():
    limits = "allow rw, allow rwp path=/users, allow rwp path=/groups, allow rwp path=/datasets"
    one = site(*STORAGE, CLIENT, components={"ava": {}})
    assert caps(render(one, ceph, profile="lab-bookworm"))["client.cephfs"]["mds"] == limits


@pytest.mark.parametrize(
    "components",
    [
        {"rbd_pools": [{"name": "a-b"}, {"name": "a_b"}]},
        {"filesystem": {"name": "admin"}},
        {"filesystem": {"name": "rbd"}},
    ],
)
def test_two_identities_never_share_a_key(components):
    with pytest.raises(AvadmError, match="would share one key"):
        rendered(**components)


def test_monitors_are_listed_once_for_all_with_both_protocols():
    out = rendered()
    assert out.all["ceph_mon_addresses"][:3] == ["--addv", "s-1", "[v2:10.0.0.1:3300,v1:10.0.0.1:6789]"]
    assert out.all["ceph_common_config"]["global"]["mon_host"] == "10.0.0.1,10.0.0.2,10.0.0.3"


def test_release_13_is_reported_only_what_it_knows():
    out = rendered("stated")
    assert out.all["ceph_mon_addresses"][:3] == ["--add", "s-1", "10.0.0.1:6789"]
    config = out.all["ceph_common_config"]
    assert "osd_pool_default_pg_autoscale_mode" not in config["global"]
    assert "auth_allow_insecure_global_id_reclaim" not in config["mon"]
    assert config["client"]["rbd_default_features"] == "layering,exclusive-lock"
    assert out.all["ceph_osd_backend"] == "lvm"


def test_later_releases_decide_nothing_themselves():
    config = rendered().all["ceph_common_config"]
    assert config["global"]["osd_pool_default_pg_autoscale_mode"] == "off"
    assert config["mon"]["auth_allow_insecure_global_id_reclaim"] is False
    assert "exclusive-lock" in config["client"]["rbd_default_features"]


def test_the_users_options_win_however_they_are_spelt():
    own = {"osd": {"osd memory target": 1}, "mon.s-1": {"debug-mon": 5}}
    config = rendered(config=own).all["ceph_common_config"]
    assert config["osd"] == {"osd_memory_target": 1}
    assert config["mon.s-1"] == {"debug_mon": 5}


def test_osds_hang_under_their_rack():
    out = rendered()
    assert out.host("s-2")["ceph_common_crush_location"] == "root=default rack=r2 host=s-2"
    assert out.host("s-2")["ceph_osd_devices"] == [{"serial": "S2", "device_class": "ssd"}]
    assert "ceph_common_crush_location" not in out.host("c-1")
    assert out.all["ceph_common_osds"] == 3


def test_the_failure_domain_names_the_rule():
    rule = rendered(failure_domain="rack").all["ceph_rbd_rule"]
    assert rule == {"name": "replicated_rack", "failure_domain": "rack"}


def test_the_storage_network_is_used_once_every_osd_node_is_on_it():
    config = rendered(network={"storage": "10.1.0.0/24"}).all["ceph_common_config"]
    assert "cluster_network" not in config["global"]


def test_every_stand_by_is_wanted():
    assert rendered(filesystem={"active_mds": 2}).all["ceph_fs_standbys"] == 1


def test_a_site_without_a_file_system():
    out = rendered(filesystem=None)
    assert not any(name.startswith("ceph_fs") for name in out.all)
    assert not any(entity.startswith("mds.") for entity in caps(out))


# Expected counts follow pgcalc's rule: 100 x OSDs x share / size, to the nearest power of two.
@pytest.mark.parametrize(
    ("shares", "osds", "replicas", "expected"),
    [
        ({"a": 0.5}, 3, 2, {"a": 64}),  # 75: 64 is 15 % below
        ({"a": 0.5}, 6, 3, {"a": 128}),  # 100: 64 is 36 % below
        ({"a": 0.4}, 192, 2, {"a": 4096}),  # 3840
        ({"a": 0.01}, 3, 2, {"a": FLOOR}),
        ({"a": 0.001}, 192, 2, {"a": 128}),  # a copy for each OSD
        ({"a": 1.0}, 0, 2, {"a": 64}),  # as for one OSD
    ],
)
def test_placement_groups(shares, osds, replicas, expected):
    assert pg_counts(shares, osds, replicas) == expected


@given(
    st.dictionaries(st.text("abc", min_size=1, max_size=3), st.floats(0.001, 1.0), min_size=1, max_size=12),
    st.integers(1, 3000),
    st.integers(2, 5),
)
def test_placement_groups_are_powers_of_two_within_the_limit(shares, osds, replicas):
    counts = pg_counts(shares, osds, replicas)
    assert all(count & (count - 1) == 0 for count in counts.values())
    total = sum(counts.values()) * replicas
    assert total <= LIMIT_PER_OSD * osds


def test_limits_of_backfill_come_with_a_key_that_may_set_them_alone():
    hours = {"hours": "22:00-06:00", "limits_in_hours": {"max_backfills": 4}}
    out = rendered(backfill=hours)
    assert out.all["ceph_mon_backfill"] == {
        "limits": {"max_backfills": 1, "recovery_max_active": 1, "recovery_sleep_s": 0.1},
        "hours": "22:00-06:00",
        "limits_in_hours": {"max_backfills": 4},
        "mclock": False,
    }
    (text,) = caps(out)["client.avadm-backfill"].values()
    assert '"' not in text
    assert all(one.startswith("allow command 'config") for one in text.split(", "))
    assert all(" with " in one for one in text.split(", "))
    assert out.all["ceph_mon_backfill_key"] == "{{ vault_ceph_key_client_avadm_backfill }}"
    assert "client.avadm-backfill" not in caps(rendered())
    assert "ceph_mon_backfill" not in rendered().all


@pytest.mark.parametrize(
    ("profile", "config", "found"),
    [
        ("lab-bookworm", {}, False),
        ("lab-bookworm-ceph-18", {}, True),
        ("lab-bookworm-ceph-18", {"osd": {"osd op queue": "wpq"}}, False),
        ("lab-bookworm-ceph-18", {"global": {"osd_op_queue": "mclock_scheduler"}}, True),
    ],
)
def test_limits_override_mclock_where_osds_have_it(profile, config, found):
    assert rendered(profile, backfill={}, config=config).all["ceph_mon_backfill"]["mclock"] is found


def test_limits_without_hours_are_those_of_the_whole_day():
    given = rendered(backfill={"limits": {"max_backfills": 2}}).all["ceph_mon_backfill"]
    assert (given["hours"], given["limits"]) == ("", {"max_backfills": 2})
    assert given["limits_in_hours"] == given["limits"]
