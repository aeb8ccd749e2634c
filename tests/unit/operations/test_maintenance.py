"""Maintenance: what it sets and undoes, what forbids it, dead nodes, and a kill at any step."""

from datetime import UTC, datetime

import pytest

from avadm.errors import AvadmError
from avadm.operations.overview import overview
from avadm.state.operations import SettingRecord
from tests.unit.fakes import sites
from tests.unit.operations.bench import bench_of, killed, kills, refusals
from tests.unit.operations.running_site import RunningSite, nodes, of_node


@pytest.fixture
def bench(tmp_path, monkeypatch):
    monkeypatch.setenv("AVADM_CACHE", str(tmp_path / "cache"))
    return bench_of(tmp_path, *nodes())


def test_a_healthy_site_refuses_no_single_node(bench):
    untouched = bench.fleet.marks
    for node in bench.fleet.site.nodes:
        operation = bench.begin(node.name)
        assert operation.refusals == []
        bench.end(node.name)
        assert bench.fleet.marks == untouched, node.name
        assert bench.state.begun() == bench.state.settings() == bench.on() == []


def test_a_storage_node_keeps_its_osds_in_and_only_its_own(bench):
    bench.begin("stor1")
    assert bench.fleet.noout == {"stor1"}
    assert bench.fleet.cordoned == set()
    [one] = bench.on()
    assert (one.name, one.nodes, one.reason) == ("stor1", ("stor1",), "new memory")
    assert one.until - one.since == 7200


def test_a_worker_is_drained_and_its_alerts_alone_are_silenced_until_the_end(bench):
    bench.begin("comp3")
    assert bench.fleet.cordoned == {"comp3"}
    assert "comp3" not in bench.fleet.pods
    [(comment, end, matcher)] = bench.fleet.silences.values()
    assert comment == "avadm comp3: new memory"
    assert datetime.fromisoformat(end) == datetime.fromtimestamp(bench.fleet.now + 7200, UTC)
    assert of_node(matcher, "comp3")
    assert not of_node(matcher, "comp31")


def test_the_end_time_is_exported_by_nodes_that_stay(bench):
    bench.begin("comp1", "stor1")
    assert {node for node, _ in bench.fleet.files} == {"comp2", "stor2"}
    [text] = set(bench.fleet.files.values())
    assert f'{{maintenance="stor1+1",nodes="stor1 comp1"}} {bench.fleet.now + 7200:.0f}\n' in text


def test_a_rack_is_all_of_its_nodes(bench):
    bench.begin(rack="r2")
    [one] = bench.on()
    assert (one.name, one.nodes) == ("r2", ("stor2",))
    assert refusals(bench.begin, rack="r9") == ["unknown-rack"]


def test_what_others_had_set_stays_after_the_end(bench):
    bench.fleet.cordoned.add("comp3")
    bench.fleet.noout.add("stor1")
    bench.begin("comp3", "stor1")
    bench.end("comp3", "stor1")
    assert bench.fleet.cordoned == {"comp3"}
    assert bench.fleet.noout == {"stor1"}
    assert bench.fleet.silences == {}


def test_unknown_nodes_bad_times_and_reasons_come_in_one_pass(bench):
    bench.begin("comp3")
    untouched = bench.fleet.marks
    assert refusals(bench.begin, "comp3", "none1", "none2", seconds=0, reason="a\nb") == [
        "unknown-node",
        "unknown-node",
        "maintenance-time",
        "maintenance-reason",
        "maintenance-twice",
    ]
    bad = refusals(bench.begin, "stor1", "stor2", "none1", seconds=10**12)
    assert bad == ["unknown-node", "maintenance-time", "mon-quorum", "pools-stop"]
    for wrong in (10**10, 59, 30 * 86400 + 1):
        assert refusals(bench.begin, "comp2", seconds=wrong) == ["maintenance-time"]
    assert bench.fleet.marks == untouched


def test_a_name_that_a_node_repeats_counts_once(bench):
    bench.begin("comp3", "comp3")
    assert bench.on()[0].nodes == ("comp3",)


def test_a_name_is_one_maintenance_only(bench, tmp_path):
    given = [*nodes(), sites.node("r2", 99)]
    bench = bench_of(tmp_path, *given)
    bench.begin("r2")
    assert refusals(bench.begin, rack="r2") == ["maintenance-name"]


