"""The platform suite: a good platform passes and verifies, each planted fault is seen, nothing is left behind or harmed."""

import json
from functools import partial

import pytest
from acceptance_fakes import assert_seen, execute, runner, sealed
from platform_client_fakes import FakeClient
from platform_fakes import GPUS, FakePlatform

from avadm_validation import data
from avadm_validation.measuring.context import MeasureError
from avadm_validation.measuring.extract import compute, facts
from avadm_validation.measuring.runner import Runner
from avadm_validation.protocol.criteria import Criteria
from avadm_validation.protocol.model import Verdict
from avadm_validation.protocol.verify import verify
from avadm_validation.registry import criteria
from avadm_validation.suites.platform import log_readers, platform_client, polling, run, tenant
from avadm_validation.suites.platform.checks import CHECKS, PRECONDITIONS, ot1, ot2
from tests.controls.platform import FAULTS

report = partial(sealed, suite="platform", effort="quick")
lab = partial(runner, criteria=criteria("lab"))
EFFORTS = Runner.efforts


@pytest.fixture
def world(monkeypatch):
    made = FakePlatform()
    monkeypatch.setattr(polling, "now", lambda: made.clock)
    monkeypatch.setattr(polling, "rest", made.rest)
    monkeypatch.setattr(platform_client, "client", lambda ctx: FakeClient(made))
    monkeypatch.setattr(log_readers, "browser", made.reading.browser)
    monkeypatch.setattr(log_readers, "by_command_line", made.reading.command_line)
    soon = {"gap_s": 0.001}
    monkeypatch.setattr(Runner, "efforts", lambda *a: {c: {**p, **soon} for c, p in EFFORTS(*a).items()})
    return made


def test_a_good_platform_passes_and_its_report_verifies(tmp_path, world):
    made, _ = lab(world, tmp_path)
    checks = execute(run, made)
    assert [c.id for c in checks] == [c.ID for c in (PRECONDITIONS, *CHECKS)]
    assert {c.id: c.reasons for c in checks if c.verdict is not Verdict.PASS} == {}
    assert verify(report(made, checks, tmp_path), tmp_path, compute, facts, made.criteria) == []
    assert made.left == []


def test_nothing_is_left_but_accounts_that_no_one_can_use(tmp_path, world):
    made, _ = lab(world, tmp_path)
    execute(run, made)
    assert world.groups == {}
    # Whichever of the two checks comes first makes what both judge.
    (first,) = {name[-4:-1] for name in world.users if name.endswith(("sc3a", "sc6a"))}
    (watcher,) = {name[-4:-1] for name in world.users if name.endswith(("sc8w", "sc9w"))}
    attackers = (f"{first}a", f"{first}v")
    assert {name: u["state"] for name, u in world.users.items()} == {
        f"avadm-accept-{who}": "disabled"
        for who in (
            *("admin", "sc1", "sc2g", "sc2d", "sc4", "sc4n", "sc5", "sc5n", "sc7"),
            *("ot1", "ot2", "ot2o", "ot3", "ot3o", *attackers, f"{watcher}w"),
        )
    }
    assert not world.holding()


def test_no_raw_file_and_no_command_has_a_password(tmp_path, world):
    made, fleet = lab(world, tmp_path)
    execute(run, made)
    words = {u["password"] for u in world.users.values()}
    texts = [p.read_text() for p in tmp_path.rglob("*") if p.is_file()] + [c for _, c in fleet.ran]
    assert len(words) == len(world.users)
    assert not [w for w in words if any(w in text for text in texts)]


def test_the_only_administrator_of_a_platform_stays_and_is_reported_of(tmp_path, world):
    world.last_admin = True
    made, _ = lab(world, tmp_path)
    execute(run, made, ["A-OT1"])
    assert "the platform's only administrator" in made.left[0]


def test_what_a_killed_run_left_is_taken_away_by_the_next(tmp_path, world):
    old = f"{tenant.PREFIX}-sc2d"
    world.users[old] = {"state": "active", "default": "accept-old", "password": "x"}
    world.groups["accept-old"] = {"quota": {}, "members": [old]}
    made, _ = lab(world, tmp_path)
    checks = execute(run, made, ["A-OT1"])
    assert [c.verdict for c in checks] == [Verdict.PASS, Verdict.PASS]
    assert "accept-old" not in world.groups
    assert world.users[old]["state"] == "disabled"


