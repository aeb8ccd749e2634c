"""Kubernetes as its upgrade asks it: a version behind each address, nodes, budgets; what cannot be read is never good."""

from __future__ import annotations

import json
import shlex

import pytest

from avadm.cluster.connection import Cluster
from avadm.operations.upgrade_kubernetes_nodes import VIRTUAL, Kubelet, KubernetesNodes
from avadm.remote.reason import Reason, Why
from avadm.site.load import load
from avadm.state.site_state import SiteState
from tests.unit.fakes.errors import refused
from tests.unit.fakes.nodes import answer
from tests.unit.operations.test_upgrade_kubernetes import SITE

PODS = "/api/v1/pods"


class FakeApi:
    """Masters whose kubectl answers with texts by the last word of the command; a dead node answers nothing."""

    def __init__(self):
        self.versions = {f"https://10.0.0.{i}:6443": "v1.9.11" for i in (1, 2, 3)}
        self.versions["https://10.0.0.250:6443"] = "v1.10.13"
        self.texts, self.dead, self.asked = {}, set(), []

    def run(self, node, command, *, timeout=60.0, stdin=None):
        if node in self.dead:
            return answer(node, command, rc=255, error=Reason(Why.NO_ROUTE, "no route"))
        words = shlex.split(command)
        self.asked.append(words)
        server = next((w.partition("=")[2] for w in words if w.startswith("--server=")), "")
        if server:
            version = self.versions.get(server)
            return (
                answer(node, command, json.dumps({"gitVersion": version}))
                if version
                else answer(node, command, "", 1, "connection refused")
            )
        text = self.texts.get(words[-1], self.texts.get(words[-3]))
        return answer(node, command, text) if text is not None else answer(node, command, "", 1, "no")

    def map(self, commands, *, timeout=60.0, stdin=None):
        return {n: self.run(n, c, timeout=timeout) for n, c in commands.items()}


@pytest.fixture
def api():
    return FakeApi()


@pytest.fixture
def kube(tmp_path, api):
    (tmp_path / "site.yml").write_text(SITE)
    path = tmp_path / "site.yml"
    return KubernetesNodes(Cluster(load(path), api, SiteState.of(path, "t")))


def test_each_master_is_asked_at_its_own_address(kube, api):
    api.versions["https://10.0.0.2:6443"] = None
    api.dead.add("m3")
    assert kube.api() == {"m1": "1.9.11", "m2": "", "m3": "", VIRTUAL: "1.10.13"}
    assert all("--server=" in " ".join(words) for words in api.asked), "never whichever the kubeconfig names"


@pytest.mark.parametrize("text", ["", "{}", "[1]", "<html>", '{"gitVersion": 3'])
def test_a_reply_of_another_shape_is_no_version(kube, api, text):
    api.run = lambda node, command, **_: answer(node, command, text)
    assert set(kube.api().values()) == {""}


def node(name, ready="True", version="v1.10.13", gpus=None):
    return {
        "metadata": {"name": name},
        "status": {
            "conditions": [{"type": "MemoryPressure", "status": "False"}, {"type": "Ready", "status": ready}],
            "nodeInfo": {"kubeletVersion": version},
            "allocatable": {"cpu": "4", **({"nvidia.com/gpu": gpus} if gpus else {})},
        },
    }


def test_nodes_are_read_with_their_gpus(kube, api):
    items = [node("w1", gpus="4"), node("w2", "Unknown", "v1.9.11"), node("w3", "False")]
    api.texts["nodes"] = json.dumps({"items": items})
    assert kube.kubelets() == {
        "w1": Kubelet(True, "1.10.13", 4),
        "w2": Kubelet(False, "1.9.11"),
        "w3": Kubelet(False, "1.10.13"),
    }
    assert (kube.gpus("w1"), kube.gpus("w2")) == (4, 0)


@pytest.mark.parametrize("text", ["", "{}", '{"items": [{"metadata": {"name": "w1"}}]}', "no JSON"])
def test_nodes_that_cannot_be_read_are_an_error_and_not_none(kube, api, text):
    api.texts["nodes"] = text
    assert {f.check for f in refused(kube.kubelets)} == {"kubernetes-command"}


def pod(name, node, app="a", **more):
    return {
        "metadata": {"name": name, "namespace": "shop", "labels": {"app": app}, **more},
        "spec": {"nodeName": node},
        "status": {"phase": "Running"},
    }


def test_pods_that_a_budget_keeps_are_named_with_their_budget(kube, api):
    daemon = [{"kind": "DaemonSet", "controller": True}]
    found = [
        pod("kept", "w1"),
        pod("ending", "w1", deletionTimestamp="2026-11-28T12:00:00Z"),
        pod("daemon", "w1", ownerReferences=daemon),
        pod("free", "w2", app="b"),
        pod("elsewhere", "w3"),
    ]
    budget = {
        "metadata": {"name": "one", "namespace": "shop"},
        "spec": {"selector": {"matchLabels": {"app": "a"}}},
        "status": {"disruptionsAllowed": 0, "currentHealthy": 1, "desiredHealthy": 1},
    }
    api.texts[PODS] = json.dumps({"items": found})
    api.texts["/apis/policy/v1beta1/poddisruptionbudgets"] = json.dumps({"items": [budget]})
    kept = kube.kept(["w1", "w2"])
    assert list(kept) == ["w1"]
    [text] = kept["w1"]
    assert text.startswith("shop/kept (kept by budget shop/one")
    budget["status"]["disruptionsAllowed"] = 1
    api.texts["/apis/policy/v1beta1/poddisruptionbudgets"] = json.dumps({"items": [budget]})
    assert kube.kept(["w1", "w2"]) == {}


def test_masters_are_the_first_nodes(kube):
    assert kube.members == ["m1", "m2", "m3", "w1", "w2", "w3"]


def test_what_the_cache_lacks_is_named_by_the_version_of_the_profile(kube, monkeypatch, tmp_path):
    monkeypatch.setenv("AVADM_CACHE", str(tmp_path / "cache"))
    found = [f.what for f in kube.missing(kube.cluster.site_file)]
    assert any("kubernetes 1.9.11" in what for what in found)
