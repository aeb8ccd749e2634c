"""Alertmanager asks for certificates: who has one, and which receivers there are."""

from pathlib import Path

import pytest
from ansible.parsing.dataloader import DataLoader
from ansible.template import Templar
from ruamel.yaml import YAML

from avadm.components import certificates
from avadm.components.monitoring import variables as monitoring
from avadm.components.monitoring import variables_tls
from avadm.pki.model import Authority
from avadm.site import profile as profiles
from tests.unit.fakes import sites
from tests.unit.fakes.sites import node

ROLE = Path(__file__).parents[3] / "roles/alertmanager"
NODES = [
    node("m1", 11, "prometheus", "alertmanager"),
    node("m2", 12, "alertmanager"),
    node("w1", 21, "client"),
]


def site(**knobs):
    return sites.site(*NODES, components={"monitoring": knobs})


@pytest.fixture
def made(tmp_path):
    """Return a function that renders a site: its variables, and the store of its certificates."""

    def make(one, profile="lab-bookworm"):
        store = sites.issued(one, tmp_path)
        return sites.render(one, monitoring, variables_tls, profile=profile, store=store), store

    return make


def test_members_and_prometheus_alone_have_a_certificate(made):
    out, store = made(site())
    ours = [leaf for leaf in certificates.leaves(site()) if leaf.authority is Authority.MONITORING]
    assert {leaf.name for leaf in ours} == {"alertmanager-m1", "alertmanager-m2", "prometheus-alerts"}
    for name in ("m1", "m2"):
        assert out.hosts[name]["alertmanager_tls"]["certificate"] == store.leaf(f"alertmanager-{name}")
        assert out.hosts[name]["alertmanager_external_url"].startswith("https://")
    assert "alertmanager_tls" not in out.hosts["w1"]


def test_prometheus_shows_its_own_to_send_to_scrape_and_to_probe(made):
    out, store = made(site())
    client = out.all["prometheus_alertmanagers_client"]
    assert out.all["prometheus_clients"][client]["certificate"] == store.leaf("prometheus-alerts")
    assert out.all["prometheus_jobs"]["alertmanager"]["client"] == client
    assert out.all["blackbox_exporter_alertmanager_tls"].endswith(f"/tls/{client}")
    labels = [g["labels"] for g in out.all["prometheus_targets"]["probe"]]
    assert {g["__param_module"] for g in labels if g["probe"] == "alertmanager"} == {"alertmanager"}


def test_each_node_s_exporter_has_a_certificate_that_serves_alone(made):
    out, store = made(site())
    leaves = {leaf.name: leaf for leaf in certificates.leaves(site()) if leaf.authority is Authority.METRICS}
    assert set(leaves) == {"metrics-m1", "metrics-m2", "metrics-w1", "prometheus-metrics"}
    assert {name for name, leaf in leaves.items() if leaf.client} == {"prometheus-metrics"}
    for name in ("m1", "m2", "w1"):
        assert out.hosts[name]["node_exporter_tls"]["certificate"] == store.leaf(f"metrics-{name}")
    assert out.hosts["m1"]["prometheus_tls"] == out.hosts["m1"]["node_exporter_tls"]
    assert out.hosts["m1"]["prometheus_external_url"].startswith("https://")
    assert "prometheus_tls" not in out.hosts["m2"]


def test_prometheus_shows_its_own_to_exporters_and_replicas(made):
    out, store = made(site())
    assert {out.all["prometheus_jobs"][job]["client"] for job in ("node", "prometheus")} == {"metrics"}
    assert out.all["prometheus_clients"]["metrics"]["certificate"] == store.leaf("prometheus-metrics")
    labels = [g["labels"] for g in out.all["prometheus_targets"]["probe"]]
    assert {g["__param_module"] for g in labels if g["probe"] == "prometheus"} == {"metrics"}


@pytest.mark.parametrize(
    ("profile", "knobs"),
    [("lab-bullseye", {}), ("lab-bookworm", {"existing": ["http://prometheus.example.com:9090"]})],
    ids=["a release that knows no TLS", "the site's own monitoring"],
)
def test_elsewhere_it_is_as_it_was(made, profile, knobs):
    out, _ = made(site(**knobs), profile)
    assert not variables_tls.guarded(site(**knobs), profiles.load(profile))
    assert not {"prometheus_clients", "prometheus_alertmanagers_client"} & set(out.all)
    assert not any("node_exporter_tls" in own for own in out.hosts.values())
    probes = out.all["prometheus_targets"].get("probe", [])
    modules = {g["labels"]["__param_module"] for g in probes if g["labels"]["probe"] == "alertmanager"}
    assert modules <= {"http_2xx"}


@pytest.mark.parametrize(
    "tls", [{}, {"ca_certificate": "a", "certificate": "b", "key": "c"}], ids=["open", "guarded"]
)
def test_the_role_asks_for_certificates_at_both_ports(tls):
    yaml = YAML(typ="safe")
    have = {}
    for part in ("defaults", "vars"):
        have |= yaml.load((ROLE / part / "main.yml").read_text())
    templar = Templar(DataLoader(), variables={**have, "alertmanager_tls": tls, "ansible_managed": "x"})
    args = templar.template((ROLE / "templates/default.j2").read_text())
    assert ("--web.config.file=" in args, "--cluster.tls-config=" in args) == (bool(tls), bool(tls))
    assert templar.template("{{ alertmanager_external_url }}").startswith("https" if tls else "http:")
    if not tls:
        return
    written = {f["path"]: f for f in templar.template(have["_alertmanager_tls_files"])}
    asks = "client_auth_type: RequireAndVerifyClientCert"
    for flag in ("web.config.file", "cluster.tls-config"):
        path = args.partition(f"--{flag}=")[2].split()[0].strip('"')
        assert asks in written[path]["content"]
    assert written[have["alertmanager_tls_dir"] + "/alertmanager-server.key"]["mode"] == "0640"
