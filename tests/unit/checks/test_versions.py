import re
import subprocess
import time

import pytest

from avadm.checks.versions import PARTS, PROGRAMS, judge
from avadm.components.catalog import PHASES
from avadm.site import profile as profiles
from avadm_node.probes import versions as probe

OLD = "16.2.11"
WANTED = {"ceph": "16.2.", "prometheus": "2.42.", "node_exporter": "1.5."}


@pytest.fixture
def collected(site):
    def fact(i):
        daemons = {f"{k}.{i}": "16.2.15" for k in ("mon", "mgr", "osd", "mds", "client.admin")}
        report = {
            "ceph_installed": "16.2.15",
            "ceph_daemons": daemons,
            "services": {"node_exporter": "1.5.0"},
        }
        return {**report, "stale": [], "kernel": "6.1"}

    kinds = {"mon": 3, "mgr": 3, "osd": 3, "mds": 3, "overall": 12}
    versions = {kind: {"ceph version 16.2.15 (abc) pacific (stable)": n} for kind, n in kinds.items()}
    nodes = {f"stor{i}": fact(i) for i in (1, 2, 3)}
    return {"nodes": nodes, "ceph_versions": versions, "components": {}, "unreachable": {}}


def found(site, collected, phase=None):
    return judge(site, WANTED, collected, site.nodes, phase)


@pytest.mark.parametrize("phase", [None, "base", "ceph", "cephfs", "rbd", "monitoring"])
def test_right_versions_give_no_finding(site, collected, phase):
    assert found(site, collected, phase) == []


