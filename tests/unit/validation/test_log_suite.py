"""The logs suite's numbers, from raw texts: a line that is not there turns its check red."""

import json
import math

import pytest
from acceptance_fakes import execute
from log_fakes import FakeLogs

from avadm_validation.measuring.extract import compute
from avadm_validation.measuring.runner import Runner
from avadm_validation.protocol.criteria import Criteria
from avadm_validation.protocol.model import Verdict
from avadm_validation.suites.logs import run
from avadm_validation.suites.logs.run import CHECKS
from tests.controls.logs import FAULTS

WROTE = ["m comp1 1 100.5\nm comp1 2 101.5\n", "m stor1 1 100.0\n"]
ALL = {"m comp1 1 100.5": 2.0, "m comp1 2 101.5": 3.5, "m stor1 1 100.0": 1.0}


def raw(*found):
    return {"wanted": WROTE, "found": [json.dumps({"found": f, "asked": 1, "error": ""}) for f in found]}


def test_all_lines_in_all_stores_are_none_missing():
    assert compute("log_missing", raw(ALL, ALL), {}) == 0
    assert compute("log_latest", raw(ALL, {**ALL, "m stor1 1 100.0": 9.0}), {"wait_s": 60.0}) == 9


@pytest.mark.parametrize("gone", sorted(ALL))
def test_a_line_that_one_store_lacks_is_missing_and_late(gone):
    lacking = {k: v for k, v in ALL.items() if k != gone}
    assert compute("log_missing", raw(ALL, lacking), {}) == 1
    assert compute("log_latest", raw(ALL, lacking), {"wait_s": 60.0}) == 60


@pytest.mark.parametrize(
    "inputs",
    [{"wanted": [""], "found": ["{}"]}, {"wanted": WROTE, "found": []}, {"wanted": WROTE, "found": ["x"]}],
)
def test_where_nothing_was_written_or_read_there_is_no_number(inputs):
    assert math.isnan(compute("log_missing", inputs, {}))


@pytest.mark.parametrize("kind", ["lab", "stated"])
def test_each_check_is_judged(kind):
    criteria = Criteria.load(kind)
    for check in CHECKS:
        assert criteria.needed(check.ID)


def judged(folder, logs):
    """Run the suite; return its checks by their ids."""
    made = Runner(logs.target(), logs, folder, Criteria.load("lab"), "quick", "run1")
    return {check.id: check for check in execute(run, made)}


def test_good_stores_pass(tmp_path):
    checks = judged(tmp_path, FakeLogs())
    assert {i: c.verdict for i, c in checks.items()} == {c.ID: Verdict.PASS for c in CHECKS}


@pytest.mark.parametrize("fault", FAULTS, ids=lambda f: f.name)
def test_a_planted_fault_is_seen(tmp_path, fault):
    logs = FakeLogs()
    fault.plant(logs)
    check = judged(tmp_path, logs)[fault.check]
    assert check.verdict == fault.verdict, check.reasons
    assert {m.name for m in check.metrics if m.verdict is Verdict.FAIL} == set(fault.metrics)
