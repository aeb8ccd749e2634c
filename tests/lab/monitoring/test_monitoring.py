"""Prometheus and Alertmanager as they run: replicas alike, nothing missing, alerts reported once."""

import re
import time

import pytest

from tests.lab import prometheus
from tests.lab.acceptance.drive import accept
from tests.lab.monitoring import mesh
from tests.lab.waiting import until

pytestmark = pytest.mark.lab


def targets(replica):
    return {
        (t["scrapePool"], t["labels"].get("instance")): t["health"]
        for t in replica.get("/api/v1/targets", state="active")["data"]["activeTargets"]
    }


def test_replicas_have_the_same_configuration_save_for_their_label(replicas):
    texts = [r.get("/api/v1/status/config")["data"]["yaml"] for r in replicas]
    assert len(set(texts)) == len(replicas), "the replica label must differ"
    assert len({re.sub(r"replica: \S+", "replica: X", t) for t in texts}) == 1


@pytest.mark.core("monitoring")
def test_replicas_scrape_the_same_targets_and_all_are_up(replicas):
    assert len({frozenset(targets(r)) for r in replicas}) == 1
    for replica in replicas:
        down = until(lambda r=replica: [t for t, h in targets(r).items() if h != "up"] == [] or None, 60)
        assert down


def test_every_node_has_an_exporter_that_is_scraped(replicas, nodes):
    for replica in replicas:
        found = {s["metric"].get("node") for s in replica.query('up{job="node"} == 1')}
        assert found == {n["name"] for n in nodes}


def test_probes_succeed(replicas):
    for replica in replicas:
        assert replica.value("count(probe_success)") > 0
        until(lambda r=replica: not r.query("probe_success == 0"), 60)


def test_every_prometheus_sends_to_every_alertmanager(replicas, routers):
    wanted = {f"{r.url}/api/v2/alerts" for r in routers}
    for replica in replicas:
        data = replica.get("/api/v1/alertmanagers")["data"]
        assert {a["url"] for a in data["activeAlertmanagers"]} == wanted


@pytest.mark.core("monitoring")
def test_the_mesh_holds_every_alertmanager(routers):
    for router in routers:
        cluster = router.get("/api/v2/status")["cluster"]
        assert cluster["status"] == "ready"
        assert len(cluster["peers"]) == len(routers)


@pytest.mark.core("monitoring")
def test_each_alert_is_in_every_alertmanager_exactly_once(replicas, routers):
    for router in routers:
        watchdogs = [a for a in router.get("/api/v2/alerts") if a["labels"]["alertname"] == "Watchdog"]
        assert len(watchdogs) == 1, "as many as there are replicas means that their label was not dropped"
        assert "replica" not in watchdogs[0]["labels"]


def test_no_one_without_a_certificate_silences_an_alert(lab):
    """Not over HTTPS, not in the clear, not with a certificate of Kubernetes' authority, and not as a member of the mesh."""
    names = lab.names("alertmanager")
    if not mesh.guarded(lab, names[0]):
        pytest.skip("this release of Alertmanager knows no TLS (profile: alertmanager_tls)")
    asker = (lab.names("worker") or names)[0]
    shown = (
        "--cert /etc/kubernetes/pki/kubelet.crt --key /etc/kubernetes/pki/node.key"
        if lab.names("worker")
        else ""
    )
    text = "-sk -m 5 --noproxy '*' -o /dev/null -w '%{http_code}' -H 'Content-Type: application/json' -d '[]'"
    for name in names:
        address = lab.node(name)["address"]
        for ask in (f"https://{address}:9093", f"http://{address}:9093", f"{shown} https://{address}:9093"):
            assert lab.run(asker, f"curl {text} {ask}/api/v2/alerts").stdout in ("000", "400"), ask
        hello = f"echo | timeout 5 openssl s_client -tls1_2 -connect {address}:9094 2>&1"
        assert "alert bad certificate" in lab.run(asker, hello).stdout
        lab.sh(name, "amtool silence query")


def test_no_one_but_prometheus_reads_a_node_s_metrics(lab):
    refused(lab, dict.fromkeys(("stor1", *lab.names("prometheus")), 9100))


