"""The objects suite: a good store passes and verifies, each planted fault is seen, keys stay in standard input."""

import json
from functools import partial

import pytest
from acceptance_fakes import execute, runner, sealed
from objects_fakes import KEYS, LIMITED, FakeStore

from avadm_validation.measuring.extract import compute, facts
from avadm_validation.protocol.model import Verdict
from avadm_validation.protocol.verify import verify
from avadm_validation.suites.objects import run
from avadm_validation.suites.objects.checks import CHECKS, PRECONDITIONS, client_compat
from tests.controls.objects import FAULTS


@pytest.fixture(autouse=True)
def _no_waiting(monkeypatch):
    monkeypatch.setattr("time.sleep", lambda s: None)
    monkeypatch.setattr(run, "reached", lambda url: True)


@pytest.fixture(autouse=True)
def _no_controller(monkeypatch, tmp_path):
    """What the controller's boto3 would say of the store that was made last."""

    def tried(job, settings):
        assert job["endpoint"] in ("https://10.0.0.1:7443", "https://objects.x.test:7443")
        return json.dumps(FakeStore.latest.today["with" if settings else "without"])

    monkeypatch.setattr(client_compat, "tried", tried)


report = partial(sealed, suite="objects", effort="quick")


def test_a_good_store_passes_and_its_report_verifies(tmp_path):
    made, _ = runner(FakeStore(), tmp_path)
    checks = execute(run, made)
    assert [c.id for c in checks] == [c.ID for c in (PRECONDITIONS, *CHECKS)]
    assert {c.id: c.reasons for c in checks if c.verdict is not Verdict.PASS} == {}
    assert verify(report(made, checks, tmp_path), tmp_path, compute, facts, made.criteria) == []
    assert made.left == []


def test_an_edit_of_what_a_client_measured_shows(tmp_path):
    made, _ = runner(FakeStore(), tmp_path)
    done = report(made, execute(run, made), tmp_path)
    path = next((tmp_path / "raw" / "A-S3-1").glob("*-functions-*"))
    path.write_text(path.read_text().replace('"a": "1"', '"a": "9"', 1))
    problems = verify(done, tmp_path, compute, facts, made.criteria)
    assert any("sha256" in p for p in problems)
    assert any("A-S3-1.wrong" in p for p in problems)


@pytest.mark.parametrize("fault", FAULTS, ids=lambda f: f"{f.check}-{f.name}")
def test_a_planted_fault_is_seen(tmp_path, fault):
    store = FakeStore()
    fault.plant(store)
    made, _ = runner(store, tmp_path)
    only = () if fault.check == "A-S3-PRE" else (fault.check,)
    checks = {c.id: c for c in execute(run, made, only)}
    found = checks[fault.check]
    assert found.verdict == fault.verdict, found.reasons
    bad = {m.name for m in found.metrics if m.verdict not in (None, Verdict.PASS)}
    assert set(fault.metrics) == bad
    if fault.check == "A-S3-PRE":
        assert {c.verdict for i, c in checks.items() if i != fault.check} == {Verdict.BLOCKED}


def test_each_client_that_the_store_does_not_answer_is_named_and_counted(tmp_path):
    store = FakeStore()
    store.deaf.update(("c1", "c2"))
    made, _ = runner(store, tmp_path)
    checks = execute(run, made)
    (answers,) = checks[0].metrics
    assert (answers.mean, checks[0].verdict) == (0, Verdict.BLOCKED)
    assert all(
        any(reason.startswith(f"{client}: ") for reason in checks[0].reasons) for client in ("c1", "c2")
    )
    assert verify(report(made, checks, tmp_path), tmp_path, compute, facts, made.criteria) == []


def test_no_key_is_in_a_command_line_or_in_a_file(tmp_path):
    made, fleet = runner(FakeStore(), tmp_path)
    execute(run, made)
    secrets = {KEYS[1], LIMITED[1]}
    assert not [c for _, c in fleet.ran if any(s in c for s in secrets)]
    texts = [p.read_text() for p in tmp_path.rglob("*") if p.is_file()]
    assert texts
    assert not [t for t in texts if any(s in t for s in secrets)]
    assert not any(s in repr(made.target) for s in secrets)


def test_the_gateway_that_is_stopped_starts_again_by_itself_and_by_us(tmp_path):
    made, fleet = runner(FakeStore(), tmp_path)
    execute(run, made, ["A-S3-5"])
    (stop,) = fleet.commands("systemctl stop")
    assert "systemd-run" in stop.partition("systemctl stop")[0]
    assert fleet.commands("systemctl start ceph-radosgw@rgw.s1; sleep")


