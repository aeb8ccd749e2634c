from __future__ import annotations

import pytest

from avadm.checks.versions import judge
from avadm.findings import Finding

WANTED = {"ceph": "16.2.", "prometheus": "2.42.", "node_exporter": "1.5."}


@pytest.fixture
def collected(site):
    def fact(i):
        return {
            "ceph_installed": "16.2.15",
            "ceph_daemons": {f"{k}.{i}": "16.2.15" for k in ("mon", "mgr", "osd", "mds", "client.admin")},
            "services": {"node_exporter": "1.5.0"},
            "stale": [],
            "kernel": "6.1",
        }

    overall = {"ceph version 16.2.15 (abc) pacific (stable)": 12}
    nodes = {f"stor{i}": fact(i) for i in (1, 2, 3)}
    return {"nodes": nodes, "ceph_versions": {"overall": overall}, "components": {}, "unreachable": {}}


def found(site, collected, phase=None) -> list[Finding]:
    return judge(site, WANTED, collected, site.nodes, phase)


@pytest.mark.parametrize("phase", [None, "base", "ceph", "cephfs", "rbd", "monitoring"])
def test_right_versions_give_no_finding(site, collected, phase):
    assert found(site, collected, phase) == []


@pytest.mark.parametrize(
    ("change", "phase", "word"),
    [
        (lambda f: f["services"].update(node_exporter="1.7.0"), None, "node_exporter"),
        (lambda f: f["ceph_daemons"].update({"osd.2": "16.2.11"}), None, "osd.2"),
        (
            lambda f: f["ceph_daemons"].update({"client.admin.2": "16.2.11"}),
            None,
            "differs from the ceph servers",
        ),
        (lambda f: f.update(ceph_installed="16.2.11"), None, "installed ceph"),
        (lambda f: f.update(stale=["ceph-osd"]), None, "replaced on disk"),
        (lambda f: f["ceph_daemons"].pop("osd.2"), "ceph", "0 of 1"),
        (lambda f: f["ceph_daemons"].pop("mds.2"), "cephfs", "ceph-mds"),
        (lambda f: f["services"].clear(), "monitoring", "node_exporter"),
        (lambda f: f.update(ceph_installed=None), "rbd", "not installed"),
    ],
)
def test_planted_fault_is_found_on_its_node(site, collected, change, phase, word):
    change(collected["nodes"]["stor2"])
    findings = found(site, collected, phase)
    assert {f.host for f in findings} == {"stor2"}
    assert word in " ".join(f"{f.what} {f.found}" for f in findings)


def test_services_are_not_missed_before_their_phase(site, collected):
    for fact in collected["nodes"].values():
        fact.update(services={}, ceph_daemons={}, ceph_installed=None)
    collected["ceph_versions"] = None
    assert found(site, collected) == []
    assert found(site, collected, "base") == []


def test_cluster_with_two_versions(site, collected):
    collected["ceph_versions"]["overall"]["ceph version 16.2.11 (d) pacific (stable)"] = 1
    assert "1 × 16.2.11" in found(site, collected)[0].found


def test_unreachable_node_is_an_error(site, collected):
    del collected["nodes"]["stor2"]
    collected["unreachable"]["stor2"] = "time-out"
    assert [(f.host, f.found) for f in found(site, collected)] == [("stor2", "time-out")]
