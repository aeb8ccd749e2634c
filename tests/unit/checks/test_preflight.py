from dataclasses import replace
from typing import get_args

import pytest

from avadm.checks.evidence import Clock
from avadm.checks.framework import run, worst
from avadm.checks.preflight import CHECKS
from avadm.site import profile
from avadm.site.model import CheckId
from avadm_node.probes.preflight import space as probe
from tests.controls.preflight import ANSWERS, VOLUME


def test_good_nodes_give_no_finding(context):
    assert {name: found for name, found in run(context, CHECKS).items() if found} == {}


@pytest.mark.parametrize("fault", ANSWERS, ids=lambda f: f"{f.check}-{f.text}")
def test_planted_fault_is_found_by_its_check_alone(context, fault):
    fault.plant(context)
    found = run(context, CHECKS)
    assert {name for name, findings in found.items() if findings} == {fault.check, *fault.besides}
    assert worst(found[fault.check]) == fault.result
    assert {f.host for f in found[fault.check]} == set(fault.hosts)
    assert fault.says in " ".join(str(v) for f in found[fault.check] for v in f.as_dict().values())
    assert all(f.remedy for f in found[fault.check])


def test_every_check_has_a_fault_and_every_error_that_a_waiver_may_name_is_a_check():
    assert {f.check for f in ANSWERS} == {c.id for c in CHECKS} == set(get_args(CheckId))


@pytest.mark.parametrize(
    "check", [c for c in CHECKS if c.facts and c.facts != ("clock",)], ids=lambda c: c.id
)
def test_a_fact_that_is_unavailable_is_an_error(context, check):
    context.facts["stor2"][check.facts[0]] = None
    context.facts["stor2"]["errors"][check.facts[0]] = "OSError: broken"
    findings = run(context, CHECKS)[check.id]
    assert [(f.host, str(f.severity)) for f in findings] == [("stor2", "error")]
    assert "broken" in findings[0].found


def test_unreachable_node_is_an_error_and_the_others_are_judged(context):
    facts = {k: v for k, v in context.facts.items() if k != "stor2"}
    facts["stor3"]["hostname"] = "other"
    found = run(replace(context, facts=facts, unreachable={"stor2": "connection refused: stor2"}), CHECKS)
    assert found["reachability"][0].host == "stor2"
    assert found["names"][0].host == "stor3"


@pytest.mark.parametrize(
    "osd",
    [{"signature": ["ceph_bluestore"]}, {"signature": ["LVM2_member"], "holders": [VOLUME]}],
    ids=["raw", "lvm"],
)
def test_our_own_services_and_osds_are_no_trouble(context, osd):
    facts = context.facts["stor2"]
    ours = {"6789": "ceph-mon", "3300": "ceph-mon", "9100": "prometheus-node", "9283": "ceph-mgr"}
    facts["listening"] = {port: [program] for port, program in ours.items()}
    facts["devices"][0].update(osd)
    assert not any(run(context, CHECKS).values())


@pytest.mark.parametrize(
    ("clock", "result"),
    [
        (Clock(40.0, 5.0), "info"),
        (Clock(205.0, 5.0), "error"),
        (Clock(-195.0, 5.0), "error"),
        (Clock(50.0, 30.0), "warning"),  # 45 ± 31 ms: may be 76
        (Clock(5.0, 80.0), "warning"),  # no difference seen, but the answer took too long to tell
    ],
)
def test_clocks(context, clock, result):
    context.clocks["stor2"] = clock
    findings = run(context, CHECKS)["clocks"]
    assert worst(findings) == result
    assert {f.host for f in findings} <= {"stor2"}


@pytest.mark.parametrize(
    ("ms", "vague"),
    [(35.0, {}), (30.0, {"vague": Clock(60.0, 70.0)})],
    ids=["each differs from the middle by less than the limit", "and a vague one hides them not"],
)
def test_two_clocks_that_are_surely_apart(context, ms, vague):
    context.clocks.update(stor1=Clock(-ms, 1.0), stor2=Clock(0.0, 1.0), stor3=Clock(ms, 1.0), **vague)
    *others, both = run(context, CHECKS)["clocks"]
    assert [(f.host, f.severity) for f in others] == [(name, "warning") for name in vague]
    assert (both.host, both.severity) == (None, "error")
    assert f"stor1 and stor3 are {2 * ms:.0f} ms apart" in both.found


def test_stated_kernel_may_have_a_suffix_but_not_another_number(context):
    stated = profile.load("stated")
    for facts in context.facts.values():
        facts["os"]["kernel"] = "4.18.5-041805-generic"
    check = next(c for c in CHECKS if c.id == "kernel")
    assert check.judge(replace(context, profile=stated)) == []
    context.facts["stor1"]["os"]["kernel"] = "4.18.50-generic"
    assert [f.host for f in check.judge(replace(context, profile=stated))] == ["stor1"]


def test_a_host_name_in_capitals_is_refused_as_the_role_base_does(context):
    context.facts["stor2"]["hostname"] = "STOR2.t.example"
    (finding,) = run(context, CHECKS)["names"]
    assert (finding.host, finding.found, finding.wanted) == ("stor2", "STOR2.t.example", "stor2")


def test_few_inodes_are_as_bad_as_little_space(context):
    context.facts["stor2"]["inodes"] = {"/": 400_000, "/var/lib": 900, "/tmp": None}
    (finding,) = run(context, CHECKS)["space"]
    assert (finding.host, finding.where, str(finding.severity)) == ("stor2", "/var/lib", "error")
    assert finding.found == "900 inodes free"


def test_the_probe_counts_inodes():
    found = probe.inodes()
    assert set(found) == set(probe.space())
    assert all(number is None or number >= 0 for number in found.values())


def test_nodes_with_base_files_of_the_next_release_are_accepted_where_the_profile_brings_them(context):
    check = next(c for c in CHECKS if c.id == "os")
    context.facts["stor1"]["os"].update(release="13", name="Debian GNU/Linux 13 (trixie)")
    found = {
        name: check.judge(replace(context, profile=profile.load(name)))
        for name in ("debian-12", "debian-12-ceph-18")
    }
    assert [f.host for f in found["debian-12"]] == ["stor1"]
    assert found["debian-12-ceph-18"] == []
    context.facts["stor1"]["os"].update(release="14")
    assert [f.host for f in check.judge(replace(context, profile=profile.load("debian-12-ceph-18")))] == [
        "stor1"
    ]
