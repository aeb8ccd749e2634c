"""Draining through a kubectl that is made up, as 1.9's behaves: cordons before it refuses, says nothing of budgets."""

import json

import pytest
from ansible.module_utils.avadm_node.probes.kube.drain import Drain, DrainError, answer, selects
from avadm_kube_node import ensure

MIRROR = "kubernetes.io/config.mirror"


def pod(name, kind="ReplicaSet", space="shop", phase="Running", labels=(), local=False, mirror=False):
    owners = [{"kind": kind, "name": "x", "controller": True}] if kind else []
    meta = {"name": name, "namespace": space, "uid": f"uid-{name}", "labels": dict(labels)}
    meta |= {"annotations": {MIRROR: "x"}} if mirror else {}
    volumes = [{"name": "d", "emptyDir": {}}] if local else [{"name": "s", "secret": {}}]
    meta["ownerReferences"] = owners
    return {"metadata": meta, "spec": {"volumes": volumes}, "status": {"phase": phase}}


def budget(name, allowed, space="shop", **selector):
    status = {"disruptionsAllowed": allowed, "currentHealthy": 2, "desiredHealthy": 2}
    meta = {"name": name, "namespace": space}
    return {"metadata": meta, "spec": {"selector": selector}, "status": status}


def worker(name, ready="True", cordoned=False, taints=(), **labels):
    return {
        "metadata": {"name": name, "labels": labels},
        "spec": {"unschedulable": cordoned, "taints": list(taints)},
        "status": {"conditions": [{"type": "Ready", "status": ready}]},
    }


class Kubectl:
    """kubectl 1.9 before one node; ``kept`` are pods that a budget lets go at the given try only."""

    def __init__(self, *pods, cordoned=False, kept=None, budgets=()):
        self.pods, self.cordoned, self.kept, self.budgets = list(pods), cordoned, kept or {}, list(budgets)
        self.drains, self.states, self.comes, self.says, self.now = [], [cordoned], [], None, 0.0
        self.nodes, self.deleted = [worker("w1"), worker("w2")], []

    def __call__(self, argv):
        words = argv[argv.index("--request-timeout=20s") + 1 :]
        return getattr(self, words[0])(*words[1:])

    def get(self, *words):
        if words[0] == "node":
            node = {"metadata": {"name": words[1]}, "spec": {"unschedulable": True} if self.cordoned else {}}
            return 0, "" if words[1] == "unknown" else json.dumps(node), ""
        if words[1] == "/api/v1/nodes":
            return 0, json.dumps({"items": self.nodes}), ""
        if "poddisruptionbudgets" in words[1]:
            return 0, json.dumps({"items": self.budgets}), ""
        assert words[1] == "/api/v1/pods?fieldSelector=spec.nodeName%3Dw1"
        return 0, json.dumps({"items": self.pods}), ""

    def delete(self, kind, flag, *words):
        assert (kind, flag, words[0]) == ("pods", "--ignore-not-found", "--namespace")
        self.deleted += [f"{words[1]}/{name}" for name in words[2:]]
        self.pods = [p for p in self.pods if p["metadata"]["name"] not in words[2:]]
        return 0, "", ""

    def uncordon(self, name):
        return self.cordon(name, wanted=False)

    def cordon(self, name, wanted=True):
        if self.says == "mute":
            return 0, "", "error: unable to cordon node"
        self.cordoned = wanted
        self.states.append(wanted)
        self.pods += self.comes
        self.comes = []
        return 0, "node cordoned", ""

    def drain(self, name, *flags):
        self.drains.append(flags)
        if self.says:
            return 1, "", self.says
        assert self.cordoned
        tries = len(self.drains)
        seconds = next(int(f[10:-1]) for f in flags if f.startswith("--timeout="))
        gone = [p for p in self.pods if not stays(p) and self.kept.get(p["metadata"]["name"], 0) < tries]
        self.pods = [p for p in self.pods if p not in gone]
        left = [p for p in self.pods if not stays(p)]
        self.now += seconds if left else 1
        return (1, "", f"error: Drain did not complete within {seconds}s") if left else (0, "drained", "")


def stays(one):
    kinds = [o["kind"] for o in one["metadata"]["ownerReferences"]]
    return MIRROR in one["metadata"].get("annotations", {}) or kinds == ["DaemonSet"]


def node(kubectl, **given):
    return Drain("w1", run=kubectl, clock=lambda: kubectl.now, **given)