def test_a_check_that_could_not_be_measured_is_repeated_in_groups_of_its_own(tmp_path, world, monkeypatch):
    """A deleted group's name is never given again, so the second try needs others."""
    measure, tries = ot1.run, []

    def run_once_broken(ctx):
        tries.append(ctx)
        if len(tries) == 1:
            with tenant.tenant(ctx, [{}, {}]):
                raise MeasureError("the machine was too busy")
        return measure(ctx)

    monkeypatch.setattr(ot1, "run", run_once_broken)
    made, _ = lab(world, tmp_path)
    checks = execute(run, made, ["A-OT1"])
    assert (len(tries), checks[-1].verdict) == (2, Verdict.PASS), checks[-1].reasons


def test_groups_that_an_earlier_measurement_left_are_not_taken_for_others(tmp_path, world, monkeypatch):
    """When the platform does not answer, a measurement cannot remove its groups: its user is still in them."""
    measure, tries, remove = ot2.run, [], tenant.remove

    def run_once_broken(ctx):
        tries.append(ctx)
        if len(tries) > 1:
            monkeypatch.setattr(tenant, "remove", remove)
            return measure(ctx)
        monkeypatch.setattr(tenant, "remove", lambda *_: ["the platform did not answer"])
        with tenant.tenant(ctx, [{}, {}]):
            raise MeasureError("the platform did not answer")

    monkeypatch.setattr(ot2, "run", run_once_broken)
    made, _ = lab(world, tmp_path)
    checks = execute(run, made, ["A-OT2"])
    assert (len(tries), checks[-1].verdict) == (2, Verdict.PASS), checks[-1].reasons


@pytest.mark.parametrize("fault", FAULTS, ids=lambda f: f.name)
def test_a_planted_fault_is_seen(tmp_path, world, fault):
    fault.plant(world)
    full = fault.check == "A-SC2" and "harmed" in fault.text
    made, _ = lab(world, tmp_path, "full" if full else "quick")
    assert_seen(run, made, fault, PRECONDITIONS.ID)


def test_fewer_stops_than_the_specification_asks_for_are_never_a_pass_of_it(tmp_path, world):
    made, _ = lab(world, tmp_path)
    made.criteria = Criteria.load("stated")
    check = execute(run, made, ["A-SC2"])[1]
    assert check.verdict is Verdict.INCONCLUSIVE
    assert "only 5 of 50 repetitions" in check.reasons[0]
    assert any("kubelet is dead" in reason for reason in check.reasons)


def test_all_four_kinds_are_stopped_in_full_and_each_node_is_fixed(tmp_path, world):
    made, fleet = lab(world, tmp_path, "full")
    made.criteria = Criteria.load("stated")
    check = execute(run, made, ["A-SC2"])[1]
    assert check.verdict is Verdict.PASS, check.reasons
    metrics = {m.name: m for m in check.metrics}
    assert len(metrics["freed"].samples) == 52
    slowest = {k: metrics[f"{k}-max"].mean for k in ("graceful", "deaf", "hung", "dead")}
    # Kinds that are tried at the same time move one clock here: which of them is slower says nothing.
    assert max(slowest.values()) == max(sample.value for sample in metrics["freed"].samples) < 300
    assert min(slowest.values()) > 0
    assert (
        len(fleet.commands("systemctl stop kubelet"))
        == len(fleet.commands("systemctl start kubelet && {"))
        == 1
    )
    assert world.hung == set()
    timer = fleet.commands("systemctl stop kubelet")[0]
    assert timer.index("systemd-run") < timer.index(
        "systemctl stop kubelet"
    )  # it starts again whatever becomes of us


def test_a_node_is_fixed_also_where_the_run_breaks_off(tmp_path, world, monkeypatch):
    def broken(ctx, lanes, journal, holds, harmed):
        if harmed.planted:
            raise KeyboardInterrupt

    monkeypatch.setattr("avadm_validation.suites.platform.gpu_handover._mend", broken)
    made, fleet = lab(world, tmp_path, "full")
    with pytest.raises(KeyboardInterrupt):
        execute(run, made, ["A-SC2"])
    assert fleet.commands("systemctl start kubelet && {")
    assert world.hung == set()


