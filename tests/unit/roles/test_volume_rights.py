"""What the makers of volumes may: by group, no change of a volume, and admission that is asked about all else."""

import yaml

from tests.unit.fakes.roles import template


def objects(path, **known):
    """Return the objects of a template by kind and name."""
    found = yaml.safe_load_all(template(path, **known))
    return {(d["kind"], d["metadata"]["name"]): d for d in found if d}


RIGHTS = objects(
    "kube_volumes/templates/volumes.yml.j2", _kube_volumes_classes=[], kube_volumes_default="none"
)
HOOKS = objects(
    "kube_admission/templates/webhook.yml.j2", kube_admission_port=1, kube_admission_ca_certificate="x"
)["ValidatingWebhookConfiguration", "avadm-admission"]["webhooks"]
HOOK = next(h for h in HOOKS if h["name"] == "volumes.admission.avadm.io")


def verbs(role, resource):
    rules = RIGHTS["ClusterRole", role]["rules"]
    return {verb for r in rules if resource in r["resources"] for verb in r["verbs"]}


def test_rights_are_given_to_groups_alone():
    found = {
        name: [(s["kind"], s["name"]) for s in d["subjects"]]
        for (kind, name), d in RIGHTS.items()
        if kind == "ClusterRoleBinding"
    }
    assert found == {name: [("Group", name)] for name in ("avadm:volumes", "avadm:provisioners")}


def test_no_one_changes_a_volume_and_only_a_node_a_claim():
    for role in ("avadm:volumes", "avadm:provisioners"):
        assert verbs(role, "persistentvolumes") == {"get", "list", "watch", "create", "delete"}
    assert verbs("avadm:volumes", "persistentvolumeclaims") == {"get", "list", "watch", "patch"}
    assert verbs("avadm:provisioners", "persistentvolumeclaims") == {"get", "list", "watch"}


def test_admission_is_asked_about_each_of_them_everywhere_and_must_answer():
    assert HOOK["failurePolicy"] == "Fail"
    assert "namespaceSelector" not in HOOK, "claims of kube-system too"
    asked = {(resource, op) for r in HOOK["rules"] for resource in r["resources"] for op in r["operations"]}
    wanted = {"create": "CREATE", "delete": "DELETE", "patch": "UPDATE", "update": "UPDATE"}
    may = {
        (resource, wanted[verb])
        for role in ("avadm:volumes", "avadm:provisioners")
        for resource in ("persistentvolumes", "persistentvolumeclaims")
        for verb in verbs(role, resource) & set(wanted)
    }
    assert asked == may
