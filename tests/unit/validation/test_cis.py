"""The CIS suite: a good cluster passes, each control can fail, an exception is never a pass, the report verifies."""

import importlib.util
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from acceptance_fakes import execute, sealed
from cis_fakes import ASKED, NODES, Cluster, argument, break_control, good_node, other

from avadm_validation.measuring.extract import compute, facts
from avadm_validation.measuring.runner import Runner
from avadm_validation.protocol.criteria import Criteria
from avadm_validation.protocol.model import Verdict
from avadm_validation.protocol.verify import verify
from avadm_validation.suites.cis import run
from avadm_validation.suites.cis.controls import SECTIONS, Control, controls, criteria, exceptions
from avadm_validation.suites.cis.extract import complies

TOOL = Path(__file__).parents[3] / "validation/avadm_validation/tools/cisread.py"
SCORED = [c for c in controls().values() if c.scored]
KINDS = {
    (c.section, c.rule, bool(c.files), bool(c.mode), bool(c.gate), c.encryption, c.id in exceptions()): c
    for c in SCORED
}
"""A control of each kind in each section: it goes the whole way to the report; what breaks each control is judged alone."""


def suite(folder, cluster):
    judging = Criteria.load("lab")
    judging.add(criteria("lab"))
    return Runner(cluster.target(), cluster.fleet(), folder, judging, "quick", "run1")


def ids(found):
    return [f"{c.id}" for c in found]


def test_a_good_cluster_passes_every_section(tmp_path):
    checks = execute(run, suite(tmp_path, Cluster()))
    assert ids(checks) == [f"CIS-{number}" for number in SECTIONS]
    assert {c.id: c.reasons for c in checks if c.verdict is not Verdict.PASS} == {}


@pytest.mark.parametrize("control", SCORED, ids=lambda c: c.id)
def test_a_node_that_breaks_a_control_does_not_comply(control):
    doc = good_node()
    assert complies(control, doc)
    break_control(doc, control)
    assert not complies(control, doc)


@pytest.mark.parametrize("control", [*KINDS.values()], ids=lambda c: c.id)
def test_a_planted_fault_is_seen(tmp_path, control):
    cluster = Cluster()
    node = "m2" if control.role != "node" else "w1"
    break_control(cluster.docs[node], control)
    (check,) = execute(run, suite(tmp_path, cluster), [f"CIS-{control.section}"])
    (metric,) = [m for m in check.metrics if m.name == control.id]
    wanted = Verdict.EXCEPTED if control.id in exceptions() else Verdict.FAIL
    assert (metric.verdict, metric.mean) == (wanted, 1.0)
    assert check.verdict is wanted
    (reason,) = [r for r in check.reasons if r.startswith(f"{control.id} {control.title}:")]
    assert reason.partition(". Excepted")[0].endswith(f" on {node}")
    assert ("Excepted: " in reason) == (control.id in exceptions())
    assert (control.id in check.remedy) == (control.id not in exceptions())


@pytest.mark.parametrize("process", sorted({c.process for c in SCORED if c.process}))
def test_what_does_not_run_keeps_to_nothing(tmp_path, process):
    cluster = Cluster()
    for doc in cluster.docs.values():
        del doc["processes"][process]
    wanted = [c for c in SCORED if c.process == process]
    checks = execute(run, suite(tmp_path, cluster), [f"CIS-{wanted[0].section}"])
    failing = {m.name for m in checks[0].metrics if m.mean}
    assert {c.id for c in wanted} <= failing


def test_an_excepted_failure_beside_one_that_is_not_is_a_failure(tmp_path):
    cluster = Cluster()
    for number in ("1.1.11", "1.1.1"):
        break_control(cluster.docs["m1"], controls()[number])
    (check,) = execute(run, suite(tmp_path, cluster), ["CIS-1.1"])
    assert check.verdict is Verdict.FAIL
    assert "1.1.1:" in check.remedy
    assert "1.1.11:" not in check.remedy


