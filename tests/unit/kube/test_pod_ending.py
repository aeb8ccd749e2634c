"""Ending pods where the whole site is switched off, on a master."""

import json

import pytest

from avadm_node.probes.kube import ending


def pod(name, node="n1", space="shop", kind="ReplicaSet", **more):
    owners = [{"kind": kind, "controller": True}] if kind else []
    meta = {"name": name, "namespace": space, "ownerReferences": owners, **more.get("meta", {})}
    return {
        "metadata": meta,
        "spec": {"nodeName": node, "volumes": more.get("volumes", [])},
        "status": {"phase": more.get("phase", "Running")},
    }


class Kubectl:
    """kubectl with pods; those that were deleted are ending."""

    def __init__(self, *pods):
        self.pods, self.deleted, self.rc = list(pods), [], 0

    def __call__(self, argv):
        if "get" in argv:
            return self.rc, json.dumps({"items": self.pods}), "no route"
        assert argv[:4] == ["timeout", "-k", "5", "60"]
        at = argv.index("--namespace")
        for one in self.pods:
            if one["metadata"]["namespace"] == argv[at + 1] and one["metadata"]["name"] in argv[at + 2 :]:
                self.deleted.append(one["metadata"]["name"])
                one["metadata"]["deletionTimestamp"] = "now"
        return 0, "", ""


def ask(kubectl, do="end", **more):
    given = {
        "do": do,
        "names": ["n1", "n2"],
        "namespace": "",
        "except": [],
        "force": False,
        "delete_local_data": False,
    }
    return ending.answer({**given, **more}, kubectl)


def test_pods_end_once_and_those_of_daemon_sets_other_nodes_and_that_are_done_stay():
    static = pod("static", meta={"annotations": {"kubernetes.io/config.mirror": "x"}})
    kubectl = Kubectl(
        pod("a"),
        pod("b", "n2", "other"),
        pod("c", "n3"),
        pod("d", kind="DaemonSet"),
        static,
        pod("e", phase="Succeeded"),
        pod("f", ""),
    )
    found = ask(kubectl)
    assert kubectl.deleted == ["b", "a"]
    assert [(row["pod"], row["node"]) for row in found["left"]] == [("shop/a", "n1"), ("other/b", "n2")]
    assert "is ending" in found["left"][0]["why"]
    ask(kubectl)
    assert kubectl.deleted == ["b", "a"]


def test_a_namespace_is_chosen_or_left_out():
    kubectl = Kubectl(pod("a", space="ava-system"), pod("b"))
    assert [r["pod"] for r in ask(kubectl, "look", **{"except": ["ava-system"]})["left"]] == ["shop/b"]
    ask(kubectl, namespace="ava-system")
    assert kubectl.deleted == ["a"]


@pytest.mark.parametrize(
    ("lost", "reason", "flag"),
    [
        (pod("x", kind=""), "without-controller", "force"),
        (pod("x", volumes=[{"emptyDir": {}}]), "local-data", "delete_local_data"),
    ],
)
def test_what_would_be_lost_ends_nothing_unless_that_was_accepted(lost, reason, flag):
    kubectl = Kubectl(pod("a"), lost)
    assert ask(kubectl)["refused"] == {reason: ["shop/x"]}
    assert kubectl.deleted == []
    assert ask(kubectl, **{flag: True})["refused"] == {}
    assert sorted(kubectl.deleted) == ["a", "x"]


def test_an_api_server_that_does_not_answer_is_an_error_and_no_empty_list():
    kubectl = Kubectl()
    kubectl.rc = 1
    assert "no route" in ask(kubectl)["error"]
