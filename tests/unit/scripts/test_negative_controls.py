"""The table of negative controls: no check and no kind of number without one, every row's test exists."""

import ast
import re
from functools import cache

import pytest

from avadm_validation import registry
from tests.controls.acceptance import CONTROLS, FAULTS
from tests.unit.fakes.scripts import ROOT

JUDGING = registry.criteria("lab").judging.values()


def kind(criterion):
    """Return what sort of number a criterion judges: numbers of one kind are extracted and judged in one way."""
    if criterion.metric.endswith("-p99"):
        return "percentile"
    if criterion.unit.endswith("/s"):
        return "rate"
    return {"bool": "answer", "ratio": "ratio", "%": "ratio", "s": "duration", "ms": "duration"}.get(
        criterion.unit, "count"
    )


def judged():
    """Yield the kinds of number that each suite judges, with the suite's checks."""
    for name, suite in registry.suites().items():
        checks = {c.ID for c in suite.all_checks}
        for found in sorted({kind(c) for c in JUDGING if c.check in checks}):
            yield pytest.param(checks, found, id=f"{name}-{found}")


@pytest.mark.parametrize("check", [c.ID for suite in registry.suites().values() for c in suite.all_checks])
def test_every_acceptance_check_has_a_fault_of_its_own(check):
    assert [c for c in CONTROLS if c.check == check]


@pytest.mark.parametrize(("checks", "found"), [*judged()])
def test_every_kind_of_number_of_a_suite_has_a_fault(checks, found):
    numbers = {(c.check, c.metric) for c in JUDGING if c.check in checks and kind(c) == found}
    assert [c for c in CONTROLS for m in re.split(r"[(), ]+", c.verdict) if (c.check, m) in numbers]


@pytest.mark.parametrize("control", CONTROLS, ids=lambda c: f"{c.check}-{c.name}")
def test_the_test_that_a_row_names_exists(control):
    path, _, function = control.test.partition("::")
    assert function in functions(path)


@cache
def functions(path):
    """Return the names of a file's functions."""
    tree = ast.parse((ROOT / path).read_text())
    return {n.name for n in ast.walk(tree) if isinstance(n, ast.FunctionDef)}


def test_a_fault_that_lasts_says_how_it_is_taken_away():
    assert not [f.name for f in FAULTS if not f.beside and not all(a.undo for a in f.acts)]
    assert len({f.name for f in FAULTS}) == len(FAULTS)