@pytest.mark.parametrize(
    ("names", "ids"),
    [
        (("stor1", "stor2"), ["mon-quorum", "pools-stop"]),
        (("stor1", "stor2", "stor3"), ["mon-quorum", "pools-stop", "filesystem-stops"]),
        (("mast1", "mast2"), ["etcd-quorum"]),
        (("mast1", "mast2", "mast3"), ["etcd-quorum", "single-master"]),
        (("comp1", "comp2"), ["virtual-address-lost"]),
    ],
)
def test_what_would_not_survive_is_refused_and_accepted_by_its_id_alone(bench, names, ids):
    untouched = bench.fleet.marks
    assert refusals(bench.begin, *names) == ids
    for one in ids[1:]:
        assert ids[0] in refusals(bench.begin, *names, accept=[one])
    assert bench.fleet.marks == untouched
    bench.begin(*names, accept=ids)
    assert bench.on()[0].nodes == names


def test_nodes_of_other_maintenances_and_dead_ones_count_as_gone(bench):
    bench.begin("stor1")
    assert refusals(bench.begin, "stor2") == ["mon-quorum", "pools-stop"]
    bench.fleet.dead.add("mast1")
    assert refusals(bench.begin, "mast2") == ["etcd-quorum"]
    bench.fleet.dead.add("comp1")
    assert refusals(bench.begin, "comp2") == ["virtual-address-lost"]


def test_a_monitor_that_is_out_of_quorum_counts_as_gone(bench):
    bench.fleet.out_of_quorum.add("stor3")
    assert refusals(bench.begin, "stor1") == ["mon-quorum"]


def test_osds_that_are_down_elsewhere_count(bench):
    bench.fleet.down.add(bench.fleet.osds("stor3")[0])
    assert refusals(bench.begin, "stor1") == ["pools-stop"]


def test_a_site_with_one_master_says_so_and_goes_on_where_accepted(tmp_path, monkeypatch):
    monkeypatch.setenv("AVADM_CACHE", str(tmp_path / "cache"))
    bench = bench_of(tmp_path, *nodes(1))
    assert refusals(bench.begin, "mast1") == ["etcd-quorum", "single-master"]
    bench.begin("mast1", accept=["etcd-quorum", "single-master"])
    assert bench.fleet.cordoned == {"mast1"}


def test_the_only_master_that_is_dead_already_cannot_be_cordoned_and_is_not(tmp_path, monkeypatch):
    monkeypatch.setenv("AVADM_CACHE", str(tmp_path / "cache"))
    bench = bench_of(tmp_path, *nodes(1))
    bench.fleet.dead.add("mast1")
    bench.begin("mast1", accept=["etcd-quorum", "single-master"])
    assert bench.fleet.cordoned == set()
    bench.fleet.dead.clear()
    bench.end("mast1")
    assert bench.on() == []


def test_kubernetes_that_does_not_answer_refuses_a_worker(bench):
    bench.fleet.dead |= {"mast1", "mast2"}
    assert set(refusals(bench.begin, "comp3")) == {"kubernetes-command"}


def test_ceph_that_does_not_answer_refuses_a_storage_node_and_no_worker(bench):
    bench.fleet.dead |= {"stor1", "stor2"}
    assert set(refusals(bench.begin, "stor3")) == {"ceph-command"}
    bench.begin("comp3")


def test_pods_that_would_be_lost_are_refused_by_kind(bench):
    bench.fleet.refused["comp3"] = {"without-controller": ["x/a"], "local-data": ["x/b"]}
    ids = ["pods-without-controller", "pods-local-data"]
    assert refusals(bench.begin, "comp3") == ids
    assert refusals(bench.begin, "comp3", accept=ids[:1]) == ids[1:]
    bench.begin("comp3", accept=ids)
    assert bench.fleet.cordoned == {"comp3"}


@pytest.mark.parametrize("node", ["comp1", "comp3", "stor1", "mast1"])
def test_a_dead_node_is_cordoned_and_never_drained(bench, node):
    bench.fleet.dead.add(node)
    bench.fleet.refused[node] = {"without-controller": ["x/a"]}
    bench.begin(node)
    assert bench.fleet.cordoned == ({node} if node != "stor1" else set())
    assert bench.fleet.noout == ({node} if node == "stor1" else set())
    assert node not in {holder for holder, _ in bench.fleet.files}
    bench.fleet.dead.clear()
    bench.end(node)
    assert bench.fleet.marks == (set(), set(), [], {})


def test_without_an_alertmanager_it_is_announced_without_a_silence(bench):
    bench.fleet.dead |= {"comp1", "comp2"}
    operation = bench.begin("comp3", accept=[])
    assert bench.fleet.silences == {}
    assert "no silence" in operation.steps[0].name
    assert bench.fleet.cordoned == {"comp3"}


