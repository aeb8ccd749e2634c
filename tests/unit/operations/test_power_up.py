"""Starting a site that was powered down: stopped or switched off, interrupted, with parts that stay away."""

import itertools

import pytest

from avadm.errors import AvadmError
from avadm.operations import run as runner
from avadm.operations.power_up import up
from avadm.state.power import PowerState
from tests.unit.operations import power_room
from tests.unit.operations.power_room import killed, kills, refusals


@pytest.fixture
def room(tmp_path, monkeypatch):
    monkeypatch.setenv("AVADM_CACHE", str(tmp_path / "cache"))
    one = power_room.bench(tmp_path)
    one.before = one.fleet.marks
    return one


def serves(room):
    """Whether the site is as it was before it was powered down, and nothing is recorded of that."""
    assert room.fleet.marks == room.before
    assert room.fleet.cephfs == set(room.fleet.names("client"))
    assert room.note is None
    assert room.state.begun() == room.state.settings() == []
    return True


def test_stopped_daemons_start_in_the_reverse_order(room):
    room.down()
    room.fleet.order.clear()
    room.up()
    assert serves(room)
    order = ["etcd", "calico-node", "ceph-mon", "ceph-mgr", "ceph-osd", "ceph-mds", "avadm-cephfs", "patroni"]
    order += ["kube-apiserver", "kubelet", "traefik", "avadm-etcd-snapshot"]
    for before, after in itertools.pairwise(order):
        last = max(i for i, (_, name) in enumerate(room.fleet.order) if name.startswith(f"+{before}"))
        first = min(i for i, (_, name) in enumerate(room.fleet.order) if name.startswith(f"+{after}"))
        assert last < first, (before, after)


def test_machines_that_were_switched_off_and_on_again_start_nothing_twice(room):
    room.down(poweroff=True)
    for node in room.fleet.names("mon"):
        room.fleet.switch_off(node)
    assert set(refusals(room.up)) == {"power-silent"}
    room.fleet.switch_on()
    room.fleet.order.clear()
    room.up()
    assert serves(room)
    assert room.fleet.order == []


def test_a_site_that_lost_its_power_is_started_too(room):
    room.fleet.stopped = room.fleet.all_units
    room.fleet.cephfs.clear()
    room.up()
    assert serves(room)
    room.up()
    assert serves(room)


def test_noout_and_cordons_stay_until_what_needs_them_serves(room):
    room.down()
    room.fleet.flapping.add("ceph-osd@2.service")
    assert refusals(room.up, code=1) == ["gate-closed"]
    assert room.fleet.site_noout
    assert room.fleet.cordoned
    assert len(room.fleet.silences) == 1
    assert room.note.state is PowerState.STARTING
    assert refusals(room.down) == ["power-starting"]
    assert [f.check for f in runner.half_done(room.state, {"ceph"}, "avadm apply")] == ["powered-down"]
    room.fleet.flapping.clear()
    room.up()
    assert serves(room)


def test_an_osd_that_stays_down_is_named_and_given_up_where_accepted(room):
    room.down()
    room.fleet.down.add(0)
    with pytest.raises(AvadmError) as error:
        room.up()
    assert "osd.0 of stor1 is down" in error.value.findings[0].found
    room.up(accept=["osds-down"])
    assert serves(room)


def test_nodes_that_stay_away_are_refused_and_left_out_where_accepted(room):
    room.down()
    room.fleet.dead.add("comp3")
    assert refusals(room.up) == ["power-silent"]
    room.up(accept=["power-silent"])
    assert room.note is None
    assert room.fleet.cordoned == set()
    assert {node for node, _ in room.fleet.stopped} == {"comp3"}


@pytest.mark.parametrize(
    ("unit", "words"),
    [
        ("etcd.service", "etcd.service of mast1 does not run"),
        ("ceph-mon@stor1.service", "ceph-mon@stor1.service of stor1 does not run"),
        ("avadm-cephfs.service", "avadm-cephfs.service of comp1 does not run"),
        ("patroni.service", "patroni.service of mast1 does not run"),
        ("kubelet.service", "kubelet.service of mast1 does not run"),
    ],
)
def test_each_part_is_waited_for_before_the_next(room, unit, words):
    room.down()
    room.fleet.flapping.add(unit)
    with pytest.raises(AvadmError) as error:
        room.up()
    assert words in error.value.findings[0].found
    assert room.fleet.cordoned
    room.fleet.flapping.clear()
    room.up()
    assert serves(room)


def test_units_that_run_are_no_proof_where_the_cluster_says_otherwise(room):
    room.down()
    room.fleet.out_of_quorum.add("stor3")
    with pytest.raises(AvadmError) as error:
        room.up()
    assert "the monitor of stor3 is not in quorum" in error.value.findings[0].found
    room.fleet.out_of_quorum = {"mast2"}
    with pytest.raises(AvadmError) as error:
        room.up()
    assert "etcd of mast2 is not in quorum" in error.value.findings[0].found
    room.fleet.out_of_quorum.clear()
    room.up()
    assert serves(room)


def test_a_page_that_does_not_answer_keeps_the_silence(room):
    room.down()
    room.fleet.way = 502
    with pytest.raises(AvadmError) as error:
        room.up()
    assert "users do not get in: HTTP 502" in error.value.findings[0].found
    assert len(room.fleet.silences) == 1
    room.fleet.way = 200
    room.up()
    assert serves(room)


def test_a_silence_that_cannot_be_ended_blocks_nothing(room):
    room.down()
    room.fleet.broken.add("expire")
    room.up()
    assert room.note is None
    assert [r.kind for r in room.state.settings()] == ["site-silence"]
    room.fleet.broken.clear()
    room.up()
    assert serves(room)


@pytest.mark.parametrize("every", [9, pytest.param(1, marks=pytest.mark.slow)])
def test_a_kill_anywhere_is_continued_by_the_same_command(room, tmp_path, every):
    room.down()
    held = kills(room, room.up)
    assert len(held) > 105
    for number, one in list(enumerate(held))[::every]:
        again = killed(room, tmp_path, number, one)
        again.before = room.before
        again.up()
        assert serves(again), number


def test_the_plan_of_a_site_that_serves_changes_nothing(room):
    operation = up(frozenset())(room.cluster())
    assert (operation.refusals, operation.components) == ([], frozenset())
    assert room.fleet.order == []
    titles = [step.name for step in operation.steps]
    assert len(set(titles)) == len(titles)
