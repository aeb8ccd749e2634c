"""Waivers: what they take away, what they leave, and what becomes of those that are over or not needed."""

from datetime import date
from pathlib import Path

import pytest

from avadm.checks.waivers import apply, of_scope
from avadm.findings import Finding, Severity
from avadm.site.load import SiteFile
from avadm.site.model import Waiver

TODAY = date(2026, 11, 21)
KERNEL = [Finding("kernel", "other", host=h) for h in ("stor1", "stor2")]
CLOCKS = [Finding("clocks", "two differ")]
ALL = ["stor1", "stor2", "stor3"]


def waiver(**values):
    base = {"check": "kernel", "nodes": ["stor1"], "who": "Ann", "why": "new kernel in May", "until": TODAY}
    return Waiver.model_validate(base | values)


@pytest.fixture
def run(site, mine):
    def run(*waivers, asked=ALL, found=None, scope="preflight"):
        changed = site.model_copy(update={"waivers": list(waivers)})
        file = SiteFile(Path("site.yml"), changed, mine)
        found = found or {"kernel": KERNEL, "clocks": CLOCKS}
        return apply(found, of_scope(file, scope), asked, TODAY, {"kernel", "clocks", "os"})

    return run


@pytest.mark.parametrize("nodes", [["stor1"], ["*1"]])
def test_only_the_named_nodes_findings_of_that_check_are_waived(run, nodes):
    stands, waived = run(waiver(nodes=nodes))
    assert stands == {"kernel": KERNEL[1:], "clocks": CLOCKS, "waivers": []}
    assert [(w.finding, w.waiver.who) for w in waived["kernel"]] == [(KERNEL[0], "Ann")]
    assert waived["kernel"][0].as_dict()["until"] == "2026-11-21"


def test_all_waives_also_what_is_about_no_single_node_and_a_role_does_not(run):
    assert run(waiver(check="clocks", nodes=["osd"]))[0]["clocks"] == CLOCKS
    stands, waived = run(waiver(check="clocks", nodes=["all"]))
    assert stands["clocks"] == []
    assert waived["clocks"][0].finding == CLOCKS[0]


def test_one_that_is_over_waives_nothing_and_is_an_error(run):
    stands, waived = run(waiver(until=date(2026, 11, 20)))
    assert stands["kernel"] == KERNEL
    assert waived == {}
    assert [(str(f.severity), "2026-11-20" in f.found, "Ann" in f.remedy) for f in stands["waivers"]] == [
        ("error", True, True)
    ]


def test_one_that_waives_nothing_is_a_warning_if_its_nodes_were_all_asked(run):
    unused = waiver(nodes=["stor3"])
    assert [str(f.severity) for f in run(unused)[0]["waivers"]] == ["warning"]
    assert run(unused, asked=["stor1"])[0]["waivers"] == []
    assert run(unused, found={"os": []})[0] == {"os": [], "waivers": []}


def test_two_waivers_do_not_take_one_finding_twice(run):
    stands, waived = run(waiver(), waiver(nodes=["stor*"]))
    assert stands["kernel"] == []
    assert [w.finding.host for w in waived["kernel"]] == ["stor1", "stor2"]


def test_without_waivers_there_is_no_such_check(run):
    assert "waivers" not in run()[0]


def test_scope_decides_whose_finding_is_waived(run):
    for check in ("kernel", "preflight:kernel"):
        assert run(waiver(check=check))[0]["kernel"] == KERNEL[1:]
        assert run(waiver(check=check), scope="doctor") == ({"kernel": KERNEL, "clocks": CLOCKS}, {})
    assert run(waiver(check="doctor:kernel")) == ({"kernel": KERNEL, "clocks": CLOCKS}, {})
    assert run(waiver(check="doctor:kernel"), scope="doctor")[0]["kernel"] == KERNEL[1:]


def test_unknown_check_is_an_error_and_waives_nothing(run):
    stands, waived = run(waiver(check="doctor:kernal"), scope="doctor")
    assert (stands["kernel"], waived) == (KERNEL, {})
    (own,) = stands["waivers"]
    assert (own.severity, own.found) == (Severity.ERROR, "doctor:kernal")
    assert "'kernel'" in own.remedy


def test_what_is_not_known_is_not_waived_and_makes_no_waiver_unused(run):
    blind = [Finding("kernel", "not seen", host="stor1", severity=Severity.UNKNOWN)]
    stands, waived = run(waiver(), found={"kernel": blind})
    assert (stands, waived) == ({"kernel": blind, "waivers": []}, {"kernel": []})
