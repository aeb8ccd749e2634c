from __future__ import annotations

from dataclasses import replace

import pytest

from avadm.checks.base import Clock, worst
from avadm.checks.preflight import CHECKS, judge
from avadm.site import profile


def planted(context, change):
    """Return the findings of all checks after a change to stor2's facts."""
    change(context.facts["stor2"])
    return judge(context)


def test_good_nodes_give_no_finding(context):
    assert {name: found for name, found in judge(context).items() if found} == {}


def _device(**values):
    return lambda f: f["devices"][0].update(values)


UUID = "0f2b6d3c--9a41--4b0e--8a77--5d1c9e0f4a2b"
VOLUME = f"ceph--{UUID}-osd--block--{UUID}"

# Each check must be able to fail: check, result, a word of the finding, the planted fault.
FAULTS = [
    ("os", "error", "Ubuntu", lambda f: f["os"].update(id="ubuntu", release="16.04", name="Ubuntu 16.04")),
    ("os", "error", "Debian 11", lambda f: f["os"].update(release="11", name="Debian 11")),
    ("kernel", "error", "5.10", lambda f: f["os"].update(kernel="5.10.0")),
    ("names", "error", "other", lambda f: f.update(hostname="other")),
    ("names", "error", "10.0.0.99", lambda f: f.update(addresses=["127.0.0.1", "10.0.0.99"])),
    ("hosts", "warning", "10.9.9.9", lambda f: f["hosts"].update({"stor1.t.example": ["10.9.9.9"]})),
    ("disks", "error", "not there", lambda f: f.update(devices=[{"matches": 0}])),
    ("disks", "error", "several", lambda f: f.update(devices=[{"matches": 2}])),
    ("disks", "error", "partition", _device(whole=False)),
    ("disks", "error", "mounted on /data", _device(used=["/data"])),
    ("disks", "error", "swap", _device(used=["swap"])),
    ("disks", "error", "held by md0", _device(holders=["md0"])),
    ("disks", "error", "partition sdb1", _device(partitions=["sdb1"])),
    ("disks", "error", "signature ext4", _device(signature=["ext4"])),
    ("disks", "error", "mounted", _device(signature=["ceph_bluestore"], used=["/data"])),
    ("disks", "error", "held by vg-data", _device(signature=["LVM2_member"], holders=["vg-data"])),
    ("disks", "error", "held by vg-data", _device(signature=["LVM2_member"], holders=[VOLUME, "vg-data"])),
    ("disks", "error", "signature LVM2_member", _device(signature=["LVM2_member"])),
    ("disks", "warning", "spinning", _device(rotational=True)),
    ("packages", "error", "chrony", lambda f: f["packages"]["candidates"].update(chrony=None)),
    ("packages", "error", "18.2", lambda f: f["packages"]["candidates"].update({"ceph-common": "18.2.7-1"})),
    ("memory", "warning", "MiB", lambda f: f["memory"].update(total_mib=4096)),
    ("space", "error", "/tmp", lambda f: f["space"].update({"/tmp": 3})),
    ("space", "warning", "/var/lib", lambda f: f["space"].update({"/var/lib": 2000})),
    ("ports", "error", "nginx", lambda f: f["listening"].update({"6789": ["nginx"]})),
    ("ports", "error", "cannot be seen", lambda f: f["listening"].update({"9100": []})),
]


@pytest.mark.parametrize(("check", "result", "word", "change"), FAULTS)
def test_planted_fault_is_found_by_its_check_alone(context, check, result, word, change):
    found = planted(context, change)
    assert [name for name, findings in found.items() if findings] == [check]
    assert worst(found[check]) == result
    assert {f.host for f in found[check]} == {"stor2"}
    assert word in " ".join(str(v) for f in found[check] for v in f.as_dict().values())
    assert all(f.remedy for f in found[check])


@pytest.mark.parametrize(
    "check", [c for c in CHECKS if c.facts and c.facts != ("clock",)], ids=lambda c: c.id
)
def test_a_fact_that_cannot_be_had_is_an_error(context, check):
    context.facts["stor2"][check.facts[0]] = None
    context.facts["stor2"]["errors"][check.facts[0]] = "OSError: broken"
    findings = judge(context)[check.id]
    assert [(f.host, str(f.severity)) for f in findings] == [("stor2", "error")]
    assert "broken" in findings[0].found


def test_unreachable_node_is_an_error_and_the_others_are_judged(context):
    facts = {k: v for k, v in context.facts.items() if k != "stor2"}
    facts["stor3"]["hostname"] = "other"
    found = judge(replace(context, facts=facts, unreachable={"stor2": "connection refused: stor2"}))
    assert found["reachability"][0].host == "stor2"
    assert found["names"][0].host == "stor3"


@pytest.mark.parametrize(
    "osd",
    [{"signature": ["ceph_bluestore"]}, {"signature": ["LVM2_member"], "holders": [VOLUME]}],
    ids=["raw", "lvm"],
)
def test_our_own_services_and_osds_are_no_trouble(context, osd):
    facts = context.facts["stor2"]
    facts["listening"] = {
        "6789": ["ceph-mon"],
        "3300": ["ceph-mon"],
        "9100": ["prometheus-node"],
        "9283": ["ceph-mgr"],
    }
    facts["devices"][0].update(osd)
    assert not any(judge(context).values())


@pytest.mark.parametrize(
    ("clock", "result"),
    [
        (Clock(40.0, 5.0), "ok"),
        (Clock(205.0, 5.0), "error"),
        (Clock(-195.0, 5.0), "error"),
        (Clock(50.0, 30.0), "warning"),  # 45 ± 31 ms: may be 76
        (Clock(5.0, 80.0), "warning"),  # no difference seen, but the answer took too long to tell
    ],
)
def test_clocks(context, clock, result):
    context.clocks["stor2"] = clock
    findings = judge(context)["clocks"]
    assert worst(findings) == result
    assert {f.host for f in findings} <= {"stor2"}


def test_clocks_that_each_differ_from_the_middle_by_less_than_the_limit(context):
    context.clocks.update(stor1=Clock(-35.0, 1.0), stor2=Clock(0.0, 1.0), stor3=Clock(35.0, 1.0))
    findings = judge(context)["clocks"]
    assert worst(findings) == "error"
    assert "stor1 and stor3 are 70 ms apart" in findings[0].found


def test_a_vague_clock_hides_no_two_that_are_surely_apart(context):
    context.clocks.update(
        stor1=Clock(-30.0, 1.0), stor2=Clock(0.0, 1.0), stor3=Clock(30.0, 1.0), vague=Clock(60.0, 70.0)
    )
    findings = judge(context)["clocks"]
    assert [(f.host, str(f.severity)) for f in findings] == [("vague", "warning"), (None, "error")]
    assert "stor1 and stor3 are 60 ms apart" in findings[1].found


def test_stated_kernel_may_have_a_suffix_but_not_another_number(context):
    stated = profile.load("stated")
    for facts in context.facts.values():
        facts["os"]["kernel"] = "4.18.5-041805-generic"
    check = next(c for c in CHECKS if c.id == "kernel")
    assert check.judge(replace(context, profile=stated)) == []
    context.facts["stor1"]["os"]["kernel"] = "4.18.50-generic"
    assert [f.host for f in check.judge(replace(context, profile=stated))] == ["stor1"]