def test_a_node_that_others_use_is_not_harmed(tmp_path, world):
    world.others.update(gpu1=1, gpu2=1)
    made, fleet = lab(world, tmp_path, "full")
    check = execute(run, made, ["A-SC2"])[1]
    assert not fleet.commands("systemctl stop kubelet") + fleet.commands("fusehang.py begin")
    assert sum("not harmed for them" in reason for reason in check.reasons) == 2


def test_one_idle_node_is_harmed_in_two_ways_one_after_the_other(tmp_path, world):
    world.others.update(gpu1=1)
    made, _ = lab(world, tmp_path, "full")
    check = execute(run, made, ["A-SC2"])[1]
    assert check.verdict is Verdict.PASS, check.reasons
    rows = {k: (tmp_path / f"raw/A-SC2/journal-{k}.jsonl").read_text().splitlines() for k in ("hung", "dead")}
    times = {k: [json.loads(row)["t"] for row in found] for k, found in rows.items()}
    assert max(times["hung"]) <= min(times["dead"])
    assert {json.loads(row)["node"] for found in rows.values() for row in found if '"pod"' in row} == {"gpu2"}


@pytest.mark.parametrize("check", ["A-SC2", "A-SC7"])
def test_gpus_that_others_have_block(tmp_path, world, check):
    world.others.update(GPUS)
    made, _ = lab(world, tmp_path)
    done = execute(run, made, [check])[1]
    assert done.verdict is Verdict.BLOCKED, done.reasons
    assert "gpu1" in done.reasons[0]


def test_a_node_that_is_not_ready_is_not_measured_on(tmp_path, world):
    world.ready["gpu1"] = False
    made, _ = lab(world, tmp_path)
    done = {c.id: c.verdict for c in execute(run, made, ["A-SC2", "A-SC7"])}
    assert done == {"A-SC-PRE": Verdict.PASS, "A-SC2": Verdict.PASS, "A-SC7": Verdict.BLOCKED}


def test_without_logs_the_run_that_waited_counts(tmp_path, world):
    world.logs_there = False
    made, _ = lab(world, tmp_path)
    check = execute(run, made, ["A-SC2"])[1]
    assert check.verdict is Verdict.PASS, check.reasons
    assert {m.name: m.mean for m in check.metrics}[
        "unknown-cards"
    ] == 9  # 3 to begin with, one beside, 5 that follow


def test_an_edit_of_what_the_platform_answered_shows(tmp_path, world):
    made, _ = lab(world, tmp_path)
    done = report(made, execute(run, made, ["A-SC2"]), tmp_path)
    path = tmp_path / "raw" / "A-SC2" / "journal-deaf.jsonl"
    rows = [json.loads(row) for row in path.read_text().splitlines()]
    for row in rows:
        if row["do"] == "stop":
            row["t"] += 20
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    problems = verify(done, tmp_path, compute, facts, made.criteria)
    assert any("A-SC2.freed" in p for p in problems)


def test_a_site_without_gpus_leaves_out_what_needs_them(tmp_path, world):
    made, _ = lab(world, tmp_path, gpu_nodes=())
    assert [c.id for c in execute(run, made)] == ["A-SC-PRE", "A-SC4", "A-SC5", "A-OT1", "A-OT2", "A-OT3"]
    assert len(made.left) == 7


@pytest.mark.parametrize("kind", ["lab", "site"])
def test_full_effort_has_the_stops_and_placements_that_the_specification_asks_for(kind):
    full = data.efforts("avadm_validation.suites.platform", kind, "full")
    stops = full["A-SC2"]
    kinds = ("graceful", "deaf", "hung", "dead")
    assert sum(stops[f"{k}_lanes"] * stops[f"{k}_rounds"] for k in kinds) >= 50
    assert all(stops[f"{k}_rounds"] for k in kinds)
    wanted = {c.metric: c.repetitions for c in Criteria.load("stated").needed("A-SC7")}
    assert full["A-SC7"]["decisions"] >= wanted["more-left"]