def test_pods_go_and_those_of_daemon_sets_and_static_ones_stay():
    kubectl = Kubectl(pod("a"), pod("b", "StatefulSet"), pod("d", "DaemonSet"), pod("s", None, mirror=True))
    done = node(kubectl).drain(60)
    assert done["done"]
    assert done["evicted"] == ["shop/a", "shop/b"]
    assert [p["metadata"]["name"] for p in kubectl.pods] == ["d", "s"]
    assert kubectl.states == [False, True]


def test_what_would_be_lost_is_refused_all_at_once_before_anything_changes():
    kubectl = Kubectl(pod("a"), pod("bare", None), pod("bare2", None, "lab"), pod("data", local=True))
    done = node(kubectl).drain(60)
    bare = ["shop/bare", "lab/bare2"]
    assert done["refused"] == {"without-controller": bare, "local-data": ["shop/data"]}
    assert (kubectl.states, kubectl.drains) == ([False], [])
    assert not done["done"]
    assert not done["cordoned"]


def test_a_look_says_which_pods_are_of_runs_of_the_platform():
    marks = {"ava.io/managed": "true", "ava.io/run": "r1"}
    there = (
        pod("mine", None, "ava-vision", labels=marks),
        pod("label", None, "shop", labels=marks),
        pod("unmanaged", None, "ava-vision", labels={"ava.io/run": "r1"}),
        pod("set", "DaemonSet", "ava-vision", labels=marks),
    )
    assert node(Kubectl(*there)).look()["runs"] == {"ava-vision/mine": "r1"}


@pytest.mark.parametrize(
    ("given", "refused"),
    [
        ({"force": True}, {"local-data"}),
        ({"delete_local_data": True}, {"without-controller"}),
        ({"force": True, "delete_local_data": True}, set()),
    ],
    ids=str,
)
def test_each_kind_is_allowed_for_itself(given, refused):
    kubectl = Kubectl(pod("bare", None), pod("data", local=True))
    done = node(kubectl, **given).drain(60)
    assert set(done["refused"]) == refused
    assert done["done"] is (not refused)
    assert all({"--force", "--delete-local-data"} <= set(flags) for flags in kubectl.drains)


@pytest.mark.parametrize(("named", "may_go"), [("d", True), ("x, d", True), ("x", False), ("", False)])
def test_a_volume_that_its_makers_say_may_go_forbids_nothing(named, may_go):
    one = pod("cache", local=True)
    one["metadata"]["annotations"] = {"cluster-autoscaler.kubernetes.io/safe-to-evict-local-volumes": named}
    kubectl = Kubectl(one)
    assert node(kubectl).drain(60)["done"] is may_go
    assert ["--delete-local-data" in flags for flags in kubectl.drains] == [True] * may_go


GPU = {"key": "gpu", "value": "yes", "effect": "NoSchedule"}


class Guarded(Kubectl):
    """kubectl whose first budget counts the pods that are left."""

    def drain(self, name, *flags):
        before = len(self.pods)
        answer = super().drain(name, *flags)
        self.budgets[0]["status"]["currentHealthy"] -= before - len(self.pods)
        return answer


def guarded(*others, healthy=2, selector=None, tolerations=()):
    """kubectl before a node with two pods of a budget, the only ones of it, for which there may be other nodes."""
    pods = [pod("a", labels=[("app", "x")]), pod("b", labels=[("app", "x")])]
    for one in pods:
        one["spec"] |= {"nodeSelector": selector or {}, "tolerations": list(tolerations)}
    guard = budget("x", healthy - 1, matchLabels={"app": "x"})
    guard["status"] |= {"currentHealthy": healthy, "desiredHealthy": 1}
    # The last one is kept for as long as nothing is healthy elsewhere.
    kubectl = Guarded(*pods, budgets=[guard], kept={"b": 10**6})
    kubectl.nodes = [worker("w1", pool="cpu"), *others]
    return kubectl


@pytest.mark.parametrize(
    "others",
    [
        [],
        [worker("w2", pool="gpu")],
        [worker("w2", pool="cpu", cordoned=True)],
        [worker("w2", pool="cpu", ready="Unknown")],
        [worker("w2", pool="cpu", taints=[GPU])],
    ],
    ids=["none", "another-pool", "cordoned", "silent", "tainted"],
)
def test_pods_that_no_other_node_takes_are_refused_before_anything_changes(others):
    kubectl = guarded(*others, selector={"pool": "cpu"})
    done = node(kubectl).drain(60)
    assert done["refused"] == {"nowhere": ["shop/a", "shop/b"]}
    assert (kubectl.states, kubectl.drains, kubectl.deleted) == ([False], [], [])


