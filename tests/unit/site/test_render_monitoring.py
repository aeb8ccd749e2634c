"""What the monitoring roles are told: targets, peers, labels."""

import copy

import pytest

from avadm.render import Vars
from avadm.render.monitoring import render
from avadm.site import profile as profiles
from avadm.site.model import Site

SITE = {
    "name": "demo",
    "network": {"management": "10.0.0.0/24", "domain": "demo.test"},
    "ssh": {"port": 2222},
    "nodes": [
        {"name": "s1", "address": "10.0.0.1", "rack": "r1", "roles": ["mon", "mgr", "osd"]},
        {"name": "s2", "address": "10.0.0.2", "rack": "r2", "roles": ["mgr"]},
        {"name": "m1", "address": "10.0.0.3", "roles": ["prometheus", "alertmanager", "grafana"]},
        {"name": "m2", "address": "10.0.0.4", "roles": ["prometheus", "alertmanager"]},
        {"name": "c1", "address": "10.0.0.5"},
    ],
}


def rendered(profile="lab-bookworm", *, grafana=True, **monitoring):
    site = copy.deepcopy(SITE)
    if not grafana:
        site["nodes"][2]["roles"].remove("grafana")
    site["components"] = {"monitoring": monitoring}
    out = Vars()
    render(Site.model_validate(site), profiles.load(profile), out)
    return out


def addresses(out, job):
    return [target for group in out.all["prometheus_targets"][job] for target in group["targets"]]


def probes(out, name):
    return [g["targets"][0] for g in out.all["prometheus_targets"]["probe"] if g["labels"]["probe"] == name]


def test_every_node_is_scraped_with_its_labels():
    groups = rendered().all["prometheus_targets"]["node"]
    assert [g["targets"] for g in groups] == [[f"10.0.0.{i}:9100"] for i in range(1, 6)]
    assert groups[0]["labels"] == {
        "instance": "s1:9100", "node": "s1", "rack": "r1", "roles": ",mon,mgr,osd,",
    }  # fmt: skip


def test_a_node_without_roles_has_a_roles_label_that_matches_none():
    assert rendered().all["prometheus_targets"]["node"][4]["labels"]["roles"] == ","


def test_all_managers_are_scraped_since_any_may_become_active():
    assert addresses(rendered(), "ceph") == ["10.0.0.1:9283", "10.0.0.2:9283"]


def test_monitoring_watches_itself():
    out = rendered()
    assert addresses(out, "prometheus") == ["10.0.0.3:9090", "10.0.0.4:9090"]
    assert addresses(out, "alertmanager") == ["10.0.0.3:9093", "10.0.0.4:9093"]


def test_probes_go_where_the_site_file_says():
    out = rendered()
    assert probes(out, "ssh") == [f"10.0.0.{i}:2222" for i in range(1, 6)]
    assert probes(out, "mon-v1") == ["10.0.0.1:6789"]
    assert probes(out, "mon-v2") == ["10.0.0.1:3300"]
    assert probes(out, "prometheus") == ["http://10.0.0.3:9090/-/ready", "http://10.0.0.4:9090/-/ready"]


def test_old_ceph_has_no_second_messenger_to_probe():
    assert probes(rendered(profile="stated"), "mon-v2") == []


def test_every_prometheus_sends_to_every_alertmanager():
    out = rendered()
    assert out.all["prometheus_alertmanagers"] == ["10.0.0.3:9093", "10.0.0.4:9093"]
    assert out.hosts["m1"]["alertmanager_peers"] == ["10.0.0.4:9094"]
    assert out.hosts["m2"]["alertmanager_peers"] == ["10.0.0.3:9094"]


def test_replicas_differ_in_their_replica_label_only():
    out = rendered()
    assert out.all["prometheus_external_labels"] == {"site": "demo"}
    assert [out.hosts[n]["prometheus_replica"] for n in ("m1", "m2")] == ["m1", "m2"]


def test_knobs_reach_the_roles():
    out = rendered(retention_days=3, scrape_interval_s=5, webhook_url="http://hook.test/x")
    assert out.all["prometheus_retention_days"] == 3
    assert out.all["prometheus_scrape_interval_s"] == 5
    assert out.all["alertmanager_webhook_url"] == "http://hook.test/x"


def test_a_sites_own_prometheus_gets_what_it_can_scrape_itself():
    out = rendered(existing=["http://prom.test:9090"])
    assert set(out.all["prometheus_targets"]) == {"node", "ceph"}
    assert out.all["prometheus_alertmanagers"] == []
    assert out.all["prometheus_blackbox"] == ""
    assert out.all["grafana_datasources"] == [{"name": "prometheus-1", "url": "http://prom.test:9090"}]
    assert "prometheus_address" not in out.hosts["m1"]


def test_grafana_asks_both_replicas():
    assert rendered().all["grafana_datasources"] == [
        {"name": "m1", "url": "http://10.0.0.3:9090"},
        {"name": "m2", "url": "http://10.0.0.4:9090"},
    ]


def test_grafanas_password_is_made_where_there_is_grafana():
    make = rendered().secrets["vault_grafana_admin_password"]
    assert len(make()) >= 32
    assert make() != make()
    assert rendered(grafana=False).secrets == {}


@pytest.mark.parametrize(
    "role", ["prometheus", "alertmanager", "node_exporter", "blackbox_exporter", "grafana"]
)
def test_packages_come_from_the_profile(role):
    assert rendered().all[f"{role}_packages"]
