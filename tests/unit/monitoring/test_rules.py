"""The rules: promtool accepts them, every alert has its cases and says what to do."""

import re
from functools import cache
from pathlib import Path

import pytest
from ruamel.yaml import YAML

ROOT = Path(__file__).parents[3]
RULES = sorted((ROOT / "roles/prometheus/files/rules").glob("*.yml"))
CASES = sorted((Path(__file__).parent / "rules").glob("*.test.yml"))
SEVERITIES = {"critical", "warning", "info", "none"}
# It fires always; that is what it is for.
ALWAYS_FIRES = {"Watchdog"}


@cache
def load(path):
    """Return what a file holds; read once, since each alert is looked at by itself."""
    return YAML(typ="safe").load(path.read_text())


def alerts():
    return [
        rule for path in RULES for group in load(path)["groups"] for rule in group["rules"] if "alert" in rule
    ]


@cache
def checks():
    """Return (alert's name, expected samples) of every check in the case files."""
    found = []
    for path in CASES:
        for test in load(path)["tests"]:
            for check in test["promql_expr_test"]:
                name = re.search(r'alertname="(\w+)"', check["expr"])
                found.append((name.group(1), check["exp_samples"]))
    return found


def test_promtool_accepts_the_rules(tool):
    tool("promtool", "check", "rules", *RULES)


@pytest.mark.parametrize("case", CASES, ids=lambda p: p.name)
def test_alerts_fire_when_they_should_and_only_then(tool, case):
    tool("promtool", "test", "rules", case.name, cwd=case.parent)


def test_every_alert_is_shown_firing_and_not_firing():
    firing = {name for name, samples in checks() if samples}
    silent = {name for name, samples in checks() if not samples}
    wanted = {rule["alert"] for rule in alerts()}
    assert wanted - firing == set()
    assert wanted - silent == ALWAYS_FIRES
    assert (firing | silent) - wanted == set(), "cases of alerts that are gone"


@pytest.mark.parametrize("rule", alerts(), ids=lambda r: r["alert"])
def test_an_alert_says_what_is_wrong_and_what_to_do(rule):
    assert rule["labels"]["severity"] in SEVERITIES
    for annotation in ("summary", "description", "remedy"):
        assert rule["annotations"].get(annotation), f"{rule['alert']} has no {annotation}"
    assert set(rule["annotations"]) <= {"summary", "description", "remedy", "requirement"}


@pytest.mark.parametrize("rule", alerts(), ids=lambda r: r["alert"])
def test_an_alert_names_only_labels_that_it_has(rule):
    used = set(re.findall(r"\$labels\.(\w+)", " ".join(rule["annotations"].values())))
    for name, samples in checks():
        for sample in samples if name == rule["alert"] else []:
            assert used <= set(re.findall(r'(\w+)="', sample["labels"])), rule["alert"]


def test_alert_names_are_unique():
    names = [rule["alert"] for rule in alerts()]
    assert len(names) == len(set(names))


@pytest.mark.parametrize("requirement", ["K1", "K3", "K5", "K6", "K7"])
def test_known_troubles_are_watched(requirement):
    assert any(rule["annotations"].get("requirement") == requirement for rule in alerts())
