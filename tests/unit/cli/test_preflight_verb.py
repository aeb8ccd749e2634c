"""What `avadm preflight` prints, writes and exits with, over nodes that are made up."""

import json
from datetime import date, timedelta

import pytest
from junitparser import JUnitXml

from avadm.checks.evidence import PreflightContext
from avadm.findings import Finding, Severity

SITE = """
name: base
profile: lab-bookworm
network: {management: 10.0.0.0/24, domain: lab.internal}
time: {servers: [ntp.example.com]}
nodes:
"""
OVER, TOMORROW = date(2026, 1, 1), date.today() + timedelta(days=1)


def waiver(until):
    return f"waivers: [{{check: os, nodes: [cpu01], who: Ann, why: moved in May, until: {until}}}]\n"


def findings():
    kernel = [
        Finding("kernel", "Another kernel.", "uname -r", "4.15", "4.18", "Install it.", host=f"cpu{i:02}")
        for i in range(1, 13)
    ]
    os = Finding("os", "Another system.", "", "Debian 11", "Debian 12", "Install it.", host="cpu01")
    space = Finding("space", "Little room.", "/", "3 MiB", "9 MiB", "Make room.", Severity.WARNING, "cpu02")
    return {"space": [space], "os": [os], "kernel": kernel, "clocks": []}


@pytest.fixture
def avadm(called, tmp_path, monkeypatch):
    monkeypatch.setattr("avadm.checks.collect.collect", lambda s, p, n, *_: PreflightContext(s, p, n, {}))
    monkeypatch.setattr("avadm.checks.framework.run", lambda *_: findings())
    monkeypatch.setattr("avadm.remote.keyfile.usable", lambda path: None)
    nodes = "".join(f"  - {{name: cpu{i:02}, address: 10.0.0.{i}}}\n" for i in range(1, 13))

    def run(*arguments, waiver=""):
        (tmp_path / "site.yml").write_text(SITE + nodes + waiver)
        code, out, err = called("--site", tmp_path / "site.yml", "preflight", *arguments)
        assert err == ""
        return code, out

    return run


def test_one_fault_of_many_nodes_is_one_line_and_the_worst_comes_first(avadm):
    code, out = avadm()
    assert code == 1
    heads = [line for line in out.splitlines() if line[0] in "✗!✓~"]
    assert heads == [
        "✗ 12 nodes: kernel 4.15, expected 4.18: cpu01-12",
        "✗ os Debian 11, expected Debian 12: cpu01",
        "! space 3 MiB, expected 9 MiB: cpu02",
        "✓ clocks",
    ]
    assert "2 errors to fix first" in out


def test_a_waived_finding_is_shown_with_its_waiver_and_fails_nothing(avadm):
    code, out = avadm("--json", waiver=waiver(TOMORROW))
    data = json.loads(out)
    os = next(c for c in data["checks"] if c["id"] == "os")
    assert (os["result"], os["findings"]) == ("ok", [])
    (waived,) = os["waived"]
    wanted = {"host": "cpu01", "who": "Ann", "why": "moved in May", "until": str(TOMORROW)}
    assert waived.items() >= wanted.items()
    first = data["summary"][0]
    assert (first["check"], len(first["hosts"]), first["found"]) == ("kernel", 12, {"4.15": 12})
    code, out = avadm(waiver=waiver(TOMORROW))
    assert "~ os Debian 11, expected Debian 12: cpu01" in out
    assert f"waived by Ann until {TOMORROW}: moved in May" in out
    assert code == 1  # for the kernel


def test_an_ended_waiver_is_an_error_of_its_own(avadm):
    code, out = avadm(waiver=waiver(OVER))
    assert code == 1
    assert "✗ waivers until 2026-01-01, expected a day to come" in out
    assert "✗ os Debian 11" in out


def test_junit_has_a_case_for_each_check_and_node(avadm, tmp_path):
    avadm("--junit", tmp_path / "j.xml", waiver=waiver(TOMORROW))
    suites = {s.name: s for s in JUnitXml.fromfile(str(tmp_path / "j.xml"))}
    assert suites.keys() == {"space", "os", "kernel", "clocks", "waivers"}
    odd = {"os": (12, 0, 1), "kernel": (12, 12, 0)}
    counts = {n: (s.tests, s.failures, s.skipped) for n, s in suites.items()}
    assert counts == dict.fromkeys(suites, (12, 0, 0)) | odd
    case = next(c for c in suites["os"] if c.name == "cpu01")
    assert "Ann" in case.result[0].message


def test_a_junit_file_that_cannot_be_written_is_reported(avadm, tmp_path):
    with pytest.raises(AssertionError, match="cannot be written"):
        avadm("--junit", tmp_path / "none" / "j.xml")