@pytest.mark.parametrize(
    ("change", "phase", "word"),
    [
        (lambda f: f["services"].update(node_exporter="1.7.0"), None, "node_exporter"),
        (lambda f: f["ceph_daemons"].update({"osd.2": OLD}), None, "osd.2"),
        (lambda f: f["ceph_daemons"].update({"client.admin.2": OLD}), None, "differs from the ceph servers"),
        (lambda f: f.update(ceph_installed=OLD), None, "installed ceph"),
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


def test_every_phase_has_its_parts():
    assert set(PARTS) == {p.name for p in PHASES}


@pytest.mark.parametrize(
    ("change", "phases"),
    [
        (lambda f: f.update(stale=["ceph-osd"]), {"ceph"}),
        (lambda f: f.update(stale=["ceph-mds"]), {"cephfs"}),
        (lambda f: f.update(stale=["prometheus-node-exporter"]), {"monitoring"}),
        (lambda f: f["services"].update(node_exporter="1.7.0"), {"monitoring"}),
        (lambda f: f["ceph_daemons"].update({"osd.2": OLD}), {"ceph"}),
        (lambda f: f["ceph_daemons"].update({"mds.2": OLD}), {"cephfs"}),
        (lambda f: f["ceph_daemons"].update({"client.admin.2": OLD}), {"cephfs"}),
        (lambda f: f.update(ceph_installed=OLD), {"ceph", "cephfs", "rbd", "objects"}),
    ],
)
def test_a_fault_fails_the_phases_that_mend_it_and_no_other(site, collected, change, phases):
    change(collected["nodes"]["stor2"])
    assert {p for p in PARTS if found(site, collected, p)} == phases


def test_an_upgrade_that_the_profile_asks_for_is_not_stopped_before_its_phase(site, collected):
    refused = [p for p in PARTS if judge(site, {"ceph": "17.2."}, collected, site.nodes, p)]
    assert {"base", "monitoring", "ceph"} & set(refused) == {"ceph"}


def test_services_are_not_missed_before_their_phase(site, collected):
    for fact in collected["nodes"].values():
        fact.update(services={}, ceph_daemons={}, ceph_installed=None)
    collected["ceph_versions"] = None
    assert found(site, collected) == []
    assert found(site, collected, "base") == []


def test_cluster_with_two_versions(site, collected):
    collected["ceph_versions"]["overall"]["ceph version 16.2.11 (d) pacific (stable)"] = 1
    assert "1 × 16.2.11" in found(site, collected)[0].found


def test_cluster_is_judged_by_the_daemons_of_the_phase(site, collected):
    collected["ceph_versions"]["mds"] = {"ceph version 16.2.11 (d) pacific (stable)": 3}
    assert found(site, collected, "ceph") == []
    assert found(site, collected, "rbd") == []
    assert found(site, collected, "cephfs") == [], "one version: the nodes' own check tells"
    collected["ceph_versions"]["osd"]["ceph version 16.2.11 (d) pacific (stable)"] = 1
    assert "1 × 16.2.11" in found(site, collected, "ceph")[0].found


def test_unreachable_node_is_an_error(site, collected):
    del collected["nodes"]["stor2"]
    collected["unreachable"]["stor2"] = "time-out"
    assert [(f.host, f.found) for f in found(site, collected)] == [("stor2", "time-out")]


@pytest.mark.parametrize(
    ("services", "phase", "word"),
    [
        ({"docker": "20.10.24+dfsg1"}, "docker", ""),
        ({"docker": "17.03.2-ce"}, "docker", "17.03.2-ce"),
        ({}, "docker", "no answer with its version"),
        ({}, "base", ""),
        ({}, None, ""),
    ],
)
def test_the_engine_is_judged_where_it_shall_run(site, collected, services, phase, word):
    worker = site.nodes[0].model_copy(update={"roles": ["worker"]})
    collected["nodes"][worker.name]["services"] = services
    findings = judge(site, {"docker": "20.10."}, collected, [worker], phase)
    assert [f.found for f in findings] == ([word] if word else [])


@pytest.mark.parametrize(
    ("phase", "roles", "missed"),
    [
        ("masters", "master", "kube-apiserver kube-controller-manager kube-scheduler avadm-admission"),
        ("nodes", "master", "kubelet kube-proxy calico-node calico-kube-controllers"),
        ("nodes", "worker", "kubelet kube-proxy calico-node"),
        ("nodes", "worker gpu", "kubelet kube-proxy calico-node gpu-device-plugin"),
        ("addons", "dns worker", "coredns"),
        ("addons", "ingress master", "traefik kube-state-metrics"),
        ("registry", "registry", "avadm-registry avadm-registry-writer"),
    ],
)
def test_each_part_of_kubernetes_must_tell_its_version_after_its_phase(site, collected, phase, roles, missed):
    node, missed = site.nodes[0].model_copy(update={"roles": roles.split()}), sorted(missed.split())
    for services in ({}, dict.fromkeys(missed, "1.8.0")):
        collected["nodes"][node.name]["services"] = services
        found = judge(site, dict.fromkeys(services, "1.9."), collected, [node], phase)
        assert sorted(f.what.split()[0] for f in found) == missed


@pytest.mark.parametrize("name", profiles.names())
def test_a_profile_says_what_version_each_program_must_be(name):
    wanted = profiles.load(name).versions
    assert {name for name, p in PROGRAMS.items() if p.command} <= set(wanted)


def test_what_a_unit_runs_is_asked_and_not_what_lies_on_disk(tmp_path):
    (tmp_path / "systemctl").write_text('#!/bin/sh\necho "MainPID=$RUNS"\n')
    (tmp_path / "systemctl").chmod(0o755)
    runs = subprocess.Popen(["sleep", "60"])
    try:
        env = {"PATH": f"{tmp_path}:/usr/bin:/bin", "RUNS": str(runs.pid)}
        command = PROGRAMS["coredns"].command
        reply = subprocess.run(command, env=env, capture_output=True, text=True, check=True)
    finally:
        runs.kill()
        runs.wait()
    assert re.search(r"\d+\.\d+", reply.stdout), "sleep's own version"


def test_the_probe_asks_again_for_what_does_not_answer_yet():
    asked = []

    def ask(wanted):
        asked.append(set(wanted))
        return {name: "1.0" for name in wanted if name == "soon" or len(asked) > 1}

    wanted = {"soon": 1, "later": 2}
    assert probe.patiently(ask, wanted, time.time() + 20) == {"soon": "1.0", "later": "1.0"}
    assert asked == [{"soon", "later"}, {"later"}]
    asked.clear()
    assert probe.patiently(ask, wanted, time.time()) == {"soon": "1.0"}
    assert len(asked) == 1, "without patience it is asked once"


def test_the_probe_reads_a_version_from_what_a_program_says():
    reply = probe.programs(
        {
            "a": ["echo", "Kubernetes v1.9.11"],
            "b": ["false"],
            "c": ["no-such-program"],
            "d": ["echo", "20.10.24+dfsg1"],
            "e": ["echo", "20250813-a0db560f0520"],
            "f": ["echo", 'version.Version{BuildDate:"", Release:"v1.9.8", GoVersion:"go1.26.8"}'],
            "g": ["sh", "-c", "echo 'node_exporter, version 1.1.2+ds' >&2"],
            "h": ["sh", "-c", "echo 'a warning of 2.0' >&2; echo 1.5"],
        }
    )
    wanted = {"a": "1.9.11", "d": "20.10.24+dfsg1", "e": "20250813-a0db560f0520", "f": "1.9.8"}
    assert reply == wanted | {"g": "1.1.2+ds", "h": "1.5"}
