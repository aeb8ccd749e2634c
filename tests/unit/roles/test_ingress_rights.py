"""What the ingress controller and Calico may do, and which routes come first."""

import yaml

from tests.unit.fakes.roles import ROLES, given, template

RIGHTS = [d for d in yaml.safe_load_all(template("kube_addons/templates/rights.yml")) if d]


def test_the_ingress_controller_reads_no_secrets():
    [role] = [d for d in RIGHTS if d["kind"] == "ClusterRole" and d["metadata"]["name"] == "avadm:ingress"]
    assert {r for rule in role["rules"] for r in rule["resources"]} == {"services", "endpoints", "ingresses"}
    assert {v for rule in role["rules"] for v in rule["verbs"]} == {"get", "list", "watch"}


def test_the_account_of_calico_which_every_node_has_changes_nothing():
    text = (ROLES / "kube_apiserver/files/rbac.yml").read_text()
    found = {(d["kind"], d["metadata"]["name"]): d for d in yaml.safe_load_all(text) if d}
    rules = found["ClusterRole", "avadm:calico"]["rules"]
    assert {verb for rule in rules for verb in rule["verbs"]} == {"get"}


def test_the_platforms_own_routes_come_before_those_of_tenants():
    have = given("ingress") | {
        "ingress_callers": {"service": "s", "path": "/p"},
        "ingress_routes": [{"name": "n", "rule": "r", "service": "s"}],
    }
    routers = yaml.safe_load(template("ingress/templates/certificates.yml.j2", **have))["http"]["routers"]
    own, closed = (
        dict.fromkeys(("n", "callers"), 1000000),
        dict.fromkeys(("metrics-closed", "callers-closed"), 999999),
    )
    assert {name: router["priority"] for name, router in routers.items()} == own | closed
    assert all(len(router["entryPoints"]) == 1 for router in routers.values())


def test_each_ingress_of_the_platform_names_its_entry_point():
    """traefik serves one that names none at every entry point, the metrics among them."""
    found = 0
    for path in ROLES.rglob("*.j2"):
        for document in path.read_text().split("\n---"):
            if "\nkind: Ingress\n" in f"\n{document}":
                found += 1
                assert "router.entrypoints" in document or "'entrypoints': " in path.read_text(), path
    assert found >= 3