def test_what_begin_set_is_undone_where_it_fails(bench):
    bench.fleet.broken.add("set-group")
    with pytest.raises(AvadmError):
        bench.begin("stor1")
    assert bench.fleet.marks == (set(), set(), [], {})
    assert bench.on() == []
    [half] = bench.state.begun()
    assert half.command == "avadm maintenance begin stor1 --for 7200s --reason 'new memory'"


def test_a_drain_that_fails_undoes_the_cordon_and_says_how_to_go_on(bench, monkeypatch):
    answer = {"done": False, "evicted": [], "refused": {"local-data": ["x/a"]}, "left": [], "cordoned": True}
    plain = RunningSite._of
    late = lambda self, asked, name: answer if asked["do"] == "drain" else plain(self, asked, name)  # noqa: E731
    monkeypatch.setattr(RunningSite, "_of", late)
    with pytest.raises(AvadmError) as error:
        bench.begin("comp3")
    assert error.value.exit_code == 1
    assert {f.check for f in error.value.findings} == {"pods-local-data"}
    assert "--accept pods-local-data" in error.value.findings[0].remedy
    assert "avadm maintenance end comp3" in error.value.findings[0].remedy
    assert bench.fleet.cordoned == set()


def test_a_beginning_that_failed_is_given_up_by_end(bench):
    bench.fleet.broken.add("set-group")
    with pytest.raises(AvadmError):
        bench.begin("stor1")
    assert refusals(bench.end, "stor2") == ["maintenance-unknown"]
    bench.end("stor1")
    assert bench.state.begun() == []


def test_end_waits_for_nodes_and_osds_and_keeps_all_until_they_are_back(bench):
    bench.begin("stor1")
    held = bench.fleet.marks
    bench.fleet.down.add(bench.fleet.osds("stor1")[0])
    with pytest.raises(AvadmError) as error:
        bench.end("stor1")
    [found] = error.value.findings
    assert (error.value.exit_code, found.check, found.found) == (1, "gate-closed", "osd.0 of stor1 is down")
    assert bench.fleet.marks == held
    assert [one.name for one in bench.on()] == ["stor1"]
    bench.fleet.down.clear()
    bench.end("stor1")
    assert bench.fleet.marks == (set(), set(), [], {})
    assert bench.state.begun() == []


def test_end_does_not_wait_for_an_osd_that_is_out(bench):
    osd = bench.fleet.osds("stor1")[0]
    bench.begin("stor1")
    bench.fleet.down.add(osd)
    bench.fleet.out.add(osd)
    bench.end("stor1")
    assert bench.state.begun() == bench.on() == []


@pytest.mark.parametrize(("node", "role"), [("stor1", "the monitor of stor1"), ("mast1", "etcd of mast1")])
def test_end_waits_for_the_quorum(bench, node, role):
    bench.begin(node)
    bench.fleet.out_of_quorum.add(node)
    with pytest.raises(AvadmError) as error:
        bench.end(node)
    assert role in error.value.findings[0].found


def test_a_lost_node_ends_only_where_accepted_and_its_data_may_then_move(bench):
    bench.begin("stor1")
    bench.fleet.dead.add("stor1")
    assert refusals(bench.end, "stor1") == ["not-back"]
    assert bench.fleet.noout == {"stor1"}
    bench.end("stor1", accept=["not-back"])
    assert bench.fleet.noout == set()
    assert bench.on() == []


def test_a_disk_that_did_not_survive_holds_up_the_end_only_until_that_is_accepted(bench):
    bench.begin("stor1")
    bench.fleet.down.add(bench.fleet.osds("stor1")[0])
    with pytest.raises(AvadmError):
        bench.end("stor1")
    bench.end("stor1", accept=["not-back"])
    assert bench.fleet.noout == set()
    assert bench.state.begun() == bench.on() == []


@pytest.mark.parametrize("reply", ["[]", "{}", "null", "7", '{"nodes": [{}]}'])
def test_nonsense_of_ceph_is_a_refusal_and_no_trace(bench, monkeypatch, reply):
    monkeypatch.setattr(RunningSite, "_ceph", lambda self, node, words: (reply, 0, ""))
    untouched = bench.fleet.marks
    assert set(refusals(bench.begin, "stor1")) == {"ceph-command"}
    assert bench.fleet.marks == untouched


@pytest.mark.parametrize("reply", ["{", "[7]", "[{}]x"])
def test_nonsense_of_alertmanager_ends_begin_and_undoes_it(bench, monkeypatch, reply):
    monkeypatch.setattr(RunningSite, "_amtool", lambda self, node, words: (reply, 0, ""))
    with pytest.raises(AvadmError) as error:
        bench.begin("stor1")
    assert {f.check for f in error.value.findings} == {"alertmanager-command"}
    assert bench.fleet.noout == set()
    assert bench.on() == []


