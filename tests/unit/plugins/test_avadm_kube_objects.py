"""avadm_kube_objects: what counts as a difference, and what is applied."""

import json

import pytest
from avadm_kube_objects import KubeError, Objects, difference, documents

from tests.unit.fakes.running import module, stub

WANTED = {
    "apiVersion": "rbac.authorization.k8s.io/v1",
    "kind": "ClusterRole",
    "metadata": {"name": "one", "creationTimestamp": None},
    "rules": [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}],
}
ADDED = {"uid": "u", "resourceVersion": "7", "creationTimestamp": "2026-11-21T00:00:00Z"}
LIVE = {**WANTED, "metadata": {"name": "one", **ADDED}}


class Kubectl:
    """kubectl that knows `live` and what has a label; notes what was asked, applied and removed."""

    def __init__(self, wanted, live, labelled=()):
        self.wanted, self.live, self.labelled = wanted, live, list(labelled)
        self.asked, self.applied, self.removed = [], 0, []

    def __call__(self, argv):
        words = argv[4:]
        self.asked.append(words)
        if words[0] == "create":
            return 0, "\n".join(json.dumps(one, indent=1) for one in self.wanted), ""
        if words[0] == "get" and "-f" in words:
            if not self.live:
                return 0, "", ""
            whole = self.live[0] if len(self.live) == 1 else {"kind": "List", "items": self.live}
            return 0, json.dumps(whole), ""
        if words[0] == "apply":
            self.applied += 1
            return 0, "", ""
        if words[0] == "get" and "-l" in words:
            kinds = {"clusterrolebindings": "ClusterRoleBinding", "rolebindings": "RoleBinding"}
            found = [one for one in self.labelled if one["kind"] == kinds.get(words[1], one["kind"])]
            return 0, json.dumps({"kind": "List", "items": found}), ""
        if words[0] == "delete":
            self.removed.append(words[1:])
            return 0, "", ""
        return 1, "", "the server could not find the requested resource"


def objects(wanted, live, labelled=(), **more):
    run = Kubectl(wanted, live, labelled)
    return Objects(run, "/m.yml", "/k", **more), run


def thing(kind, name, space="ava-system", **more):
    return {"kind": kind, "apiVersion": "v1", "metadata": {"name": name, "namespace": space}, **more}


def test_what_the_cluster_adds_is_no_difference():
    assert objects([WANTED], [LIVE])[0].differing() == []


def test_a_missing_object_is_named_among_others():
    other = {**WANTED, "kind": "Service", "metadata": {"name": "two", "namespace": "kube-system"}}
    assert objects([WANTED, other], [LIVE])[0].differing() == ["Service kube-system/two is missing"]
    assert objects([WANTED], [])[0].differing() == ["ClusterRole one is missing"]


@pytest.mark.parametrize(
    ("live", "reported"),
    [
        ([], "rules: found 0, wanted 1"),
        ([{**WANTED["rules"][0], "verbs": ["list"]}], 'rules[0].verbs[0]: found "list", wanted "get"'),
        ([{"apiGroups": [""], "verbs": ["get"]}], "rules[0].resources is missing"),
    ],
)
def test_the_first_difference_is_reported(live, reported):
    assert objects([WANTED], [{**LIVE, "rules": live}])[0].differing() == [f"ClusterRole one, {reported}"]


def test_the_same_name_in_another_namespace_is_another_object():
    there = {**WANTED, "kind": "Role", "metadata": {"name": "one", "namespace": "a"}}
    here = {**there, "metadata": {"name": "one", "namespace": "b"}}
    assert objects([there], [here])[0].differing() == ["Role a/one is missing"]


def test_what_is_empty_may_be_left_out_by_the_api():
    assert difference({"a": {}, "b": [], "c": None, "d": 1}, {"d": 1}) is None
    assert difference({"a": {"b": 1}}, {}) == "a is missing"


def test_documents_one_after_another_and_lists():
    text = json.dumps({"kind": "A"}) + "\n\n" + json.dumps({"kind": "List", "items": [{"kind": "B"}]}) + "\n"
    assert [one["kind"] for one in documents(text)] == ["A", "B"]
    assert documents(" \n") == []


def test_what_kubectl_says_is_kept():
    work = Objects(lambda argv: (1, "", "error: no such file\n"), "/m.yml", "/k")
    with pytest.raises(KubeError, match="kubectl create: error: no such file"):
        work.differing()
    assert "no such file" in work.unanswered()


def binding(kind, name, namespace=None):
    where = {"namespace": namespace} if namespace else {}
    return {"kind": kind, "metadata": {"name": name, **where}}