def test_nodes_that_cannot_be_read_are_no_pass_and_are_all_named(tmp_path):
    made = suite(tmp_path, Cluster())
    made.fleet.answers = {
        ASKED: lambda node, _: {"m1": {"rc": 1, "stderr": "no python3"}, "m2": "{}", "w1": {}}[node]
    }
    checks = execute(run, made)
    assert {c.verdict for c in checks} == {Verdict.INCONCLUSIVE}
    (kubelet,) = [c for c in checks if c.id == "CIS-2.1"]
    assert kubelet.reasons[:1] == [
        "could not be measured: m1: no python3; w1: exit status 0, nothing printed"
    ]


def test_a_node_that_tells_nothing_keeps_to_nothing(tmp_path):
    cluster = Cluster()
    cluster.docs["m2"] = {"processes": {}, "units": {}, "files": {}, "encryption": []}
    for check in execute(run, suite(tmp_path, cluster), ["CIS-1.1", "CIS-1.4", "CIS-1.5"]):
        assert {m.mean for m in check.metrics} == {1.0}


def test_nodes_are_asked_once_a_section_and_nothing_is_put_there(tmp_path):
    made = suite(tmp_path, Cluster())
    execute(run, made, ["CIS-2.1"])
    assert [(n, c.startswith(ASKED)) for n, c in made.fleet.ran] == [(n, True) for n in NODES]


def test_the_report_is_computed_again_with_its_exceptions(tmp_path):
    cluster = Cluster()
    break_control(cluster.docs["m1"], controls()["1.1.11"])
    made = suite(tmp_path, cluster)
    checks = execute(run, made)
    report = sealed(made, checks, tmp_path, suite="cis", effort="quick")
    assert report.good, "an excepted control leaves nothing to do"
    assert verify(report, tmp_path, compute, facts, made.criteria) == []
    raw = next((tmp_path / "raw/CIS-1.1").glob("*read-m2.out"))
    doc = json.loads(raw.read_text())
    break_control(doc, controls()["1.1.1"])
    raw.write_text(json.dumps(doc))
    assert any("CIS-1.1.1.1.1" in p for p in verify(report, tmp_path, compute, facts, made.criteria))


def test_the_benchmark_s_scored_controls_are_all_there():
    counts = {s: len([c for c in SCORED if c.section == s]) for s in SECTIONS}
    assert counts == {"1.1": 37, "1.2": 1, "1.3": 6, "1.4": 16, "1.5": 8, "2.1": 15, "2.2": 8}


def test_a_control_is_of_one_kind():
    with pytest.raises(ValueError, match="wanted one of"):
        Control(id="9.9.9", title="t", role="master", process="kubelet")


@pytest.mark.parametrize(
    "control", [c for c in SCORED if c.rule == "is" and not c.gate and c.process], ids=lambda c: c.id
)
def test_another_value_fails_as_absence_does(control):
    doc = good_node()
    assert complies(control, doc)
    for flag in control.flags:
        argument(doc, control.process, flag, lambda _: other(control.value))
    assert not complies(control, doc)


@pytest.mark.parametrize(
    ("number", "argv", "kept"),
    [
        ("1.1.1", ["--anonymous-auth=false", "--anonymous-auth=true"], False),
        ("1.1.1", ["--anonymous-auth=true", "--anonymous-auth=false"], True),
        ("1.1.1", ["--anonymous-auth", "false"], False),
        ("1.1.1", ["--anonymous_auth=true", "--profiling=false"], False),
        ("1.1.2", ["--basic_auth_file", "/x"], False),
        ("1.1.2", ["--basic-auth-file=/x"], False),
        ("1.1.2", ["kube-apiserver"], True),
        ("1.1.6", ["--insecure-port", "0"], True),
        ("1.1.10", ["--admission-control=AlwaysAdmit", "--admission-control=NodeRestriction"], False),
        ("1.1.16", ["--audit-log-maxage=nan"], False),
        ("1.1.16", ["--audit-log-maxage=long"], False),
        ("1.1.36", ["--feature-gates=AdvancedAuditing=0"], False),
        ("1.1.36", ["--feature-gates=Other=true, AdvancedAuditing=false"], False),
        ("1.1.37", ["--request-timeout=0h0m0s"], False),
        ("1.1.37", ["--request-timeout=-1s"], False),
        ("1.1.37", ["--request-timeout=1m0s"], True),
    ],
)
def test_arguments_are_read_as_kubernetes_reads_them(number, argv, kept):
    doc = {"processes": {"kube-apiserver": {"argv": argv}}, "units": {}, "files": {}, "encryption": []}
    assert complies(controls()[number], doc) is kept


