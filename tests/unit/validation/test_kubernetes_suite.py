"""The Kubernetes suite: a good cluster passes and verifies, each planted fault is seen, nothing is left behind."""

import json
import shlex
from functools import partial

import pytest
from acceptance_fakes import assert_seen, execute, runner, sealed
from kubernetes_fakes import FakeCluster

from avadm_validation.measuring.extract import compute, facts
from avadm_validation.measuring.runner import Runner
from avadm_validation.protocol.model import Verdict
from avadm_validation.protocol.verify import verify
from avadm_validation.suites.kubernetes import cluster, run
from avadm_validation.suites.kubernetes.checks import CHECKS, PRECONDITIONS
from tests.controls.kubernetes import FAULTS

EFFORTS = Runner.efforts


@pytest.fixture(autouse=True)
def _no_waiting(monkeypatch):
    monkeypatch.setattr("time.sleep", lambda s: None)
    soon = {"ready_s": 0, "open_s": 0, "settle_s": 0, "volumes_s": 0, "freed_s": 0, "evict_s": 0}
    monkeypatch.setattr(Runner, "efforts", lambda *run: {c: {**p, **soon} for c, p in EFFORTS(*run).items()})


report = partial(sealed, suite="kubernetes", effort="quick")


def test_a_good_cluster_passes_and_its_report_verifies(tmp_path):
    made, fleet = runner(FakeCluster(), tmp_path)
    checks = execute(run, made)
    assert [c.id for c in checks] == [c.ID for c in (PRECONDITIONS, *CHECKS)]
    assert {c.id: c.reasons for c in checks if c.verdict is not Verdict.PASS} == {}
    assert verify(report(made, checks, tmp_path), tmp_path, compute, facts, made.criteria) == []
    removed, *_ = [i for i, (_, c) in enumerate(fleet.ran) if c.startswith("rm -rf --one-file-system /tmp/")]
    assert (
        "kubectl delete namespace avadm-accept avadm-accept-other avadm-accept-quota"
        in fleet.ran[removed - 1][1]
    )
    assert made.left == []


def test_a_container_whose_group_the_kernel_names_was_killed_for_its_memory(tmp_path):
    cluster = FakeCluster()
    cluster.hog = {"terminated": {"reason": "Error", "exitCode": 137}}
    cluster.oom = (
        "oom-kill:constraint=CONSTRAINT_MEMCG,task_memcg=/kubepods/burstable/podx/hog,task=python3\n"
    )
    made, _ = runner(cluster, tmp_path)
    assert {c.id: c.verdict for c in execute(run, made)}["K-MEM"] == Verdict.PASS


class LateServer(FakeCluster):
    """A cluster whose DNS servers hear late of the last pod."""

    asked = 0

    def resolve(self, node, job):
        answer = json.loads(super().resolve(node, job))
        self.asked += 1
        if self.asked <= 2 * len(self.target().kube.nodes):
            for name, found in answer["names"].items():
                if name.startswith("heads."):
                    found["addresses"] = found["addresses"][:-1]
        return json.dumps(answer) + "\n"


def test_dns_servers_are_asked_again_until_they_know_all_pods(tmp_path, monkeypatch):
    made, _ = runner(LateServer(), tmp_path)
    assert {c.id: c.verdict for c in execute(run, made, ["K-DNS"])}["K-DNS"] == Verdict.FAIL
    (tmp_path / "again").mkdir()
    monkeypatch.setattr(
        Runner, "efforts", lambda *run: {c: {**p, "settle_s": 60} for c, p in EFFORTS(*run).items()}
    )
    made, _ = runner(LateServer(), tmp_path / "again")
    assert {c.id: c.verdict for c in execute(run, made, ["K-DNS"])}["K-DNS"] == Verdict.PASS


def test_an_edit_of_what_a_pod_answered_shows(tmp_path):
    made, _ = runner(FakeCluster(), tmp_path)
    done = report(made, execute(run, made), tmp_path)
    path = next((tmp_path / "raw" / "K-PODS").glob("*-pairs-*"))
    path.write_text(path.read_text().replace('"status": 200', '"status": 500'))
    problems = verify(done, tmp_path, compute, facts, made.criteria)
    assert any("sha256" in p for p in problems)
    assert any("K-PODS.failed-pairs" in p for p in problems)


@pytest.mark.parametrize(
    ("digest", "image"),
    [
        ("registry.x:5000/avadm/base@sha256:abc", "registry.x:5000/avadm/base@sha256:abc"),
        ("other.x:5000/avadm/base@sha256:def", "registry.x:5000/avadm/base:12"),
        ("", "registry.x:5000/avadm/base:12"),
    ],
    ids=["the registry's", "another registry's", "none"],
)
def test_pods_have_the_image_by_the_digest_that_the_registry_has(tmp_path, digest, image):
    cluster = FakeCluster()
    cluster.digest = digest
    made, fleet = runner(cluster, tmp_path)
    execute(run, made, ["K-PODS"])
    applied = [c for c in fleet.commands("kubectl apply") if '"image"' in c]
    assert applied
    assert all(f'"image": "{image}"' in command for command in applied)
    pulled = {n for n, c in fleet.ran if f"docker pull {image} " in c and "{{.Id}}" in c}
    assert pulled == {"n0", "n1", "n2"}


@pytest.mark.parametrize("fault", FAULTS, ids=lambda f: f.name)
def test_a_planted_fault_is_seen(tmp_path, fault):
    cluster = FakeCluster()
    fault.plant(cluster)
    made, _ = runner(cluster, tmp_path)
    assert_seen(run, made, fault, PRECONDITIONS.ID)