def test_a_refusal_of_a_drain_that_this_release_does_not_know_stays_one(bench):
    bench.fleet.refused["comp3"] = {"of-next-year": ["x/a"]}
    assert refusals(bench.begin, "comp3") == ["drain-refused"]


def test_one_of_two_maintenances_ends_while_the_other_is_away(bench):
    bench.fleet.least = 1
    bench.begin("stor1")
    bench.begin("stor2", accept=["mon-quorum"])
    bench.fleet.dead.add("stor2")
    bench.end("stor1")
    assert bench.fleet.noout == {"stor2"}


def test_end_wants_all_nodes_of_a_maintenance_or_its_name(bench):
    bench.begin("comp3", "stor1")
    assert refusals(bench.end, "stor1") == ["maintenance-part"]
    assert refusals(bench.end, "comp2") == ["maintenance-unknown"]
    assert bench.fleet.noout == {"stor1"}
    bench.end("stor1+1")
    assert bench.on() == []


def test_a_silence_that_cannot_be_undone_holds_up_no_end(bench):
    bench.begin("comp3")
    bench.fleet.broken.add("expire")
    bench.end("comp3")
    assert bench.fleet.cordoned == set()
    assert [r.kind for r in bench.state.settings()] == ["silence"]
    assert [o["kind"] for o in overview(bench.state, 0.0, running=False)["leftovers"]] == ["silence"]
    bench.fleet.broken.clear()
    bench.begin("stor1")
    assert {r.owner for r in bench.state.settings()} == {"maintenance stor1"}


def test_a_cordon_that_cannot_be_undone_holds_up_the_end(bench):
    bench.begin("comp3")
    bench.fleet.dead |= {"mast1", "mast2"}
    with pytest.raises(AvadmError):
        bench.end("comp3")
    assert bench.fleet.cordoned == {"comp3"}
    assert [one.name for one in bench.on()] == ["comp3"]


def test_a_node_that_left_the_site_file_is_not_waited_for(bench, tmp_path):
    bench.begin("comp3")
    rest = [n for n in nodes() if n["name"] != "comp3"]
    smaller = bench_of(tmp_path, *rest)
    smaller.end("comp3")
    assert smaller.on() == []


@pytest.mark.parametrize("names", [("stor1",), ("comp3", "stor1")])
def test_a_kill_anywhere_in_begin_is_continued_or_given_up(bench, tmp_path, names):
    held = kills(bench, lambda: bench.begin(*names))
    wanted = bench.fleet.marks
    assert len(held) > 8
    for number, one in enumerate(held[:-1]):
        again = killed(bench, tmp_path, number, one)
        if again.on():
            continue
        again.begin(*names)
        assert again.fleet.marks == wanted, number
        again.end(*names)
        assert again.fleet.marks == (set(), set(), [], {}), number
        given_up = killed(bench, tmp_path, f"{number}-end", one)
        given_up.end(*names)
        assert given_up.fleet.marks == (set(), set(), [], {}), number
        assert given_up.state.begun() == given_up.state.settings() == []


def test_a_kill_anywhere_in_end_is_continued(bench, tmp_path):
    bench.begin("comp3", "stor1")
    held = kills(bench, lambda: bench.end("comp3", "stor1"))
    assert len(held) > 5
    for number, one in enumerate(held):
        again = killed(bench, tmp_path, number, one)
        if again.on():
            again.end("stor1+1")
        assert again.fleet.marks == (set(), set(), [], {}), number
        assert again.state.begun() == again.state.settings() == [], number


def test_the_overview_has_what_is_left_and_nothing_of_a_command_at_work(bench):
    state = bench.state
    state.keep_setting(SettingRecord("noout", "stor1", "operation avadm x", 40.0))
    state.keep_setting(SettingRecord("noout", "stor2", "maintenance gone", 40.0))
    bench.begin("comp3")
    state.keep_setting(SettingRecord("noout", "stor1", "operation avadm x", 40.0))
    found = overview(state, bench.fleet.now + 7201, running=False)
    assert [(o["owner"], o["age_s"] > 0) for o in found["leftovers"]] == [
        ("maintenance gone", True),
        ("operation avadm x", True),
    ]
    assert [(o["name"], o["overdue"]) for o in found["maintenances"]] == [("comp3", True)]
    busy = overview(state, bench.fleet.now, running=True)
    assert (busy["leftovers"], busy["operations"]) == ([], [])
    assert [o["overdue"] for o in busy["maintenances"]] == [False]
