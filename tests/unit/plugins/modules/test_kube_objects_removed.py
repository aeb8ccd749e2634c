"""avadm_kube_objects: what differs is told and applied, what is no longer wanted goes, and no log reads a secret."""

import json

import pytest
from avadm_kube_objects import Objects, difference, documents


def thing(kind, name, space="ava-system", **more):
    return {"kind": kind, "apiVersion": "v1", "metadata": {"name": name, "namespace": space}, **more}


class Cluster:
    """kubectl with a manifest and what the cluster has."""

    def __init__(self, wanted, live, others=()):
        self.wanted, self.live, self.others, self.asked = wanted, live, others, []

    def __call__(self, argv):
        words = argv[4:]
        self.asked.append(words)
        if words[0] == "create":
            return 0, "\n".join(map(json.dumps, self.wanted)), ""
        if words[0] == "get" and "-f" in words:
            return 0, json.dumps({"kind": "List", "items": self.live}), ""
        if words[0] == "get":
            return 0, json.dumps({"kind": "List", "items": list(self.others)}), ""
        return 0, "", ""


def objects(wanted, live, **more):
    cluster = Cluster(wanted, live, more.pop("others", ()))
    return Objects(cluster, "/m.yml", "/k", **more), cluster


def test_what_a_secret_holds_is_not_told():
    given, _ = objects(
        [thing("Secret", "s", data={"key": "bmV3"})], [thing("Secret", "s", data={"key": "b2xk"})]
    )
    assert given.differing() == ["Secret ava-system/s, its data differ"]


def test_what_anything_else_holds_is_told():
    given, _ = objects([thing("ConfigMap", "c", data={"a": "1"})], [thing("ConfigMap", "c", data={"a": "2"})])
    assert given.differing() == ['ConfigMap ava-system/c, data.a: found "2", wanted "1"']


def test_objects_with_the_label_that_the_manifest_has_not_are_to_go():
    prune = {"namespace": "ava-system", "label": "app=ava", "kinds": ["jobs", "deployments"]}
    others = [thing("Job", "old"), thing("Job", "new")]
    given, cluster = objects([thing("Job", "new")], [], prune=prune, others=others)
    assert [one["metadata"]["name"] for one in given.stale()] == ["old"]
    assert ["get", "jobs,deployments", "-n", "ava-system", "-l", "app=ava", "-o", "json"] in cluster.asked


def test_nothing_is_removed_where_nothing_is_said_of_it():
    given, cluster = objects([thing("Job", "new")], [], others=[thing("Job", "old")])
    assert given.stale() == []
    assert cluster.asked == []


def test_bindings_are_looked_for_in_all_namespaces():
    given, cluster = objects([], [], unbind="avadm.io/accounts")
    given.stale()
    assert [
        "get",
        "rolebindings",
        "--all-namespaces",
        "-l",
        "avadm.io/accounts",
        "-o",
        "json",
    ] in cluster.asked


@pytest.mark.parametrize(
    ("wanted", "found", "told"),
    [
        ({"a": {}}, {}, None),
        ({"a": 1}, {"a": 1, "b": 2}, None),
        ({"a": [1]}, {"a": [1, 2]}, "a: found 2, wanted 1"),
        ({"a": {"b": 1}}, {"a": {}}, "a.b is missing"),
    ],
)
def test_what_the_cluster_adds_is_no_difference(wanted, found, told):
    assert difference(wanted, found) == told


def test_documents_are_read_one_after_another():
    text = json.dumps({"kind": "List", "items": [{"kind": "A"}]}) + "\n" + json.dumps({"kind": "B"})
    assert [one["kind"] for one in documents(text)] == ["A", "B"]
