"""The verify tasks of prometheus and alertmanager: what counts as known, and what a dry run leaves out."""

from pathlib import Path

import pytest
from ansible.parsing.dataloader import DataLoader
from ansible.template import Templar
from ruamel.yaml import YAML

ROLES = Path(__file__).parents[4] / "roles"


def task(role, number=0):
    return YAML(typ="safe").load((ROLES / role / "tasks/verify.yml").read_text())[number]


def true(condition, **variables):
    return Templar(DataLoader(), variables=variables).template("{{" + condition + "}}")


@pytest.mark.parametrize("role", ["alertmanager", "prometheus"])
@pytest.mark.parametrize("check_mode", [True, False])
def test_a_dry_run_asks_nobody(role, check_mode):
    """Module uri has no dry run: it answers nothing, and `until` then fails."""
    assert true(task(role).get("when", "true"), ansible_check_mode=check_mode) is not check_mode


@pytest.mark.parametrize(("tls", "wanted"), [({"key": "k"}, "https://m1:9093"), ({}, "http://10.0.0.1:9093")])
def test_alertmanager_is_asked_by_a_name_of_its_certificate(tls, wanted):
    url = "https://10.0.0.1:9093" if tls else "http://10.0.0.1:9093"
    has = {
        "alertmanager_tls": tls,
        "_alertmanager_url": url,
        "alertmanager_address": "10.0.0.1",
        "inventory_hostname": "m1",
    }
    said = Templar(DataLoader(), variables=has).template(task("alertmanager")["ansible.builtin.uri"]["url"])
    assert said == f"{wanted}/api/v2/status"


@pytest.mark.parametrize(("nodes", "enough"), [(1, False), (2, True)])
def test_other_jobs_do_not_stand_in_for_missing_targets(nodes, enough):
    known = [{"scrapePool": "node"}] * nodes + [{"scrapePool": "blackbox"}, {"scrapePool": "gpu"}] * 3
    one = task("prometheus")
    assert enough is true(
        one["until"],
        **one["vars"],
        prometheus_targets={"node": [{"targets": ["a:9100"]}, {"targets": ["b:9100"]}]},
        _prometheus_active={"json": {"data": {"activeTargets": known}}},
    )


def test_a_prometheus_that_does_not_answer_yet_is_asked_again():
    one = task("prometheus")
    targets = {"node": [{"targets": ["a:9100"]}]}
    assert not true(
        one["until"], **one["vars"], prometheus_targets=targets, _prometheus_active={"status": -1}
    )


def test_missing_targets_are_told_in_words():
    one = task("prometheus", 1)
    has = {
        **one["vars"],
        "prometheus_targets": {"node": [{"targets": ["a:9100", "b:9100"]}]},
        "_prometheus_active": {
            "msg": "OK (470 bytes)",
            "json": {"data": {"activeTargets": [{"scrapePool": "node"}]}},
        },
    }
    assert not true(one["ansible.builtin.assert"]["that"], **has)
    said = Templar(DataLoader(), variables=has).template(one["ansible.builtin.assert"]["fail_msg"])
    assert said.startswith("Prometheus knows 1 of 2 targets")
    assert "max_user_instances" in said