def test_accepted_they_end_against_their_budget():
    kubectl = guarded(selector={"pool": "cpu"})
    done = node(kubectl, nowhere=True).drain(60)
    assert (done["refused"], kubectl.deleted) == ({}, ["shop/b"])
    assert done["done"]


@pytest.mark.parametrize(
    ("others", "given"),
    [
        ([worker("w2", pool="cpu")], {}),
        ([worker("w2", pool="cpu", taints=[GPU])], {"tolerations": [{"operator": "Exists"}]}),
        ([worker("w2", pool="cpu", taints=[GPU])], {"tolerations": [{"key": "gpu", "value": "yes"}]}),
        ([], {"healthy": 3}),
    ],
    ids=["a-node", "all-tolerated", "tolerated", "enough-elsewhere"],
)
def test_pods_that_have_somewhere_to_go_are_not_refused_and_never_deleted(others, given):
    kubectl = guarded(*others, selector={"pool": "cpu"}, **given)
    assert node(kubectl).look()["refused"] == {}
    assert node(kubectl, nowhere=True).drain(30)["refused"] == {}
    assert kubectl.deleted == []


def test_pods_of_runs_alone_go_where_these_may():
    marks = {"ava.io/managed": "true", "ava.io/run": "r1"}
    mine = pod("mine", None, "ava-vision", labels=marks, local=True)
    kubectl = Kubectl(mine, pod("bare", None))
    assert node(kubectl, runs=True).drain(60)["refused"] == {"without-controller": ["shop/bare"]}
    assert kubectl.drains == []
    kubectl = Kubectl(mine, pod("a"))
    assert node(kubectl).drain(60)["refused"]
    assert node(kubectl, runs=True).drain(60)["evicted"] == ["ava-vision/mine", "shop/a"]
    assert {"--force", "--delete-local-data"} <= set(kubectl.drains[0])


@pytest.mark.parametrize("phase", ["Succeeded", "Failed"])
def test_a_bare_pod_that_is_done_needs_no_one(phase):
    kubectl = Kubectl(pod("job", None, phase=phase))
    assert node(kubectl).drain(60)["done"]
    assert kubectl.drains
    assert "--force" not in kubectl.drains[0]


def test_what_only_pods_that_stay_have_forbids_nothing():
    """kubectl 1.9 refuses them all the same, so it is called with the option to ignore them; nothing else is ignored."""
    kubectl = Kubectl(pod("a"), pod("s", None, mirror=True), pod("d", "DaemonSet", local=True))
    assert node(kubectl).drain(60)["done"]
    assert {"--force", "--delete-local-data", "--ignore-daemonsets"} <= set(kubectl.drains[0])


def test_a_bare_pod_that_comes_while_the_node_is_cordoned_undoes_it():
    kubectl = Kubectl(pod("a"))
    kubectl.comes = [pod("late", None)]
    done = node(kubectl).drain(60)
    assert done["refused"] == {"without-controller": ["shop/late"]}
    assert (kubectl.states, kubectl.drains, done["cordoned"]) == ([False, True, False], [], False)


def test_one_that_was_cordoned_stays_so_when_it_is_refused_later():
    kubectl = Kubectl(pod("a"), pod("b"), cordoned=True, kept={"b": 1})
    kubectl.comes = [pod("late", None)]
    once = node(kubectl).drain(0)
    assert [p["pod"] for p in once["left"]] == ["shop/b"]
    kubectl.pods += kubectl.comes
    assert node(kubectl).drain(60)["refused"]
    assert kubectl.states == [True]


def test_a_budget_that_keeps_a_pod_is_named_and_the_next_call_goes_on():
    web = {"app": "web"}
    keeps = [budget("web", 0, matchLabels=web)]
    kubectl = Kubectl(pod("a", labels=web), pod("b", labels=web), kept={"b": 3}, budgets=keeps)
    once = node(kubectl).drain(15)
    assert once["evicted"] == ["shop/a"]
    assert once["left"] == [{"pod": "shop/b", "why": "kept by budget shop/web: 2 healthy, at least 2 wanted"}]
    assert not once["done"]
    assert once["cordoned"]
    # It waits no longer than it may: 10 s, then the 5 that are left.
    waited = [next(f for f in flags if "timeout" in f) for flags in kubectl.drains]
    assert waited == ["--timeout=10s", "--timeout=5s"]
    again = node(kubectl).drain(60)
    assert again["done"]
    assert again["evicted"] == ["shop/b"]


