"""What the ingress controller may read, and which of its routes come first."""

import yaml

from tests.unit.fakes.roles import given, template

RIGHTS = [d for d in yaml.safe_load_all(template("kube_addons/templates/rights.yml")) if d]


def test_the_ingress_controller_reads_no_secrets():
    [role] = [d for d in RIGHTS if d["kind"] == "ClusterRole" and d["metadata"]["name"] == "avadm:ingress"]
    assert {r for rule in role["rules"] for r in rule["resources"]} == {"services", "endpoints", "ingresses"}
    assert {v for rule in role["rules"] for v in rule["verbs"]} == {"get", "list", "watch"}


def test_the_platforms_own_routes_come_before_those_of_tenants():
    have = given("ingress") | {
        "ingress_callers": {"service": "s", "path": "/p"},
        "ingress_routes": [{"name": "n", "rule": "r", "service": "s"}],
    }
    routers = yaml.safe_load(template("ingress/templates/certificates.yml.j2", **have))["http"]["routers"]
    assert {name: router["priority"] for name, router in routers.items()} == dict.fromkeys(
        ("n", "callers"), 1000000
    )