def test_bindings_that_the_manifest_no_longer_has_are_found_and_removed():
    kept = binding("RoleBinding", "avadm:tenant", "team-a")
    gone = binding("RoleBinding", "avadm:tenant", "team-b")
    cluster = binding("ClusterRoleBinding", "avadm:viewer")
    run = Kubectl([WANTED, kept], [], [kept, gone, cluster])
    work = Objects(run, "/m.yml", "/k", "avadm.io/accounts")
    assert work.stale() == [cluster, gone]
    for one in work.stale():
        work.remove(one)
    assert run.removed == [
        ["--ignore-not-found", "clusterrolebinding", "avadm:viewer"],
        ["--ignore-not-found", "rolebinding", "avadm:tenant", "--namespace", "team-b"],
    ]


def test_nothing_is_removed_where_no_label_is_named():
    run = Kubectl([WANTED], [], [binding("ClusterRoleBinding", "avadm:viewer")])
    assert Objects(run, "/m.yml", "/k").stale() == []


@pytest.mark.parametrize("only", [True, False])
def test_an_api_that_does_not_answer_is_no_failure_where_only_one_that_does_is_asked(tmp_path, only):
    """Before a restart, which may be what brings it back."""
    env = stub(tmp_path / "bin/kubectl", "echo refused >&2\nexit 1")
    given = {"path": str(tmp_path / "m.yml"), "timeout": 0, "answering_only": only}
    given |= {"_ansible_remote_tmp": str(tmp_path), "_ansible_tmpdir": str(tmp_path)}
    report, reply = module("avadm_kube_objects", env, **given)
    assert bool(report.get("failed")) is not only, reply
    assert (report["changed"], report["differing"]) == (False, []) if only else "refused" in report["msg"]


def test_what_a_secret_holds_is_not_reported():
    given, _ = objects(
        [thing("Secret", "s", data={"key": "bmV3"})], [thing("Secret", "s", data={"key": "b2xk"})]
    )
    assert given.differing() == ["Secret ava-system/s, its data differ"]


def test_what_anything_else_holds_is_reported():
    given, _ = objects([thing("ConfigMap", "c", data={"a": "1"})], [thing("ConfigMap", "c", data={"a": "2"})])
    assert given.differing() == ['ConfigMap ava-system/c, data.a: found "2", wanted "1"']


def test_objects_with_the_label_that_the_manifest_has_not_are_to_go():
    prune = {"namespace": "ava-system", "label": "app=ava", "kinds": ["jobs", "deployments"]}
    others = [thing("Deployment", "old"), thing("Deployment", "new")]
    given, cluster = objects([thing("Deployment", "new")], [], prune=prune, labelled=others)
    assert [one["metadata"]["name"] for one in given.stale()] == ["old"]
    assert ["get", "jobs,deployments", "-n", "ava-system", "-l", "app=ava", "-o", "json"] in cluster.asked


def test_nothing_is_removed_where_nothing_is_shown_of_it():
    given, cluster = objects([thing("Job", "new")], [], labelled=[thing("Job", "old")])
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
    ("wanted", "found", "reported"),
    [
        ({"a": {}}, {}, None),
        ({"a": 1}, {"a": 1, "b": 2}, None),
        ({"a": [1]}, {"a": [1, 2]}, "a: found 2, wanted 1"),
        ({"a": {"b": 1}}, {"a": {}}, "a.b is missing"),
    ],
)
def test_the_first_difference_is_named(wanted, found, reported):
    assert difference(wanted, found) == reported


@pytest.mark.parametrize("annotations", [None, {}, {"avadm.io/repeatable": "false"}, {"repeatable": "true"}])
@pytest.mark.parametrize("prune", [None, {"kinds": ["jobs"], "namespace": "ava-system", "label": "app=ava"}])
def test_a_job_that_may_be_right_only_once_is_refused_and_nothing_changes(annotations, prune):
    job = thing("Job", "init")
    job["metadata"]["annotations"] = annotations
    made, run = objects([thing("Service", "api"), job], [], [thing("Job", "migrate-1")], prune=prune)
    with pytest.raises(KubeError, match="Job ava-system/init"):
        made.stale() if prune else made.differing()
    assert (run.applied, run.removed) == (0, [])


def test_a_job_that_changes_nothing_again_is_applied():
    job = thing("Job", "migrate-1")
    job["metadata"]["annotations"] = {"avadm.io/repeatable": "true"}
    assert objects([job], [])[0].differing() == ["Job ava-system/migrate-1 is missing"]