def test_no_one_without_a_certificate_asks_prometheus(lab):
    refused(lab, dict.fromkeys(lab.names("prometheus"), 9090))


def refused(lab, ports):
    """See that ports of nodes answer no one in the clear, nor without a certificate, nor with those of other authorities."""
    reader = lab.names("prometheus")[0]
    if not prometheus.guarded(lab, reader):
        pytest.skip("this release of the exporter knows no TLS (profile: metrics_tls)")
    tls = "/etc/prometheus/tls"
    others = [f"--cert {tls}/alertmanager.crt --key {tls}/alertmanager.key"]
    if lab.names("worker"):
        others.append("--cert /etc/kubernetes/pki/kubelet.crt --key /etc/kubernetes/pki/node.key")
        others.append(f"--cert {tls}/kubernetes.crt --key {tls}/kubernetes.key")
    # A node's own certificate serves, and opens no other's port.
    others.append("--cert /etc/avadm/metrics/server.crt --key /etc/avadm/metrics/server.key")
    text = "-sk -m 5 --noproxy '*' -o /dev/null -w '%{http_code}'"
    for name, port in ports.items():
        place = f"{lab.node(name)['address']}:{port}/metrics"
        for ask in (f"http://{place}", f"https://{place}", *(f"{shown} https://{place}" for shown in others)):
            assert lab.run(reader, f"curl {text} {ask}").stdout in ("000", "400"), ask
        lab.sh(reader, f"{prometheus.curl(lab, reader)} -o /dev/null https://{place}")


def test_alertmanagers_are_configured_alike(replicas, routers):
    for replica in replicas:
        assert replica.value('count(count_values("h", alertmanager_config_hash))') == 1


@pytest.mark.core("monitoring")
def test_rules_are_loaded_and_evaluate(replicas, nodes):
    wanted = {"hosts", "ceph", "monitoring", "recording-nodes", "recording-ceph"}
    if any("master" in n["roles"] for n in nodes):
        wanted |= {"kubernetes", "etcd"}
    for replica in replicas:
        groups = replica.get("/api/v1/rules")["data"]["groups"]
        assert {g["name"] for g in groups} >= wanted
        broken = [(r["name"], r["lastError"]) for g in groups for r in g["rules"] if r.get("lastError")]
        assert broken == []


def test_alerts_texts_expand(replicas):
    for replica in replicas:
        for alert in replica.get("/api/v1/alerts")["data"]["alerts"]:
            assert "error expanding" not in str(alert["annotations"])


def test_ceph_is_seen_by_every_replica_as_the_same_series(replicas):
    seen = []
    for replica in replicas:
        (health,) = replica.query("ceph_health_status")
        assert "node" not in health["metric"], (
            "a manager's name in ceph's series would end them when it changes"
        )
        seen.append(frozenset(health["metric"].items()))
        assert replica.value("count(ceph_osd_up)") > 0
    assert len(set(seen)) == 1


def test_every_node_tells_whose_memory_was_short(replicas, nodes):
    asked = 'count by (node) (avadm_oom_kills{within=~"host|limit|pod"}) == 3'
    wanted = {n["name"] for n in nodes}
    until(lambda: {s["metric"]["node"] for s in replicas[0].query(asked)} >= wanted, 120)


@pytest.mark.slow
def test_what_acceptance_kills_within_a_pods_limit_is_no_hosts_trouble(replicas, nodes):
    if not any("master" in n["roles"] for n in nodes):
        pytest.skip("this lab has no Kubernetes")
    before = replicas[0].value("max(node_vmstat_oom_kill)")
    _, checks = accept("K-MEM", suite="kubernetes")
    assert checks["K-MEM"]["verdict"] == "PASS", checks["K-MEM"]["reasons"]
    until(lambda: replicas[0].value("max(node_vmstat_oom_kill)") > before, 60)
    time.sleep(90)  # a minute of the timer, and a scrape and an evaluation of the rule
    assert replicas[0].query('ALERTS{alertname="HostOomKill"}') == []