def test_what_the_site_has_not_is_left_out_with_a_note_or_not_run_when_asked_for(tmp_path):
    made, _ = runner(FakeCluster(), tmp_path, gpu_nodes=(), ingress="")
    ids = [c.id for c in execute(run, made)]
    assert "K-GPU" not in ids and "K-INGRESS" not in ids
    assert len(made.left) == 2 and "gpu" in made.left[1]
    (tmp_path / "again").mkdir()
    made, _ = runner(FakeCluster(), tmp_path / "again", gpu_nodes=(), classes=("cephfs",))
    done = execute(run, made, ["K-GPU", "K-VOL", "K-VOL-RBD"])
    assert [c.verdict for c in done] == [Verdict.PASS, Verdict.NOT_RUN, Verdict.PASS, Verdict.NOT_RUN]
    assert done[3].reasons == ["the site has no storage class rbd"]


def test_volumes_of_a_class_that_has_no_second_node_are_blocked(tmp_path):
    made, _ = runner(FakeCluster(), tmp_path, mounters=("n1",))
    checks = execute(run, made, ["K-VOL", "K-VOL-RBD", "K-VOL-LOCAL"])[1:]
    assert [c.verdict for c in checks] == [Verdict.BLOCKED, Verdict.BLOCKED, Verdict.PASS]


def test_all_storage_classes_are_driven_once_and_nothing_of_them_is_left(tmp_path):
    cluster = FakeCluster()
    made, fleet = runner(cluster, tmp_path)
    execute(run, made, ["K-VOL", "K-VOL-RBD", "K-VOL-LOCAL"])
    assert len(fleet.commands('"PersistentVolumeClaim"')) == 1
    assert cluster.volumes.pods == {}
    deleted = " ".join(fleet.commands("delete persistentvolumeclaims"))
    assert all(f" volume-{k}" in deleted for k in ("cephfs", "rbd", "local"))


def test_what_stops_the_one_pass_over_all_classes_is_reported_by_each_of_their_checks(tmp_path):
    made, fleet = runner(FakeCluster(), tmp_path)
    why = {"rc": 1, "stderr": "Internal error occurred: 2 default StorageClasses were found"}
    fleet.answers = {'"PersistentVolumeClaim"': why, **fleet.answers}
    checks = execute(run, made, ["K-VOL", "K-VOL-RBD", "K-VOL-LOCAL"])[1:]
    assert {c.verdict for c in checks} == {Verdict.INCONCLUSIVE}
    assert all("2 default StorageClasses" in c.reasons[0] for c in checks)
    assert len(fleet.commands('"PersistentVolumeClaim"')) == 2  # once more, for all of them together


@pytest.mark.parametrize("default", ["rbd", ""])
def test_the_default_class_is_that_of_the_site_file(tmp_path, default):
    cluster = FakeCluster()
    cluster.volumes.marked = [default] if default else []
    made, _ = runner(cluster, tmp_path, default_class=default)
    assert execute(run, made, ["K-VOL"])[1].verdict is Verdict.PASS
    named = [c["spec"].get("storageClassName") for c in cluster.volumes.claims.values()]
    assert named.count(None) == bool(default)


def test_without_a_node_outside_the_way_in_is_blocked(tmp_path):
    made, _ = runner(FakeCluster(), tmp_path, outside="")
    assert execute(run, made, ["K-INGRESS"])[1].verdict is Verdict.BLOCKED


def test_the_namespaces_are_removed_after_ctrl_c_too(tmp_path, monkeypatch):
    def stopped(ctx):
        raise KeyboardInterrupt

    monkeypatch.setattr("avadm_validation.suites.kubernetes.checks.svc.run", stopped)
    made, fleet = runner(FakeCluster(), tmp_path)
    with pytest.raises(KeyboardInterrupt):
        execute(run, made, ["K-SVC"])
    assert len(fleet.commands("kubectl delete namespace")) == 2


def test_a_namespace_that_stays_is_reported(tmp_path):
    cluster = FakeCluster()
    made, fleet = runner(cluster, tmp_path)
    fleet.answers["kubectl delete namespace"] = "namespaces/avadm-accept\n"
    (first, check) = execute(run, made, ["K-NODES"])
    assert (first.verdict, check.verdict) == (Verdict.BLOCKED, Verdict.BLOCKED)
    assert "namespaces/avadm-accept is still there" in made.left[0]


def test_single_requests_have_longer_limits_on_a_busy_machine(monkeypatch):
    monkeypatch.setattr(cluster, "patience", lambda: 3.0)
    assert cluster.patient({"requests": [], "timeout": 5}) == {"requests": [], "timeout": 15}
    assert cluster.patient([{"messages": 0}, {"timeout": 2.5}]) == [{"messages": 0}, {"timeout": 7.5}]


def test_every_measured_session_has_a_limit_that_grows_with_the_machine(tmp_path, monkeypatch):
    monkeypatch.setattr(cluster, "patience", lambda: 3.0)
    made, fleet = runner(FakeCluster(), tmp_path)
    execute(run, made, ["K-LB", "K-INGRESS"])
    jobs = [
        json.loads(shlex.split(c)[-1]) for c in fleet.commands("kubestream.py ask") if "NODE=outside" not in c
    ]
    assert sorted(one["timeout"] for job in jobs for one in job) == [9, 9, 15, 15]
