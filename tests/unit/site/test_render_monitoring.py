"""Variables of the monitoring roles: targets, peers, labels."""

import pytest

from avadm.components.monitoring import variables as monitoring
from tests.unit.fakes.sites import node, render, site


def rendered(profile="lab-bookworm", *, grafana=True, **knobs):
    one = site(
        node("s1", 1, "mon", "mgr", "osd", rack="r1"),
        node("s2", 2, "mgr", rack="r2"),
        node("m1", 3, "prometheus", "alertmanager", *(["grafana"] if grafana else [])),
        node("m2", 4, "prometheus", "alertmanager"),
        node("c1", 5),
        ssh={"port": 2222},
        components={"monitoring": knobs},
    )
    return render(one, monitoring, profile=profile)


def addresses(out, job):
    return [target for group in out.all["prometheus_targets"][job] for target in group["targets"]]


def probes(out, name):
    return [g["targets"][0] for g in out.all["prometheus_targets"]["probe"] if g["labels"]["probe"] == name]


def test_every_node_is_scraped_with_its_labels_and_one_without_roles_matches_none():
    groups = rendered().all["prometheus_targets"]["node"]
    assert [g["targets"] for g in groups] == [[f"10.0.0.{i}:9100"] for i in range(1, 6)]
    first = {"instance": "s1:9100", "node": "s1", "rack": "r1", "roles": ",mon,mgr,osd,"}
    assert groups[0]["labels"] == first
    assert groups[4]["labels"]["roles"] == ","


@pytest.mark.parametrize(
    ("job", "port", "nodes"),
    [("ceph", 9283, (1, 2)), ("prometheus", 9090, (3, 4)), ("alertmanager", 9093, (3, 4))],
    ids=["any manager may become active", "monitoring itself", "and its alerts"],
)
def test_all_that_may_serve_is_scraped(job, port, nodes):
    assert addresses(rendered(), job) == [f"10.0.0.{i}:{port}" for i in nodes]


def test_probes_go_where_the_site_file_says():
    out = rendered()
    assert probes(out, "ssh") == [f"10.0.0.{i}:2222" for i in range(1, 6)]
    assert (probes(out, "mon-v1"), probes(out, "mon-v2")) == (["10.0.0.1:6789"], ["10.0.0.1:3300"])
    assert probes(out, "prometheus") == ["https://10.0.0.3:9090/-/ready", "https://10.0.0.4:9090/-/ready"]
    assert probes(rendered(profile="stated"), "mon-v2") == [], "old ceph has no second messenger"


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
    asked = {d["name"]: d["url"] for d in rendered().all["grafana_datasources"]}
    assert asked == {"m1": "https://10.0.0.3:9090", "m2": "https://10.0.0.4:9090"}


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
