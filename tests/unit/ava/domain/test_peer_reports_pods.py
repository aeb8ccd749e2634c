"""Public reports of peers about what becomes of a run's pods: memory, time limits, stops, nodes that go away."""

from __future__ import annotations

from datetime import timedelta

import pytest

from ava.domain import states
from ava.domain.model import Outcome
from ava.domain.pod_status import merge, read
from ava.domain.spec import Git, Spec
from ava.operator.policies import decide
from ava.services.runs.rules import code
from ava.services.runs.rules.site import Site
from tests.unit.ava.operator.test_policies import NOW, run

ONE = Spec.model_validate({"image": "i", "time_limit": 600})
WORKER = ("worker", 0)


def shown(exit_code, reason="", *, phase="Failed", deleted=False, status=None):
    """Return the state of the only pod, as its object tells of its end."""
    ended = {"exitCode": exit_code, "reason": reason, "finishedAt": "2026-11-24T00:10:00Z"}
    meta = {"name": "p", "labels": {"ava.io/role": "worker", "ava.io/index": "0"}}
    if deleted:
        meta["deletionTimestamp"] = "2026-11-24T00:09:59Z"
    return read(
        {
            "metadata": meta,
            "spec": {
                "nodeName": "n1",
                "containers": [{"resources": {"limits": {"memory": str(2**30)}}}],
            },
            "status": {"phase": phase, "containerStatuses": [{"state": {"terminated": ended}}]}
            | (status or {}),
        },
        NOW,
    )


def decided(state, *, minutes=5, stop=None, present=True):
    there = {WORKER} if present else ()
    return decide(run(ONE, stop=stop), ONE, {WORKER: state}, there, NOW + timedelta(minutes=minutes))


@pytest.mark.parametrize("exit_code", [0, 1, 9, 137])
def test_memory_is_named_as_the_cause_whatever_the_exit_code(exit_code):
    state = shown(exit_code, "OOMKilled")
    assert (state.reason, state.message) == ("OOMKilled", "limit 1.00 GiB")
    answer = decided(state)
    assert answer.outcome is Outcome.FAILED
    assert states.EXPLAINED["OOMKilled"].split(";")[0] in answer.reason


def test_an_eviction_is_reported_as_one():
    report = {"reason": "Evicted", "message": "The node was low on resource: memory."}
    assert shown(137, "Error", status=report).reason == "Evicted"


@pytest.mark.parametrize("exit_code", [0, 1, 143])
def test_a_stop_is_a_stop_however_the_program_ended_then(exit_code):
    before = shown(0, phase="Running")
    phase = "Failed" if exit_code else "Succeeded"
    after = merge(before, shown(exit_code, phase=phase, deleted=True))
    assert decided(after, stop="stopped").outcome is Outcome.STOPPED
    assert decided(after, stop="stopped", present=False).outcome is Outcome.STOPPED


@pytest.mark.parametrize("exit_code", [0, 1, 143, 137])
def test_a_time_limit_is_one_however_the_program_ended_then(exit_code):
    before = shown(0, phase="Running")
    assert decided(before, minutes=11).outcome is Outcome.TIMED_OUT
    phase = "Failed" if exit_code else "Succeeded"
    after = merge(before, shown(exit_code, phase=phase, deleted=True))
    assert decided(after, minutes=11).outcome is Outcome.TIMED_OUT


def test_a_node_that_went_away_is_distinguished_from_a_program_that_failed():
    state = shown(0, phase="Running", status={"reason": "NodeLost"})
    assert decided(state, present=False).outcome is Outcome.LOST
    assert decided(shown(1)).outcome is Outcome.FAILED


@pytest.mark.parametrize(
    "url",
    [
        "https://user:s3cret@git.example.org/a.git",
        "https://s3cret@git.example.org/a.git",
        "ssh://git:s3cret@git.example.org/a.git",
    ],
)
def test_a_git_url_with_a_secret_is_refused_and_not_repeated(url):
    site = Site(queues={}, pools=(), clusters=())
    found = code.git(Git(url=url, commit="0" * 40), site, "spec.git")
    assert "git-secret" in [p.code for p in found]
    assert "s3cret" not in str(found)