def test_buckets_are_removed_at_the_end_even_where_a_check_breaks(tmp_path, monkeypatch):
    store = FakeStore()

    def broken(ctx):
        raise RuntimeError("a fault of ours")

    monkeypatch.setattr(CHECKS[0], "run", broken)
    made, fleet = runner(store, tmp_path)
    checks = {c.id: c for c in execute(run, made)}
    assert checks["A-S3-1"].verdict is Verdict.FAIL
    assert [verb for _, verb, _ in store.jobs][-1] == "sweep"
    assert "rm -rf" in fleet.ran[-1][1]
    assert store.jobs[-1][2]["more_keys"] == [list(LIMITED)]


@pytest.mark.parametrize("killed", [False, True])
def test_the_suites_users_are_made_for_the_run_and_removed_with_all_they_have(tmp_path, monkeypatch, killed):
    store = FakeStore()
    if killed:
        monkeypatch.setattr(CHECKS[0], "run", lambda ctx: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            execute(run, runner(store, tmp_path)[0])
    else:
        execute(run, runner(store, tmp_path)[0])
    assert store.users == ["lab-ai", "avadm-acceptor"]
    acts = [" ".join(a[:2]) + " " + a[2].partition("=")[2] for a in store.admin if a[0] == "user"]
    assert acts == [
        "user rm avadm-accept",
        *("user create avadm-accept", "user create avadm-accept-quota"),
        *("user rm avadm-accept", "user rm avadm-accept-quota"),
    ]
    assert all("--purge-data" in a for a in store.admin if a[1] == "rm")
    assert [
        "quota",
        "set",
        "--max-size=16777216",
        "--quota-scope=user",
        "--uid=avadm-accept-quota",
    ] in store.admin


def test_users_that_cannot_be_removed_are_reported(tmp_path):
    store = FakeStore()
    made, _ = runner(store, tmp_path)
    store.radosgw = lambda words: {"rc": 1, "stderr": "no answer"}
    (first, *_) = execute(run, made, ["A-S3-2"])
    assert first.verdict is Verdict.BLOCKED
    assert any("users of the object store may have stayed" in text for text in made.left)


def test_what_stays_is_reported(tmp_path):
    store = FakeStore()
    made, _ = runner(store, tmp_path)
    first = run.PRECONDITIONS.run

    def then_stuck(ctx):
        outcome = first(ctx)
        store.stayed.append("bucket avadm-accept-x (AccessDenied)")
        return outcome

    run.PRECONDITIONS.run, before = then_stuck, first
    try:
        execute(run, made, ["A-S3-2"])
    finally:
        run.PRECONDITIONS.run = before
    assert made.left == ["bucket avadm-accept-x (AccessDenied) could not be removed"]


def test_a_store_that_others_run_is_measured_without_what_is_theirs(tmp_path):
    made, _ = runner(FakeStore(), tmp_path, gateways={}, keys=KEYS, quota_bytes=0, ca="")
    checks = {c.id: c.verdict for c in execute(run, made)}
    assert checks == dict.fromkeys(["A-S3-PRE", "A-S3-1", "A-S3-2", "A-S3-4", "A-S3-6"], Verdict.PASS)
    assert [n.split(" was left out")[0] for n in made.left] == ["A-S3-3", "A-S3-5"]


def test_reads_ask_for_no_more_objects_than_were_written(tmp_path):
    store = FakeStore()
    made, _ = runner(store, tmp_path)
    execute(run, made, ["A-S3-4"])
    gets = [job for _, verb, job in store.jobs if verb == "load" and job["op"] == "get"]
    assert gets
    puts = [
        len(store.load(job)["done_ms"])
        for _, verb, job in store.jobs
        if verb == "load" and job["op"] == "put"
    ]
    assert {job["counts"][0] for job in gets} <= {max(puts[2:])}


def test_what_the_controller_cannot_reach_is_left_out_and_reported(tmp_path, monkeypatch):
    monkeypatch.setattr(run, "reached", lambda url: False)
    made, _ = runner(FakeStore(), tmp_path)
    assert "A-S3-6" not in [c.id for c in execute(run, made)]
    assert any(
        "A-S3-6 was left out: the controller does not reach https://10.0.0.1:7443" in n for n in made.left
    )
