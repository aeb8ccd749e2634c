"""Each check of the doctor both ways: nothing to say of a healthy site, the right word about each trouble."""

import re

import pytest

from avadm.checks.framework import STATUS, flat, run
from avadm.doctor.checks import CHECKS, relevant
from avadm.findings import Severity
from tests.unit.components import snapshots
from tests.unit.doctor.faulty_snapshots import CASES as OTHERS
from tests.unit.doctor.faulty_snapshots_admission import ADMISSION_CASES
from tests.unit.doctor.faulty_snapshots_data import DATA_CASES
from tests.unit.doctor.healthy import data, pod, snapshot

CASES = (*OTHERS, *DATA_CASES, *ADMISSION_CASES, *snapshots.CASES)


def test_a_healthy_site_is_well_and_every_check_has_looked():
    results = flat(run(snapshot(), CHECKS))
    assert {c.id for c in CHECKS} - {r.check for r in results} == set()
    wrong = [f"{r.check} at {r.where}: {r.found}" for r in results if r.severity is not Severity.INFO]
    hint = "a question without a reply is missing in HEALTHY of tests/unit/components/NAME/snapshots.py"
    assert not wrong, "\n".join([f"{hint}, or in tests/unit/doctor/healthy.py:", *wrong])


@pytest.mark.parametrize("case", CASES, ids=lambda c: c.name)
def test_trouble_is_found_where_it_is(case):
    changed = data()
    case.change(changed)
    mine = [
        r
        for r in flat(run(snapshot(changed), CHECKS))
        if r.check == case.check and r.severity is not Severity.INFO
    ]
    hits = [r for r in mine if case.where in r.where and case.says in r.found]
    assert hits, mine
    assert STATUS[hits[0].severity] == case.status
    assert hits[0].remedy


def test_a_pod_that_does_not_end_is_reported_once_whatever_kubelet_calls_it():
    changed = data()
    changed["nodes"]["mast1"]["parts"]["kubernetes"]["pods"] = [pod(phase="Pending", late_s=300)]
    reports = [r.check for r in flat(run(snapshot(changed), CHECKS)) if r.severity is not Severity.INFO]
    assert reports == ["pods-ending"]


def test_every_check_has_a_trouble_in_the_table():
    assert {c.check for c in CASES} == {c.id for c in CHECKS}


def test_every_known_incident_has_a_check():
    found = {word for c in CHECKS for word in re.findall(r"K\d+", c.requirement)}
    assert found == {f"K{i}" for i in range(1, 13)}


@pytest.mark.parametrize("check", [c for c in CHECKS if c.facts], ids=lambda c: c.id)
def test_what_could_not_be_looked_at_is_unknown_and_never_ok(check):
    changed = data()
    for node in changed["nodes"].values():
        node["parts"].pop(check.facts[0], None)
        node["errors"][check.facts[0]] = "no reply"
    mine = [r for r in flat(run(snapshot(changed), CHECKS)) if r.check == check.id]
    assert mine
    assert {r.severity for r in mine} == {Severity.UNKNOWN}
    assert mine[0].found == "no reply"


@pytest.mark.parametrize("nonsense", [[], {}, "x", 7, [None], {"a": None}], ids=repr)
def test_nonsense_of_nodes_ends_no_run(nonsense):
    changed = data()
    for node in changed["nodes"].values():
        node["parts"] = dict.fromkeys(node["parts"], nonsense)
    assert flat(run(snapshot(changed), CHECKS))


def test_nonsense_is_unknown():
    changed = data()
    changed["nodes"]["stor1"]["parts"]["memory"] = {}
    (result,) = [r for r in flat(run(snapshot(changed), CHECKS)) if r.check == "memory"]
    assert (result.severity, result.where) == (Severity.UNKNOWN, "stor1")


def test_a_second_witness_answers_for_the_first():
    changed = data()
    changed["nodes"]["stor1"] |= {"silent": "down", "parts": {}, "clock": None}
    health = [r for r in flat(run(snapshot(changed), CHECKS)) if r.check == "ceph-health"]
    assert [r.severity for r in health] == [Severity.INFO]


def test_parts_that_were_not_asked_for_are_not_reported():
    changed = data() | {"asked": ["memory"]}
    found = {r.check for r in flat(run(snapshot(changed), CHECKS))}
    assert found == {"memory", "node-reached", "node-clock", "ledger", "component-profiles", "operations"}


@pytest.mark.parametrize("part", ["etcd", "kubernetes"])
def test_a_comparison_with_what_is_not_known_is_unknown(part):
    changed = data()
    for node in changed["nodes"].values():
        node["parts"].pop(part, None)
    by = {r.check: r.severity for r in flat(run(snapshot(changed), CHECKS))}
    assert by["kube-reset" if part == "etcd" else "calico-leaks"] is Severity.UNKNOWN


def test_of_a_site_that_is_down_on_purpose_only_that_is_reported():
    changed = data()
    for node in changed["nodes"].values():
        node |= {"silent": "no route", "parts": {}, "clock": None}
    many = flat(run(snapshot(changed), relevant(snapshot(changed), CHECKS)))
    assert len({r.check for r in many if r.severity is not Severity.INFO}) > 20
    note = {"words": "powered down since noon by ops@desk", "state": "down", "command": "avadm power down"}
    changed["operations"]["power"] = [note]
    [found] = flat(run(snapshot(changed), relevant(snapshot(changed), CHECKS)))
    assert (found.severity, found.found) == (Severity.ERROR, "powered down since noon by ops@desk (down)")
    assert "avadm power up" in found.remedy
