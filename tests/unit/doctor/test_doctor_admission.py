"""What the doctor asks of the API's admission: read as the API tells it, and held against what the roles write."""

import json
from pathlib import Path

import pytest
import yaml
from jinja2 import Environment

from avadm.components.masters import checks_admission as checks

ROLES = Path(__file__).parents[3] / "roles"
OBJECTS = [o for o in yaml.safe_load_all((ROLES / "kube_apiserver/files/rbac.yml").read_text()) if o]


def registered():
    environment = Environment()  # noqa: S701  YAML
    environment.filters["b64encode"] = lambda text: text
    text = (ROLES / "kube_admission/templates/webhook.yml.j2").read_text()
    port = yaml.safe_load((ROLES / "kube_admission/defaults/main.yml").read_text())["kube_admission_port"]
    given = {"ansible_managed": "", "kube_admission_port": port, "kube_admission_ca_certificate": "PEM"}
    return list(yaml.safe_load_all(environment.from_string(text).render(given)))


@pytest.fixture
def facts_of(script, monkeypatch):
    """Return a function: what the part says where the API holds these objects, and one webhook of somebody else."""
    strange = {"metadata": {"name": "other"}, "webhooks": [{"name": "x"}]}
    kinds = {"validatingwebhookconfigurations": "ValidatingWebhookConfiguration"}
    kinds |= {"podsecuritypolicies": "PodSecurityPolicy", "namespaces": "Namespace", "ingresses": "Ingress"}

    def say(*objects):
        held = [*objects, {"kind": "ValidatingWebhookConfiguration", **strange}]

        def kubectl(*words):
            asked = words[-1].rpartition("/")[2].partition("?")[0] if "%2F" not in words[-1] else "namespaces"
            return json.dumps({"items": [o for o in held if o["kind"] == kinds[asked]]})

        monkeypatch.setitem(script, "kubectl", kubectl)
        return script["admission"]({})

    return say


def test_what_the_roles_write_is_what_is_wanted(facts_of):
    found = facts_of(*registered(), *OBJECTS)
    assert list(checks._asked(None, "m1", found)) == []
    # No more either: what is registered beside would be watched by no one.
    pairs = {
        name: {(o, r) for rule in hook["rules"] for o in rule["operations"] for r in rule["resources"]}
        for name, hook in found["webhooks"].items()
    }
    assert pairs == {name: set(row[2]) for name, row in checks.WEBHOOKS.items()}
    given = yaml.safe_load((ROLES / "kube_apiserver/defaults/main.yml").read_text())
    assert set(checks.PLUGINS) < set(given["kube_apiserver_admission"])


def test_an_api_that_holds_nothing_is_reported_and_no_traceback(facts_of):
    found = facts_of()
    assert found == {"webhooks": {}, "policies": {}, "passed": [], "shared_hosts": {}}
    messages = [t.found for t in checks._asked(None, "m1", found)]
    assert len(messages) == len(checks.WEBHOOKS) + 1


@pytest.mark.parametrize(
    ("text", "wanted"), [(None, None), ("", 0), ("-----BEGIN CERTIFICATE-----\n" * 2, 2)]
)
def test_authorities_that_members_of_etcd_trust_are_counted(script, monkeypatch, text, wanted):
    monkeypatch.setitem(script, "slurp", lambda path: text)
    assert script["etcd_peers"]({}) == {"authorities": wanted}


def ingress(namespace, second, *hosts, **notes):
    meta = {"namespace": namespace, "name": "x", "creationTimestamp": f"2026-01-01T00:00:0{second}Z"}
    rules = [{"host": host} for host in hosts]
    return {"kind": "Ingress", "metadata": meta | {"annotations": notes}, "spec": {"rules": rules}}


def test_a_host_of_two_namespaces_is_reported_and_an_administrators_is_not(facts_of):
    free = {"traefik.ingress.kubernetes.io/router.priority": "7"}
    found = facts_of(
        ingress("a", 2, "h.test", "own.test"),
        ingress("b", 1, "H.test", "", "twice.test"),
        ingress("b", 3, "twice.test"),
        ingress("c", 0, "h.test", "own.test", **free),
        {**ingress("d", 1), "spec": {"backend": {}}},
    )
    assert found["shared_hosts"] == {"h.test": ["b/x", "a/x"]}
