"""The rules that are rendered for accounts, held against the role matrix (tests/rbac.yml)."""

from ipaddress import ip_address, ip_network

import pytest
import yaml

from tests.rbac import ROLES, trials
from tests.unit.fakes.roles import template

ACCOUNTS = [
    {"name": "eva", "role": "viewer", "namespaces": []},
    {"name": "otto", "role": "operator", "namespaces": []},
    {"name": "team-a", "role": "tenant", "namespaces": ["team-a", "shared"]},
    {"name": "007", "role": "tenant", "namespaces": ["team-b", "shared"]},
]
WHO = {"viewer": "eva", "operator": "otto", "tenant": "team-a"}
PLACES = {"own": ["team-a", "shared"], "other": ["team-b", "kube-system", "default"], "none": [None]}


def render(accounts):
    """Return the objects of the role's manifest."""
    variables = {
        "kube_addons_accounts": accounts,
        "kube_addons_dns_service": "10.96.0.10",
        "kube_addons_dns_servers": ["10.0.0.21"],
        "kube_addons_pods": ["10.88.0.0/16", "10.92.0.0/16"],
    }
    return list(yaml.safe_load_all(template("kube_addons/templates/addons.yml.j2", **variables)))


def rules_of(objects, user, namespace):
    """Return the rules that hold for a user in a namespace, or outside of all where it is None."""
    roles = {one["metadata"]["name"]: one["rules"] for one in objects if one["kind"] == "ClusterRole"}
    found = []
    for one in objects:
        here = one["metadata"].get("namespace") == namespace or one["kind"] == "ClusterRoleBinding"
        who = [(subject["kind"], subject["name"]) for subject in one.get("subjects", ())]
        if here and ("User", user) in who:
            found += roles[one["roleRef"]["name"]]
    return found


def allows(rule, trial):
    """Tell whether one rule allows what is tried, as Kubernetes 1.9 has it."""
    what = "/".join(filter(None, (trial.resource, trial.subresource)))
    wanted = {"*", what, *([f"*/{trial.subresource}"] if trial.subresource else [])}
    return (
        not {"*", trial.verb}.isdisjoint(rule["verbs"])
        and not {"*", trial.group}.isdisjoint(rule["apiGroups"])
        and not wanted.isdisjoint(rule["resources"])
    )


@pytest.fixture(scope="module")
def objects():
    return render(ACCOUNTS)


@pytest.mark.parametrize("role", ROLES)
def test_each_role_may_what_the_matrix_says_and_nothing_else(objects, role):
    wrong = [
        f"{trial}: {namespace} (matrix: {trial.may})"
        for trial in trials()
        if trial.role == role
        for namespace in PLACES[trial.place]
        if any(allows(rule, trial) for rule in rules_of(objects, WHO[role], namespace)) != trial.may
    ]
    assert wrong == []


@pytest.mark.parametrize("role", ROLES)
def test_the_matrix_tries_all_that_a_role_gives(objects, role):
    """A right that is added to a role without a row in the matrix is found; `*` of a group by any row of that group."""
    tried = {
        (t.verb, t.group, "/".join(filter(None, (t.resource, t.subresource))))
        for t in trials()
        if t.may and t.role == role
    }
    rules = next(
        o["rules"] for o in objects if o["kind"] == "ClusterRole" and o["metadata"]["name"] == f"avadm:{role}"
    )
    groups = {(verb, group) for verb, group, _ in tried}
    for rule in rules:
        assert "*" not in rule["verbs"] + rule["apiGroups"]
        for verb in rule["verbs"]:
            for group in rule["apiGroups"]:
                for kind in rule["resources"]:
                    known = (verb, group) in groups if kind == "*" else (verb, group, kind) in tried
                    assert known, f"{role}: {verb} {kind} of {group or 'the core'} is in no row"


def test_the_matrix_tries_nothing_twice_and_knows_each_role():
    assert len(set(trials())) == len(trials())
    assert {(t.role, t.may) for t in trials()} == {(role, may) for role in ROLES for may in (True, False)}


def test_no_verb_but_looking_reaches_all_of_a_group_and_nothing_all_of_the_core(objects):
    for one in objects:
        for rule in one.get("rules", []):
            if "*" in rule["resources"]:
                assert set(rule["verbs"]) <= {"get", "list", "watch"}
                assert "" not in rule["apiGroups"]


def test_a_namespace_of_two_tenants_is_both_s_and_each_namespace_is_made_first(objects):
    bindings = {o["metadata"]["namespace"]: o for o in objects if o["kind"] == "RoleBinding"}
    assert {n: [s["name"] for s in o["subjects"]] for n, o in bindings.items()} == {
        "shared": ["007", "team-a"],
        "team-a": ["team-a"],
        "team-b": ["007"],
    }
    for namespace, binding in bindings.items():
        made = next(o for o in objects if o["kind"] == "Namespace" and o["metadata"]["name"] == namespace)
        assert objects.index(made) < objects.index(binding)


def test_every_binding_of_accounts_can_be_found_again_and_no_other(objects):
    label = {o["metadata"]["name"] for o in objects if "avadm.io/accounts" in o["metadata"].get("labels", {})}
    assert label == {f"avadm:{role}" for role in ROLES}
    for one in objects:
        if one["metadata"].get("labels"):
            assert one["kind"] in ("ClusterRoleBinding", "RoleBinding")


def lets_in(policy, source, namespace):
    """Tell whether a policy lets in who comes from an address, a pod of `namespace` or (None) no pod."""
    for peer in policy["spec"]["ingress"][0]["from"]:
        if "ipBlock" in peer:
            block, address = peer["ipBlock"], ip_address(source)
            if address in ip_network(block["cidr"]) and not any(
                address in ip_network(e) for e in block["except"]
            ):
                return True
        else:
            # Without a selector of namespaces it means pods of the policy's own.
            assert peer == {"podSelector": {}}
            if namespace == policy["metadata"]["namespace"]:
                return True
    return False


def test_each_namespace_of_tenants_is_closed_to_pods_of_others(objects):
    policies = {o["metadata"]["namespace"]: o for o in objects if o["kind"] == "NetworkPolicy"}
    assert set(policies) == {"shared", "team-a", "team-b"}
    for namespace, policy in policies.items():
        made = next(o for o in objects if o["kind"] == "Namespace" and o["metadata"]["name"] == namespace)
        assert objects.index(made) < objects.index(policy)
        assert policy["apiVersion"] == "networking.k8s.io/v1"
        assert policy["spec"]["podSelector"] == {}, "all pods"
        assert policy["spec"]["policyTypes"] == ["Ingress"]
        assert len(policy["spec"]["ingress"]) == 1
        assert lets_in(policy, "10.88.3.4", namespace)
        for other in {*policies, "default", "kube-system"} - {namespace}:
            assert not lets_in(policy, "10.88.3.4", other)
            assert not lets_in(policy, "10.92.3.4", other)
        # A node (ingress, kubelet, the API's proxy), and a user of a service's address.
        assert lets_in(policy, "10.0.0.21", None)
        assert lets_in(policy, "192.0.2.7", None)


def test_without_accounts_the_roles_are_there_and_no_one_has_them():
    objects = render([])
    names = {(o["kind"], o["metadata"]["name"]) for o in objects}
    assert names >= {("ClusterRole", f"avadm:{role}") for role in ROLES}
    assert not names & {("ClusterRoleBinding", f"avadm:{role}") for role in ROLES}
    assert not [o for o in objects if o["kind"] in ("Namespace", "RoleBinding", "NetworkPolicy")]
