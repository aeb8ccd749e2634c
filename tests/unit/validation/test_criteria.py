"""Criteria files: valid, complete, and a lab's number never stands for the specification's."""

import pytest

from avadm_validation import data, registry
from avadm_validation.measuring.runner import class_of
from avadm_validation.protocol.criteria import Criteria, CriteriaError, parse, source

STORAGE = "avadm_validation.suites.storage"
SUITES = registry.suites()
# The controls are judged by what the benchmark says; neither they nor the logs have efforts.
ALL = [c.ID for name, suite in SUITES.items() if name != "cis" for c in suite.all_checks]
TIMED = [name for name in SUITES if name not in ("cis", "logs")]


@pytest.mark.parametrize("name", ["stated", "lab"])
def test_every_check_has_criteria_and_every_criterion_a_check(name):
    judged = {c.check for c in registry.criteria(name).judging.values()}
    assert judged == {c.ID for suite in SUITES.values() for c in suite.all_checks}


def test_stated_has_the_plans_numbers():
    c = {c.id: c for c in parse(source("stated"))}
    wanted = {
        "A-FS1.create": 5000,
        "A-FS1.read": 5000,
        "A-FS2.write-aggregate": 1e9,
        "A-FS3.files": 2e8,
        "A-FS4.made": 1e6,
        "A-BD1.read": 10000,
        "A-BD2.write": 1e9,
        "A-BD3.files": 5e8,
        "A-BD4.made": 1e7,
    }
    assert {k: c[k].threshold for k in wanted} == wanted
    assert all(x.class_ == "site-full" for x in c.values())
    assert c["A-FS1.create"].min_duration_s == 300 and c["A-FS1.create"].repetitions >= 5


@pytest.mark.parametrize("check", ALL)
def test_every_check_is_stated_in_words_of_both_languages(check):
    stated = Criteria.load("stated").stated(check, judged=False)
    assert stated
    assert stated.text
    assert stated.text_zh


def test_lab_criteria_are_of_class_lab():
    assert {c.class_ for c in parse(source("lab"))} == {"lab"}


def test_in_the_lab_the_stated_number_is_shown_but_not_judged():
    criteria = Criteria.load("lab")
    stated = criteria.stated("A-FS1", judged=False)
    assert stated.threshold == 5000 and not stated.judged
    assert criteria.of("A-FS1", "create").threshold != 5000


def test_all_errors_of_a_file_come_together():
    text = "class: lab\ncriteria:\n- {id: a}\n- {id: A.b, check: A, metric: c, unit: u, op: '!=', threshold: 1}\n"
    with pytest.raises(CriteriaError) as e:
        parse(text, "mine.yml")
    assert "criterion 1 (a)" in str(e.value) and "criterion 2 (A.b)" in str(e.value)


@pytest.mark.parametrize("name", TIMED)
@pytest.mark.parametrize("kind", ["lab", "site"])
@pytest.mark.parametrize("effort", ["quick", "full"])
def test_every_check_has_an_effort(name, kind, effort):
    efforts = data.efforts(f"avadm_validation.suites.{name}", kind, effort)
    assert set(efforts) == {c.ID for c in SUITES[name].all_checks}


@pytest.mark.parametrize("name", SUITES)
def test_a_suite_is_reported_by_the_ids_of_its_checks(name):
    assert {registry.suite_of(c.ID) for c in SUITES[name].all_checks} == {name}


def test_effort_full_makes_the_million():
    assert data.efforts(STORAGE, "lab", "full")["A-FS4"]["files"] == 1_000_000
    assert data.efforts(STORAGE, "site", "full")["A-BD4"]["files"] == 10_000_000


def test_classes():
    assert class_of("lab", "full") == "lab"
    assert class_of("site", "full") == "site-full"
    assert class_of("site", "quick") == "site-sampled"