@pytest.mark.parametrize(
    "other",
    [
        budget("far", 0, "lab", matchLabels={"app": "web"}),
        budget("wide", 1, matchLabels={"app": "web"}),
        budget("else", 0, matchLabels={"app": "db"}),
        budget("empty", 0),
    ],
    ids=lambda one: one["metadata"]["name"],
)
def test_a_budget_that_keeps_nothing_is_not_blamed(other):
    kubectl = Kubectl(pod("a", labels={"app": "web"}), kept={"a": 9}, budgets=[other])
    assert node(kubectl).drain(0)["left"] == [{"pod": "shop/a", "why": ""}]


def test_a_pod_that_is_ending_is_reported_as_such():
    one = pod("a")
    one["metadata"] |= {"deletionTimestamp": "now", "deletionGracePeriodSeconds": 30}
    left = node(Kubectl(one, kept={"a": 9})).drain(0)["left"]
    assert left[0]["why"] == "is ending, has 30 s for it"


def test_kubectl_that_fails_before_a_pod_is_gone_leaves_the_node_as_it_was():
    kubectl = Kubectl(pod("a", "Thing"))
    kubectl.says = 'error: Unknown controller kind "Thing": a'
    with pytest.raises(DrainError, match="Unknown controller kind"):
        node(kubectl).drain(60)
    assert kubectl.states == [False, True, False]


def test_a_cordon_without_effect_is_an_error_though_kubectl_exits_0():
    kubectl = Kubectl()
    kubectl.says = "mute"
    with pytest.raises(DrainError, match="had no effect"):
        node(kubectl).cordon(True)


@pytest.mark.parametrize(
    ("rule", "taken"),
    [
        ({"key": "app", "operator": "In", "values": ["web", "db"]}, True),
        ({"key": "app", "operator": "NotIn", "values": ["web"]}, False),
        ({"key": "tier", "operator": "NotIn", "values": ["x"]}, True),
        ({"key": "app", "operator": "Exists"}, True),
        ({"key": "app", "operator": "DoesNotExist"}, False),
    ],
    ids=lambda value: value["operator"] if isinstance(value, dict) else "",
)
def test_selectors_by_expressions(rule, taken):
    assert selects({"matchExpressions": [rule]}, {"app": "web"}) is taken


def test_the_answer_for_several_nodes_is_data_and_so_is_what_went_wrong():
    kubectl = Kubectl()
    assert answer({"do": "cordon", "names": ["w1"]}, kubectl) == {"nodes": {"w1": {"changed": True}}}
    assert answer({"do": "cordon", "names": ["w1"]}, kubectl) == {"nodes": {"w1": {"changed": False}}}
    assert answer({"do": "uncordon", "names": ["w1"]}, kubectl)["nodes"]["w1"]["changed"]
    assert answer({"do": "look", "names": ["unknown"]}, kubectl)["nodes"]["unknown"]["cordoned"] is None
    down = answer({"do": "look", "names": ["w1"]}, lambda argv: (1, "", "Unable to connect to the server"))
    assert "Unable to connect" in down["error"]


def test_the_module_drains_once_and_tells_what_is_left():
    kubectl = Kubectl(pod("a"), pod("b"), kept={"b": 99})
    assert ensure(node(kubectl), "drained", 60, check_mode=True) == (True, [])
    assert kubectl.states == [False]
    left = r"stays cordoned; pods that are left: shop/b\. The next run continues"
    with pytest.raises(DrainError, match=left):
        ensure(node(kubectl), "drained", 15)
    kubectl.kept = {}
    assert ensure(node(kubectl), "drained", 15) == (True, ["shop/b"])
    assert ensure(node(kubectl), "drained", 15) == (False, [])
    assert ensure(node(kubectl), "schedulable", 15) == (True, [])
    kubectl.pods = [pod("bare", None)]
    with pytest.raises(DrainError, match=r"nothing makes them again \(force\): shop/bare"):
        ensure(node(kubectl), "drained", 15)
    assert not kubectl.cordoned
