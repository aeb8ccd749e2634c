"""What pods may be (PodSecurityPolicy): who is let use which policy, and that no one gets the other one by a controller."""

from pathlib import Path

import yaml

from tests.attacks import attacks

ROLE = Path(__file__).parents[3] / "roles/kube_apiserver"
OBJECTS = [d for d in yaml.safe_load_all((ROLE / "files/rbac.yml").read_text()) if d]
POLICIES = {d["metadata"]["name"]: d for d in OBJECTS if d["kind"] == "PodSecurityPolicy"}
HARMLESS = {"configMap", "downwardAPI", "emptyDir", "persistentVolumeClaim", "projected", "secret"}


def users(policy):
    """Who may use a policy: the subjects' names, with the namespace in which."""
    roles = {
        d["metadata"]["name"]
        for d in OBJECTS
        if d["kind"] == "ClusterRole" and any(policy in r.get("resourceNames", ()) for r in d["rules"])
    }
    return {
        (subject["name"], binding["metadata"].get("namespace", ""))
        for binding in OBJECTS
        if binding["kind"].endswith("RoleBinding") and binding["roleRef"]["name"] in roles
        for subject in binding["subjects"]
    }


def test_all_users_may_make_restricted_pods_alone():
    assert users("avadm-restricted") == {("system:authenticated", "")}
    assert users("avadm-unrestricted") == {
        ("system:nodes", ""),
        ("system:serviceaccounts:kube-system", "kube-system"),
    }
    assert set(POLICIES) == {"avadm-restricted", "avadm-unrestricted"}


def test_a_restricted_pod_gets_nothing_of_its_node():
    spec = POLICIES["avadm-restricted"]["spec"]
    assert set(spec["volumes"]) == HARMLESS
    assert (spec["allowPrivilegeEscalation"], spec["defaultAllowPrivilegeEscalation"]) == (False, False)
    assert not {"privileged", "hostPID", "hostIPC", "hostNetwork", "hostPorts", "allowedCapabilities"} & set(
        spec
    )
    assert {"MKNOD", "NET_RAW"} <= set(spec["requiredDropCapabilities"])


def test_policies_are_asked_after_all_that_changes_pods():
    order = yaml.safe_load((ROLE / "defaults/main.yml").read_text())["kube_apiserver_admission"]
    names = ["ServiceAccount", "MutatingAdmissionWebhook", "PodSecurityPolicy", "ValidatingAdmissionWebhook"]
    assert sorted(names, key=order.index) == names


def test_the_list_of_attacks_tries_both_sides():
    assert len({a.name for a in attacks()}) == len(attacks())
    assert {a.allowed for a in attacks()} == {True, False}
    assert all(a.by for a in attacks() if not a.allowed)
