"""The cache suite: a good cache passes and verifies, each planted fault is seen, nothing is left behind."""

import pytest
from acceptance_fakes import assert_seen, execute, sealed
from cache_fakes import OWNER, FakeCache, clean

from avadm_validation.measuring.extract import compute, facts
from avadm_validation.measuring.runner import Runner
from avadm_validation.protocol.criteria import Criteria
from avadm_validation.protocol.model import Verdict
from avadm_validation.protocol.verify import verify
from avadm_validation.suites.alluxio import run
from avadm_validation.suites.alluxio.checks import CHECKS, PRECONDITIONS
from tests.controls.cache import FAULTS

SMALL = {"size": 1024, "large_size": 4096, "small_size": 512, "large_count": 2, "small_count": 3, "count": 3}
SHORT = {"settle_s": 0, "more_s": 0.2, "beyond_s": 0.2, "for_s": 0.6, "kill_s": 0.1, "repetitions": 2}
EFFORTS = Runner.efforts


@pytest.fixture(autouse=True)
def _small(monkeypatch):
    def efforts(runner, package):
        own = {c: {**p, **SMALL, **SHORT} for c, p in EFFORTS(runner, package).items()}
        own["A-AL-EVICT"]["size"] = 1 << 20
        return own

    monkeypatch.setattr(Runner, "efforts", efforts)


def suite(folder, cache):
    report = folder / "report"
    report.mkdir()
    made = Runner(cache.target(), cache, report, Criteria.load("lab"), "quick", "run1" + folder.name[-8:])
    made.warn = lambda text: None
    return made


def test_a_good_cache_passes_and_its_report_verifies(tmp_path):
    cache = FakeCache(tmp_path / "nodes")
    made = suite(tmp_path, cache)
    checks = execute(run, made)
    assert [c.id for c in checks] == [c.ID for c in (PRECONDITIONS, *CHECKS)]
    assert {c.id: c.reasons for c in checks if c.verdict is not Verdict.PASS} == {}
    report = sealed(made, checks, made.folder, suite="alluxio", effort="quick")
    assert verify(report, made.folder, compute, facts, made.criteria) == []
    assert made.left == []
    assert clean(cache.store)
    assert clean(cache.bucket)


def test_the_first_and_the_second_read_have_an_interval_for_large_and_small_files(tmp_path):
    checks = execute(run, suite(tmp_path, FakeCache(tmp_path / "nodes")), ["A-AL-HIT"])
    metrics = {m.name: m for m in checks[1].metrics}
    for kind in ("large", "small"):
        assert metrics[f"{kind}-cephfs"].ci95 is not None
        assert len(metrics[f"{kind}-cephfs"].samples) == SHORT["repetitions"]


def test_repetitions_that_do_not_fit_into_a_worker_together_are_not_read_before_any_is_read_again(
    tmp_path, monkeypatch
):
    monkeypatch.setitem(SMALL, "large_size", 1 << 19)
    monkeypatch.setitem(SHORT, "repetitions", 4)
    checks = execute(run, suite(tmp_path, FakeCache(tmp_path / "nodes")), ["A-AL-HIT"])
    assert checks[1].verdict is Verdict.PASS, checks[1].reasons


@pytest.mark.parametrize("fault", FAULTS, ids=lambda f: f.name)
def test_a_planted_fault_is_seen(tmp_path, fault):
    cache = FakeCache(tmp_path / "nodes")
    fault.plant(cache)
    assert_seen(run, suite(tmp_path, cache), fault, PRECONDITIONS.ID)
    assert clean(cache.store)
    assert clean(cache.bucket)


def test_what_a_killed_run_left_is_removed_and_nothing_else(tmp_path):
    cache = FakeCache(tmp_path / "nodes")
    for place in (cache.store, cache.bucket):
        for name in ("avadm-accept-20260101x1", "mine"):
            (place / name).mkdir(parents=True)
            (place / name / "f000000").write_text("x")
    execute(run, suite(tmp_path, cache), ["A-AL-CHANGE"])
    assert clean(cache.store) and clean(cache.bucket)
    assert (cache.store / "mine/f000000").exists() and (cache.bucket / "mine/f000000").exists()


def test_a_change_is_tried_in_cephfs_and_in_a_bucket(tmp_path):
    checks = execute(run, suite(tmp_path, FakeCache(tmp_path / "nodes")), ["A-AL-CHANGE"])
    metrics = {m.name: m for m in checks[1].metrics}
    assert {"seen-cephfs", "seen-s3"} < metrics.keys()
    assert all(0 <= metrics[f"seen-{name}"].mean < 1 for name in ("cephfs", "s3"))
    assert {len(metrics[name].samples) for name in ("late", "mixed", "wrong", "unread")} == {2}


@pytest.mark.parametrize("cephfs", [True, False])
@pytest.mark.parametrize("objects", [True, False])
def test_a_change_is_tried_where_someone_can_write_behind_the_cache(tmp_path, cephfs, objects):
    cache = FakeCache(tmp_path / "nodes")
    cache.cephfs_there, cache.objects_there = cephfs, objects
    check = execute(run, suite(tmp_path, cache), ["A-AL-CHANGE"])[1]
    seen = {m.name for m in check.metrics if m.name.startswith("seen")}
    assert seen == {*(["seen-cephfs"] if cephfs else []), *(["seen-s3"] if objects else [])}
    assert check.verdict == (Verdict.PASS if seen else Verdict.BLOCKED), check.reasons


def test_what_was_written_to_a_bucket_that_the_cache_may_not_change_is_removed_by_s3(tmp_path):
    cache = FakeCache(tmp_path / "nodes")
    cache.bucket_read_only = True
    made = suite(tmp_path, cache)
    check = execute(run, made, ["A-AL-CHANGE"])[1]
    assert check.verdict is Verdict.PASS, check.reasons
    assert made.left == []
    assert [p.name for p in cache.bucket.iterdir()] == ["kept"]


def test_an_owners_keys_are_in_no_command_line_and_in_no_file_of_the_report(tmp_path):
    cache = FakeCache(tmp_path / "nodes")
    made = suite(tmp_path, cache)
    execute(run, made, ["A-AL-CHANGE"])
    assert not [c for _, c in cache.ran if OWNER[1] in c]
    texts = [p.read_text() for p in made.folder.rglob("*") if p.is_file()]
    assert texts
    assert not [t for t in texts if OWNER[1] in t]
    assert OWNER[1] not in repr(made.target)