def test_an_argument_of_etcd_counts_more_than_its_environment():
    part = {"argv": ["--client-cert-auth=false"], "environment": {"ETCD_CLIENT_CERT_AUTH": "true"}}
    assert not complies(controls()["1.5.2"], {"processes": {"etcd": part}})
    part["argv"] = []
    assert complies(controls()["1.5.2"], {"processes": {"etcd": part}})


@pytest.fixture
def run_reader(tmp_path):
    """Return a function that runs the tool on this machine, with units of whose processes this test knows the pids."""

    def read(patterns, **units):
        shown = "\n".join(
            f"Id={n}.service\nMainPID={pid}\nFragmentPath={path}\n" for n, (pid, path) in units.items()
        )
        (tmp_path / "shown").write_text(shown)
        systemctl = tmp_path / "systemctl"
        systemctl.write_text(f"#!/bin/sh\ncat {tmp_path}/shown\n")
        systemctl.chmod(0o755)
        done = subprocess.run(
            [sys.executable, "-", json.dumps(patterns)], input=TOOL.read_text(), capture_output=True, text=True, check=True,
            env={**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}"},
        )  # fmt: skip
        return done.stdout

    return read


def test_the_tool_reads_the_units_processes_and_no_other_of_the_name(run_reader, tmp_path):
    config = tmp_path / "encryption.yml"
    config.write_text(
        "resources:\n  - resources: [secrets]\n    providers:\n      - aescbc:\n          keys: [{secret: the key itself}]\n"
        "      - identity: {}\n"
    )
    config.chmod(0o640)
    line = [sys.executable, "-c", "import sys; sys.stdin.read()"]
    flag = f"--experimental-encryption-provider-config={config}"
    environment = {"ETCD_DATA_DIR": str(tmp_path), "ETCD_INITIAL_CLUSTER_TOKEN": "hidden", "HOME": "/x"}
    pipe = {"stdin": subprocess.PIPE}
    with (
        subprocess.Popen([*line, "kubelet", "--anonymous-auth=false"], **pipe),
        subprocess.Popen([*line, flag], **pipe) as api,
        subprocess.Popen(line, env=environment, **pipe) as etcd,
    ):
        text = run_reader(
            [],
            **{
                "kube-apiserver": (api.pid, config),
                "etcd": (etcd.pid, ""),
                "kubelet": (0, "/lib/kubelet.service"),
            },
        )
        for process in (api, etcd):
            process.stdin.close()
    doc = json.loads(text)
    assert set(doc["processes"]) == {"kube-apiserver", "etcd"}
    assert doc["processes"]["kube-apiserver"]["argv"][-1] == flag
    assert doc["processes"]["etcd"]["environment"] == {"ETCD_DATA_DIR": str(tmp_path)}
    assert doc["units"] == {"kube-apiserver": str(config), "kubelet": "/lib/kubelet.service"}
    assert doc["encryption"] == ["aescbc", "identity"]
    assert doc["files"][str(config)]["mode"] == "640"
    assert set(doc["files"]) == {str(config), str(tmp_path)}
    assert "the key itself" not in text
    assert "hidden" not in text


def test_of_several_lists_of_encryption_providers_none_is_taken(tmp_path):
    spec = importlib.util.spec_from_file_location("cisread", TOOL)
    cisread = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(cisread)
    config = tmp_path / "encryption.yml"
    block = "  - resources: [{}]\n    providers:\n      - {}: {{}}\n"
    config.write_text("resources:\n" + block.format("secrets", "aescbc"))
    assert cisread.providers(config) == ["aescbc"]
    config.write_text(
        "resources:\n" + block.format("configmaps", "aescbc") + block.format("secrets", "identity")
    )
    assert cisread.providers(config) == []


def test_the_documents_tell_of_each_exception_and_of_no_other():
    text = (TOOL.parents[3] / "docs/explanation/kubernetes.md").read_text()
    assert re.findall(r"^\| (\d\.\d\.\d+) \|", text, re.MULTILINE) == list(exceptions())
