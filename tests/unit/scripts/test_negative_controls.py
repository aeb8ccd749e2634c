"""The table of negative controls: no check without one, every row's test exists."""

import ast
import re

import pytest

from avadm_validation import registry
from tests.controls.acceptance import CONTROLS, FAULTS
from tests.unit.fakes.scripts import ROOT

ATTACKS = {c.id for c in registry.suites()["platform"].criteria("lab")}
"""Each is tried in each run from where it must get through, too: that is its control."""
JUDGED = [c for c in registry.criteria("lab").judging.values() if c.id not in ATTACKS]


@pytest.mark.parametrize("check", [c.ID for suite in registry.suites().values() for c in suite.all_checks])
def test_every_acceptance_check_has_a_fault_of_its_own(check):
    assert [c for c in CONTROLS if c.check == check]


@pytest.mark.parametrize("criterion", JUDGED, ids=lambda c: c.id)
def test_every_judged_number_has_a_fault(criterion):
    assert [
        c
        for c in CONTROLS
        if c.check == criterion.check and criterion.metric in re.split(r"[(), ]+", c.verdict)
    ]


@pytest.mark.parametrize("control", CONTROLS, ids=lambda c: f"{c.check}-{c.name}")
def test_the_test_that_a_row_names_exists(control):
    path, _, function = control.test.partition("::")
    tree = ast.parse((ROOT / path).read_text())
    assert function in [n.name for n in ast.walk(tree) if isinstance(n, ast.FunctionDef)]


def test_a_fault_that_lasts_says_how_it_is_taken_away():
    assert not [f.name for f in FAULTS if not f.beside and not all(a.undo for a in f.acts)]
    assert len({f.name for f in FAULTS}) == len(FAULTS)
