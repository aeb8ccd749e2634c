"""The verify tasks of prometheus and alertmanager: what counts as known, and what a dry run leaves out."""

import pytest

from tests.unit.fakes.roles import holds, read, value


def task(role, number=0):
    return read(role, "tasks/verify.yml")[number]


def known(number, until, *active, **more):
    """Tell whether prometheus knows its targets, three of the job `node`, by a task of its role."""
    one = task("prometheus", number)
    asked = {"json": {"data": {"activeTargets": [{"scrapePool": job} for job in active]}}, **more}
    groups = [{"targets": ["a:9100", "b:9100"]}, {"targets": ["c:9100"]}]
    have = {**one["vars"], "prometheus_targets": {"node": groups}, "_prometheus_active": asked}
    return holds(until(one), **have), have


@pytest.mark.parametrize("role", ["alertmanager", "prometheus"])
@pytest.mark.parametrize("check_mode", [True, False])
def test_a_dry_run_asks_no_one(role, check_mode):
    """Before the first run no one is there who could answer."""
    assert holds(task(role).get("when", "true"), ansible_check_mode=check_mode) is not check_mode


@pytest.mark.parametrize(("nodes", "enough"), [(2, False), (3, True)])
def test_other_jobs_do_not_stand_in_for_missing_targets(nodes, enough):
    active = ["node"] * nodes + ["blackbox", "gpu"] * 3
    assert known(0, lambda one: one["until"], *active)[0] is enough


def test_a_prometheus_that_does_not_answer_yet_is_asked_again():
    one = task("prometheus")
    targets = {"node": [{"targets": ["a:9100"]}]}
    silent = {"status": -1}
    assert not holds(one["until"], **one["vars"], prometheus_targets=targets, _prometheus_active=silent)


def test_missing_targets_are_reported_in_words():
    report = task("prometheus", 1)["ansible.builtin.assert"]
    right, have = known(1, lambda one: report["that"], "node", msg="OK (470 bytes)")
    assert not right
    reply = value(report["fail_msg"], **have)
    assert reply.startswith("Prometheus knows 1 of 3 targets")
    assert "max_user_instances" in reply
