"""Docker's nodes in an upgrade: what keeps them from a drain, kubelets that could start nothing afterwards, and the gate."""

import json

import pytest

from avadm.cluster.connection import Cluster
from avadm.cluster.kinds import Cordon
from avadm.errors import AvadmError
from avadm.operations.drain import DRAIN
from avadm.operations.engine_nodes import EngineNodes
from avadm.remote.fleet import Result
from tests.unit.fakes import sites
from tests.unit.operations.bench import bench_of
from tests.unit.operations.running_site import nodes


def pod(name, ready="True", phase="Running", **metadata):
    return {
        "metadata": {"namespace": "shop", "name": name, **metadata},
        "status": {"phase": phase, "conditions": [{"type": "Ready", "status": ready}]},
    }


class Nodes:
    """Nodes that answer kubectl, and whose kubelets name a version of docker's interface or none."""

    def __init__(self):
        self.ready = {"m1": "True", "w1": "True", "w2": "True"}
        self.pods, self.without, self.silent = [pod("a")], set(), set()

    def run(self, node, command, *, timeout=60.0, stdin=None):
        text, rc = "", 0
        if "fieldSelector" in command:
            text = json.dumps({"items": self.pods}) if isinstance(self.pods, list) else self.pods
        elif "get nodes" in command:
            text = "".join(f"{name} {ready}\n" for name, ready in self.ready.items())
        elif "DOCKER_API_VERSION" in command:
            rc = 1 if node in self.without else 0
        error = "no route" if node in self.silent else None
        return Result(node, command, None if error else rc, text, "", 0.0, 0.0, error=error)

    def map(self, commands, *, timeout=60.0):
        return {node: self.run(node, command) for node, command in commands.items()}


@pytest.fixture
def bench():
    fleet = Nodes()
    nodes = [
        sites.node("m1", 1, "master", "etcd"),
        sites.node("w1", 2, "worker"),
        sites.node("w2", 3, "worker"),
    ]
    file = type("File", (), {"site": sites.site(*nodes, sites.node("s1", 4, "osd"))})()
    file.profile = type("Profile", (), {"python": "/usr/bin/python3"})()
    return fleet, EngineNodes(Cluster(file, fleet, None))


def test_all_are_well_where_all_nodes_are_ready(bench):
    _, engine = bench
    assert engine.troubles() == {} == engine.troubles("w1")


def test_a_node_that_is_not_ready_or_not_known_is_named(bench):
    fleet, engine = bench
    fleet.ready = {"m1": "True", "w1": "False"}
    assert engine.troubles() == {"w2": "Kubernetes does not know it", "w1": "it is not Ready"}


def test_pods_of_the_node_that_was_upgraded_must_be_ready(bench):
    fleet, engine = bench
    fleet.pods = [
        pod("a", "False"),
        pod("done", "False", "Succeeded"),
        pod("ending", "False", deletionTimestamp="2026-11-28T12:00:00Z"),
        *(pod(f"p{i}", "False") for i in range(4)),
    ]
    assert engine.troubles() == {}
    assert engine.troubles("w1") == {"w1": "pods are not Ready: shop/a, shop/p0, shop/p1 and 2 more"}


@pytest.mark.parametrize("text", ["", "{}", "<html>", '{"items": [{}]}'])
def test_a_reply_of_another_shape_is_an_error_and_never_no_pods(bench, text):
    fleet, engine = bench
    fleet.pods = text
    with pytest.raises(AvadmError) as error:
        engine.troubles("w1")
    assert {f.check for f in error.value.findings} == {"kubernetes-command"}


def test_a_kubelet_that_could_start_nothing_afterwards_is_refused(bench):
    fleet, engine = bench
    fleet.without, fleet.silent = {"w2"}, {"m1"}
    found = [(f.check, f.host) for f in engine.refusals(["m1", "w1", "w2"])]
    assert found == [("docker-kubelet", "m1"), ("docker-kubelet", "w2")]


def test_nodes_of_kubernetes_alone_are_drained_each_by_itself(tmp_path, monkeypatch):
    monkeypatch.setenv("AVADM_CACHE", str(tmp_path / "cache"))
    bench = bench_of(tmp_path, *nodes())
    bench.fleet.refused = {"comp2": {"local-data": ["shop/b"]}}
    found = EngineNodes(bench.cluster()).drains(
        ["stor1", "comp1", "comp2"], DRAIN, (), lambda node: node == "comp1"
    )
    assert {n: part.settings for n, part in found.items()} == {n: (Cordon(n),) for n in ("comp1", "comp2")}
    assert [f.check for part in found.values() for f in part.refusals] == ["pods-local-data"]
    assert [step.done() for step in found["comp1"].steps] == [True, True]
    assert not found["comp2"].steps[-1].done()


def test_masters_that_do_not_answer_forbid_the_drain(tmp_path, monkeypatch):
    monkeypatch.setenv("AVADM_CACHE", str(tmp_path / "cache"))
    bench = bench_of(tmp_path, *nodes())
    bench.fleet.dead = {"mast1", "mast2", "mast3"}
    found = EngineNodes(bench.cluster()).drains(["comp1", "comp2"], DRAIN, (), lambda node: False)
    assert found["comp1"].refusals and not any(part.steps for part in found.values())
