"""The summary at the end of an acceptance run."""

from contextlib import nullcontext
from types import SimpleNamespace

import pytest

from avadm.errors import AvadmError
from avadm.findings import Finding
from avadm.state.lock import site as site_lock
from avadm.state.lock.nodes import LockNodes
from avadm_acceptance import measurement
from avadm_acceptance.cli import exit_status, undecided


def report_of(verdicts):
    checks = [SimpleNamespace(id=i, verdict=v, reasons=[f"why {i}"]) for i, v in verdicts.items()]
    return SimpleNamespace(checks=checks, good=all(v == "PASS" for v in verdicts.values()))


@pytest.mark.parametrize(
    ("verdicts", "expected"),
    [
        ({"A-FS1": "PASS", "A-BD1": "INCONCLUSIVE"}, "--only A-BD1"),
        ({"A-FS1": "FAIL", "A-BD1": "INCONCLUSIVE"}, ""),  # what failed comes first
        ({"A-FS1": "PASS"}, ""),
    ],
)
def test_what_could_not_be_decided_is_distinguished_from_what_failed(verdicts, expected):
    text = undecided(report_of(verdicts))
    assert expected in text
    assert bool(text) == bool(expected)
    assert ("Nothing failed" in text) == bool(expected)
    assert ("why A-BD1" in text) == bool(expected)


@pytest.mark.parametrize(
    ("verdicts", "allowed", "strict"),
    [
        ({"A-FS1": "PASS"}, 0, 0),
        ({"A-FS1": "PASS", "A-BD1": "INCONCLUSIVE"}, 0, 1),
        ({"A-FS1": "FAIL", "A-BD1": "INCONCLUSIVE"}, 1, 1),
        ({"preconditions": "BLOCKED", "A-BD1": "INCONCLUSIVE"}, 1, 1),
        ({"A-FS1": "NOT RUN"}, 1, 1),
    ],
)
def test_only_what_could_not_be_decided_may_be_allowed(verdicts, allowed, strict):
    report = report_of(verdicts)
    assert (exit_status(report, True), exit_status(report, False)) == (allowed, strict)


@pytest.mark.parametrize(
    ("asked", "locale", "wanted"),
    [
        ((), "C.UTF-8", "en"),
        ((), "zh_CN.UTF-8", "zh"),
        (("--language", "zh"), "C", "zh"),
        (("--language", "en"), "zh_CN", "en"),
    ],
)
def test_a_report_is_in_the_language_that_was_asked_for(avadm, monkeypatch, asked, locale, wanted):
    seen = []

    def run(*args, language, **more):
        seen.append(language)
        raise AvadmError(Finding("test", "Nothing is measured.", "test"))

    monkeypatch.setattr(measurement, "run", run)
    monkeypatch.setattr(site_lock, "lock_nodes", lambda *args, **more: nullcontext())
    monkeypatch.setattr(LockNodes, "__init__", lambda *args: None)
    for name in ("LC_ALL", "LC_MESSAGES"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("LANG", locale)
    avadm("accept", "run", *asked)
    assert seen == [wanted]
