"""The storage suite's checks on raw numbers: a good cluster passes, each planted fault fails its metric and no other."""

import pytest
from storage_fakes import FakeStorage

from avadm_validation.measuring.extract import compute, facts
from avadm_validation.measuring.runner import Runner
from avadm_validation.protocol.criteria import Criteria
from avadm_validation.protocol.model import Verdict
from avadm_validation.suites.storage.checks import CHECKS, fs3
from tests.controls.storage import FAULTS

# A-FS3 asks the MDS for its memory: test_checks_locally.py has it.
PLAYED = {c.ID: c for c in CHECKS if c is not fs3}


def judged(folder, storage, which):
    """Make one check by the lab's quick effort; return its result."""
    made = Runner(storage.target(), storage, folder, Criteria.load("lab"), "quick", "run1")
    return made.one(PLAYED[which], made.efforts("avadm_validation.suites.storage")[which])


@pytest.mark.parametrize("which", PLAYED)
def test_a_good_cluster_passes(tmp_path, which):
    check = judged(tmp_path, FakeStorage(), which)
    assert check.verdict is Verdict.PASS, check.reasons
    for sample in (s for m in check.metrics for s in m.samples):
        texts = {g: [(tmp_path / p).read_text() for p in paths] for g, paths in sample.inputs.items()}
        assert compute(sample.extract, texts, sample.params) == sample.value
        assert facts(sample.extract, texts, sample.params)[0] == sample.seconds


@pytest.mark.parametrize("fault", FAULTS, ids=lambda f: f"{f.check}-{f.name}")
def test_a_planted_fault_is_seen(tmp_path, fault):
    storage = FakeStorage()
    fault.plant(storage)
    check = judged(tmp_path, storage, fault.check)
    assert check.verdict == fault.verdict, check.reasons
    assert {m.name for m in check.metrics if m.verdict not in (None, Verdict.PASS)} == set(fault.metrics)
    assert check.remedy
