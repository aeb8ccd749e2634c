"""How long a user waits for a workbench whose image is there."""

import time
from statistics import quantiles

import pytest

from tests.lab.ava.bench_people import SPEC
from tests.lab.waiting import until

pytestmark = [pytest.mark.lab, pytest.mark.slow]
STARTS = 15
P99 = 5.0
"""Seconds; what is judged here is the half of them, since the lab's one p99 is what its neighbours on the machine do."""


def test_a_workbench_runs_five_seconds_after_it_was_asked_for(people):
    one = people.eve.ava.define("start", SPEC)
    took = []
    for _ in range(STARTS):
        began = time.monotonic()
        run = people.eve.ava.start_definition(one.id)
        until(lambda run=run: people.eve.ava.run(run.id).state == "running", 120, step=0.1)
        took.append(time.monotonic() - began)
        people.eve.stop(run.id)
    cuts = quantiles(took, n=100, method="inclusive")
    print(f"submit to running: p50 {cuts[49]:.1f} s, p99 {cuts[98]:.1f} s, {STARTS} starts")
    assert cuts[49] <= P99
