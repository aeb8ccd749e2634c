"""The lab's thresholds decide: a healthy lab passes, busy or not, and what is planted fails (docs/reference/acceptance.md)."""

from types import SimpleNamespace

import numpy as np
import pytest
from scipy.stats import t as student_t

from avadm_validation import data
from avadm_validation.calibrate import is_time, lines
from avadm_validation.measuring.runner import longer
from avadm_validation.protocol.criteria import parse, source
from avadm_validation.protocol.model import Sample, Verdict
from avadm_validation.protocol.verdict import judge

MEANS = {c.id: c for c in parse(source("lab")) if c.rule == "mean"}
PLANTED = {i for i, c in MEANS.items() if c.seen and c.seen.faulty}
TIMES = {c.id: c for c in parse(source("lab")) if is_time(c)}
# What a setting or a promise bounds, and not the machine's load.
BOUND = {"preconditions.skew", "K-QUOTA.freed", "A-S3-5.pause", "A-LOG-ARRIVE.latest", "A-SC2.freed"}
# A site's number, until a busy lab is measured: anyone who fills `seen` takes it out of here.
NOT_MEASURED = {"K-API.write-p99", "K-API.get-p99", "K-API.list-p99"}
RUNS = 40_000


def looks(criterion):
    """Return how many repetitions the first measurement has, and the second, by the lab's quick effort."""
    suite = "objects" if criterion.check.startswith("A-S3") else "storage"
    params = data.efforts(f"avadm_validation.suites.{suite}", "lab", "quick")[criterion.check]
    assert params["again"] > 1
    return params["repetitions"], longer(params, params["again"])["repetitions"]


def simulate(criterion, mean, cov):
    """Return the shares of PASS and FAIL of many runs: a second measurement where the first does not decide.

    Repetitions are lognormal: never below 0, and a stall weighs. The second's windows are taken to vary as the first's,
    though they are longer.
    """
    rng, width = np.random.default_rng(7), np.sqrt(np.log(1 + cov * cov))
    passed = failed = 0.0
    undecided = 1.0
    for n in looks(criterion):
        x = rng.lognormal(np.log(mean) - width * width / 2, width, (RUNS, n))
        half = student_t.ppf(0.975, n - 1) * x.std(axis=1, ddof=1) / np.sqrt(n)
        low, high = x.mean(axis=1) - half, x.mean(axis=1) + half
        at_least = criterion.op == ">="
        good = (low >= criterion.threshold) if at_least else (high <= criterion.threshold)
        bad = (high < criterion.threshold) if at_least else (low > criterion.threshold)
        passed, failed = passed + undecided * good.mean(), failed + undecided * bad.mean()
        undecided *= 1 - good.mean() - bad.mean()
    return passed, failed


def test_each_threshold_of_a_mean_says_what_it_is_derived_from():
    assert [c.id for c in MEANS.values() if c.seen is None] == []
    assert {c.check for c in MEANS.values()} == {
        "A-FS1",
        "A-FS2",
        "A-FS5",
        "A-BD1",
        "A-BD2",
        "A-BD5",
        "A-S3-4",
    }


@pytest.mark.parametrize("which", MEANS)
def test_a_healthy_lab_passes_but_for_one_in_a_thousand(which):
    c = MEANS[which]
    assert 1 - simulate(c, c.seen.worst, c.seen.cov)[0] < 1e-3


@pytest.mark.parametrize("which", sorted(PLANTED))
@pytest.mark.parametrize("cov", [0.02, 0.3])
def test_a_planted_fault_is_found(which, cov):
    c = MEANS[which]
    passed, failed = simulate(c, c.seen.faulty, cov)
    assert passed < 1e-4
    assert failed > 0.97
    assert c.threshold >= 1.25 * c.seen.faulty


def test_the_threshold_of_before_did_not_decide():
    """What was seen on 2026-11-23: A-FS1 at 114 files/s against 100, A-BD1 at 254 requests/s against 200."""
    for which, threshold in (("A-FS1.create", 100), ("A-BD1.write", 200)):
        c = MEANS[which].model_copy(update={"threshold": threshold})
        assert 1 - simulate(c, c.seen.worst, c.seen.cov)[0] > 0.2


def test_the_simulation_judges_as_the_protocol_does():
    c = MEANS["A-FS1.create"]
    for values, wanted in (((97, 105, 114, 123, 131), Verdict.PASS), ((20, 25, 27, 26, 22), Verdict.FAIL)):
        assert judge([Sample(value=v, extract="rate") for v in values], c, "lab")[0] is wanted


def test_a_time_lies_between_twice_the_worst_of_a_healthy_lab_and_its_fault():
    assert {i for i, c in TIMES.items() if c.seen is None} == BOUND | NOT_MEASURED
    for c in (c for c in TIMES.values() if c.seen):
        assert c.threshold >= 2 * c.seen.worst, c.id
        assert c.seen.faulty is None or c.threshold <= 0.8 * c.seen.faulty, c.id


def test_what_runs_measured_is_proposed_with_the_worst_of_them():
    """Twice the slowest for a time, a third of the slowest mean for a rate."""

    def report(p99, rate):
        metrics = [("K-API", "write-p99", p99, None), ("A-FS1", "create", rate, 0.1 * p99)]
        checks = [
            SimpleNamespace(id=i, metrics=[SimpleNamespace(name=n, mean=m, cov=v)]) for i, n, m, v in metrics
        ]
        return SimpleNamespace(checks=checks)

    answer = {
        one.partition(":")[0]: one for one in lines([report(0.4, 200), report(0.9, 500)], 0.35, "2 cores")
    }
    assert answer["K-API.write-p99"].startswith(
        "K-API.write-p99: threshold: 1.8, seen: {worst: 0.9}  # 2 runs, mean 0.65, 2 cores"
    )
    assert "threshold: 70, seen: {worst: 200, cov: 0.09}" in answer["A-FS1.create"]
    assert "measured 0 times" in answer["K-API.get-p99"]
