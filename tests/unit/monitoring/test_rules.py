"""The rules: promtool accepts them, every alert has its cases (rules/*.yml, components/*/alerts*.yml) and says what to do."""

import json
import re
from functools import cache
from pathlib import Path

import pytest
from ruamel.yaml import YAML

from tests.unit.fakes.roles import ROLES

RULES = sorted((ROLES / "prometheus/files/rules").glob("*.yml"))
RECORDING = RULES[0].with_name("recording.yml")
HERE = Path(__file__).parent
CASES = {path.stem: path for path in (HERE / "rules").glob("*.yml")} | {
    path.stem.partition("_")[2] or path.parent.name: path
    for path in HERE.parent.glob("components/*/alerts*.yml")
}
"""File of rules to the file of its cases; a component's has the name of what it is about."""
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


def known_trouble(trouble):
    """Return the alert of a known trouble with its case: enough lines in one of two stores, one too few in both, none."""
    series = f'avadm_log_trouble_lines{{id="{trouble["id"]}",host="comp1",node="%s"}}'
    few, enough = trouble["least"] - 1, trouble["least"]
    given = {series % "st1": f"{few}x5 {enough}x5", series % "st2": f"{few}x20"}
    fires = {"4m": [], "8m": ['{host="comp1",node="comp1"}'], "18m": []}
    return f"{trouble['id']} ({trouble['severity']})", [{"given": given, "fires": fires}]


@cache
def cases():
    """Return name of a file of rules to (alert, severity, case) of its cases."""
    troubles = load(ROLES / "log_watch/files/known-troubles.yml")["troubles"]
    found = {name: load(path) for name, path in CASES.items()} | {
        "log_troubles": dict(map(known_trouble, troubles))
    }
    return {
        name: [
            (*re.fullmatch(r"(\w+) \((\w+)\)", alert).groups(), one)
            for alert, ones in data.items()
            for one in ones
        ]
        for name, data in found.items()
    }


def for_promtool(alert, severity, case):
    """Return a case as promtool reads it; labels of an alert that fires are reported without those that all alerts have."""
    named = f'alertname="{alert}"'
    firing = f'ALERTS{{{named}, alertstate="firing", severity="{severity}"}}'
    asked = [
        (f"sum without (alertname, alertstate, severity) ({firing})", at, found)
        for at, found in case.get("fires", {}).items()
    ]
    if at := case.get("not_even_pending"):
        asked.append((f"ALERTS{{{named}}}", at, []))
    return {
        "name": f"{alert}: {case.get('about', '')}",
        "interval": case.get("every", "1m"),
        "input_series": [{"series": s, "values": str(v)} for s, v in case.get("given", {}).items()],
        "promql_expr_test": [
            {
                "expr": expr,
                "eval_time": at,
                "exp_samples": [{"labels": labels, "value": 1} for labels in found],
            }
            for expr, at, found in asked
        ],
    }


def expected():
    """Return (alert's name, labels of those that fire) at each time of each case."""
    return [
        (a, found)
        for some in cases().values()
        for a, _, one in some
        for found in one.get("fires", {}).values()
    ]


def test_promtool_accepts_the_rules(tool):
    tool("promtool", "check", "rules", *RULES)


@pytest.mark.parametrize("name", cases())
def test_alerts_fire_when_they_should_and_only_then(tool, tmp_path, name):
    path = RECORDING.with_name(f"{name}.yml")
    # Recording rules have a colon in their names.
    files = [RECORDING, path] if re.search(r"\w:\w+:", path.read_text()) else [path]
    tests = [for_promtool(*case) for case in cases()[name]]
    paths = []
    # promtool has one interval for all of a file; a case of days has one of its own, which may be longer.
    for every in sorted({one["interval"] for one in tests}):
        whole = {
            "rule_files": list(map(str, files)),
            "evaluation_interval": every,
            "group_eval_order": [group["name"] for file in files for group in load(file)["groups"]],
            "tests": [one for one in tests if one["interval"] == every],
        }
        # JSON is YAML.
        paths.append(tmp_path / f"every-{every}.json")
        paths[-1].write_text(json.dumps(whole))
    tool("promtool", "test", "rules", *paths)


def test_every_alert_is_shown_firing_and_not_firing():
    firing = {name for name, found in expected() if found}
    silent = {name for name, found in expected() if not found}
    wanted = {rule["alert"] for rule in alerts()}
    assert wanted - firing == set(), "write a case that fires into alerts.yml of tests/unit/components/NAME"
    assert wanted - silent == ALWAYS_FIRES, "write a case that does not fire beside the one that does"
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
    for labels in (one for name, found in expected() if name == rule["alert"] for one in found):
        assert used <= set(re.findall(r'(\w+)="', labels)), rule["alert"]


def test_alert_names_are_unique():
    names = [rule["alert"] for rule in alerts()]
    assert len(names) == len(set(names))


@pytest.mark.parametrize("requirement", ["K1", "K3", "K5", "K6", "K7"])
def test_known_troubles_are_watched(requirement):
    assert any(rule["annotations"].get("requirement") == requirement for rule in alerts())
