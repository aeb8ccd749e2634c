"""The platform's interface may ask the site's Prometheus what runs use, with a certificate of its own, and no one else may."""

import pytest
import yaml

from ava.services.config import Config as Api
from avadm.components.ava import component, variables_services
from avadm.components.ava import variables as ava
from avadm.components.database import variables as database
from avadm.components.logs import variables as logs
from avadm.components.monitoring import component as parts
from tests.unit.fakes import sites
from tests.unit.fakes.roles import given, template, value
from tests.unit.fakes.sites import node
from tests.unit.site.test_render_ava import ARCHIVE

WORD = "metrics word"


def site(**components):
    return sites.site(
        node("k1", 1, "etcd", "master"),
        node("w1", 2, "worker", "dns", "ingress", "registry"),
        node("m1", 3, "prometheus"),
        node("m2", 4, "prometheus"),
        node("d1", 5, "database"),
        components={"database": {}, "ava": {}} | components,
    )


def objects(tmp_path, name, of):
    out = sites.render(of, logs, database, ava, variables_services, store=sites.issued(of, tmp_path))
    kept = {
        "ava-image": {"version": "0.1.0-abc", "files": {"image.tar": ARCHIVE}},
        "ava-init": {"files": {"init": {}}},
        "ava-base": {"version": "1", "files": {"image.tar": ARCHIVE}},
    }
    words = {
        "vault_pki_key_metrics_client_ava": WORD,
        "vault_pki_key_registry_client_ava": "r",
        "vault_pki_key_registry_tokens_ava": "t",
    }
    have = given("ava") | out.all | dict.fromkeys(out.secrets, "made") | words | {"artifacts": kept}
    for _ in range(4):
        have = {k: value(v, **have) if k.startswith(("ava_", "_ava_")) else v for k, v in have.items()}
    found = [one for one in yaml.safe_load_all(template(f"ava/templates/{name}", **have)) if one]
    return {f"{one['kind']} {one['metadata']['name']}": one for one in found}


def test_each_server_is_asked_and_a_certificate_is_shown_to_it(tmp_path):
    base = objects(tmp_path, "base.yml.j2", site())
    data = base["ConfigMap ava"]["data"]
    found = Api.model_validate(yaml.safe_load(data["api.yml"])).prometheus
    assert [(one.name, one.url) for one in found] == [
        ("m1", "https://10.0.0.3:9090"),
        ("m2", "https://10.0.0.4:9090"),
    ]
    for one in found:
        assert one.certificate is not None
        assert data[one.certificate.name].startswith("-----BEGIN CERTIFICATE-----")
        assert data[one.ca.name].startswith("-----BEGIN CERTIFICATE-----")
        assert str(one.key) == "/etc/ava/services-api/metrics-key"
    assert "metrics-key" in objects(tmp_path, "secrets.yml.j2", site())["Secret services-api"]["data"]
    assert WORD not in str(data)


def test_the_way_there_is_open_for_the_interface_alone(tmp_path):
    base = objects(tmp_path, "base.yml.j2", site())
    ways = [
        (one["spec"]["podSelector"]["matchLabels"]["part"], rule["to"], rule["ports"])
        for name, one in base.items()
        if name.startswith("NetworkPolicy service-")
        for rule in one["spec"]["egress"]
        if any(port["port"] == parts.SERVER for port in rule["ports"])
    ]
    assert [(part, [to["ipBlock"]["cidr"] for to in where]) for part, where, _ in ways] == [
        ("api", ["10.0.0.3/32", "10.0.0.4/32"])
    ]


@pytest.mark.parametrize(
    ("of", "there"),
    [
        (site(), True),
        (site(ava=None), False),
        (site(monitoring={"existing": ["http://10.9.9.9:9090"]}), False),
    ],
)
def test_certificate_and_port_are_there_where_both_are(of, there):
    leaves = {leaf.name for leaf in component.leaves(of)}
    assert (component.METRICS_CLIENT in leaves) is there
    pods = [port for port in parts.COMPONENT.ports if "web site" in port.what]
    assert [port.number(of) is not None for port in pods] == [there]
