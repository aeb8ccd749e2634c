"""Metrics of Kubernetes' own parts, and pods that ask to be scraped by annotation (I10)."""

import uuid

import pytest

from tests.lab import prometheus
from tests.lab.waiting import wait

pytestmark = pytest.mark.lab
TEXT = "shop_orders_total 42\nnode_load1 99\nup 0\n"
SERVE = (
    f"mkdir /tmp/w && printf '{TEXT.encode('unicode_escape').decode()}' > /tmp/w/stats && "
    "exec python3 -m http.server 8080 --directory /tmp/w"
)


@pytest.fixture(scope="module")
def asking(kube, registry):
    """The namespace of a pod that asks to be scraped, and of one that asks for another pod's path."""
    space = f"scrape-{uuid.uuid4().hex[:8]}"
    image = f"{registry}/avadm/base:12"

    def pod(name, path):
        notes = {"scrape": "true", "port": "8080", "path": path}
        return {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {
                "name": name,
                "namespace": space,
                "annotations": {f"prometheus.io/{k}": v for k, v in notes.items()},
            },
            "spec": {
                "terminationGracePeriodSeconds": 0,
                "containers": [{"name": "c", "image": image, "command": ["sh", "-c", SERVE]}],
            },
        }

    kube.ctl(f"create namespace {space}")
    try:
        kube.apply(pod("asks", "/stats"), pod("strays", "/../../secrets"))
        yield space
    finally:
        kube.ctl(f"delete namespace {space} || true")


def ask(lab, node, expr):
    """Return what a Prometheus node says to a query."""
    return prometheus.query(lab, node, expr)


def test_a_node_s_state_is_reported_of_that_node_and_not_of_the_master_that_tells_it(kube, lab):
    for replica in lab.names("prometheus"):
        assert {f["metric"]["node"] for f in ask(lab, replica, "kube_node_info")} == set(kube.nodes())


def test_a_pod_s_metric_appears_in_every_prometheus_without_configuration(kube, lab, asking):
    for node in lab.names("prometheus"):
        found = wait(lambda n=node: ask(lab, n, f'shop_orders_total{{namespace="{asking}"}}'), 150)
        assert [f["value"][1] for f in found] == ["42"], node
        labels = found[0]["metric"]
        assert labels["instance"] == f"{asking}/asks:8080"
        assert labels["node"] in kube.nodes()


def test_a_pod_cannot_give_what_rules_ask_for_nor_lead_elsewhere(kube, lab, asking):
    node = lab.names("prometheus")[0]
    assert wait(lambda: ask(lab, node, f'shop_orders_total{{namespace="{asking}"}}'), 150)
    assert ask(lab, node, f'{{namespace="{asking}", __name__=~"node_load1|up", pod="asks"}} != 1') == []
    assert ask(lab, node, f'up{{namespace="{asking}", pod="strays"}}') == []
    report = lab.sh(node, "journalctl -u avadm-pod-targets --no-pager -n 200")
    assert f"{asking}/strays: prometheus.io/path" in report


def test_the_accounts_of_prometheus_can_do_that_and_no_more(kube):
    def may(user, what):
        return kube.lab.run(kube.master, f"kubectl auth can-i {what} --as={user}").stdout.strip() == "yes"

    assert may("pod-targets", "watch pods --all-namespaces")
    assert may("prometheus", "get pods --subresource=proxy --all-namespaces")
    for user in ("pod-targets", "prometheus"):
        for what in ("get secrets", "create pods", "create pods --subresource=exec", "delete pods"):
            assert not may(user, f"{what} --all-namespaces"), (user, what)
    assert not may("prometheus", "list pods --all-namespaces")
    assert not may("pod-targets", "get pods --subresource=proxy --all-namespaces")


def test_metrics_of_the_controllers_are_shown_to_prometheus_alone(kube, lab):
    master = kube.master
    address, node = lab.node(master)["address"], lab.names("prometheus")[0]
    tls = "/etc/prometheus/tls/kubernetes"
    shown = f"curl -s -o /dev/null -w '%{{http_code}}' --cacert {tls}.ca"
    for port in (10257, 10259):
        url = f"https://{address}:{port}"
        own = f"{shown} --cert {tls}.crt --key {tls}.key"
        assert lab.sh(node, f"{own} {url}/metrics") == "200"
        assert lab.sh(node, f"{own} {url}/configz") == "403"
        assert lab.run(node, f"{shown} {url}/metrics").stdout == "000", "no certificate"
        other = "--cert /etc/kubernetes/pki/kubelet.crt --key /etc/kubernetes/pki/node.key"
        ca = "--cacert /etc/kubernetes/pki/ca.crt"
        assert lab.sh(master, f"curl -s -o /dev/null -w '%{{http_code}}' {ca} {other} {url}/metrics") == "403"
    for port in (10251, 10252):
        plain = f"curl -s -m 3 -o /dev/null http://{address}:{port}/metrics"
        assert lab.run(node, plain).returncode != 0, "it listens on 127.0.0.1 alone"


@pytest.mark.core("monitoring")
def test_every_part_that_can_be_is_scraped_and_up(lab):
    node = lab.names("prometheus")[0]
    both = [n["name"] for n in lab.nodes if {"master", "worker"} & set(n["roles"])]
    wanted = {
        "cadvisor": both,
        "calico": both,
        "calico-kube-controllers": lab.names("master"),
        "kube-state-metrics": lab.names("master"),
        "kubelet": both,
        "registry": lab.names("registry"),
    }

    def missing():
        found = {(r["metric"]["job"], r["metric"].get("node")) for r in ask(lab, node, "up == 1")}
        return {(job, name) for job, names in wanted.items() for name in names} - found

    assert wait(lambda: not missing(), 120), missing()
    # What each says of itself, and not just that a port answers.
    assert ask(lab, node, 'ipam_allocations_in_use{job="calico-kube-controllers"}')
    assert ask(lab, node, 'registry_http_in_flight_requests{job="registry"}')


def test_the_health_of_each_kube_proxy_is_probed(lab):
    node = lab.names("prometheus")[0]
    both = {n["name"] for n in lab.nodes if {"master", "worker"} & set(n["roles"])}

    def well():
        return {r["metric"]["node"] for r in ask(lab, node, 'probe_success{probe="kube-proxy"} == 1')} == both

    assert wait(well, 120)


def test_the_end_of_certificates_is_reported(lab):
    master, node = lab.names("master")[0], lab.names("prometheus")[0]
    path = "/etc/kubernetes/pki/apiserver.crt"
    text = lab.sh(
        master, f'date --date="$(openssl x509 -noout -enddate -in {path} | cut -d= -f2)" +%s'
    ).strip()
    lab.sh(master, "systemctl start avadm-certificates.service")
    expr = f'avadm_certificate_not_after_timestamp_seconds{{node="{master}", path="{path}"}}'
    found = wait(lambda: ask(lab, node, expr), 90)
    assert [float(f["value"][1]) for f in found] == [float(text)]
    kept = lab.sh(master, "ls /etc/kubernetes/pki/*.crt /etc/etcd/pki/*.crt /root/.kube/config").split()
    names = {f["metric"]["path"] for f in ask(lab, node, expr.replace(f', path="{path}"', ""))}
    assert set(kept) <= names
    assert ask(lab, node, 'ALERTS{alertname=~"Certificate.*"}') == []


def test_a_snapshot_of_etcd_is_reported(lab):
    member, node = lab.names("etcd")[0], lab.names("prometheus")[0]
    start = float(lab.sh(member, "date +%s"))
    lab.sh(member, "systemctl start avadm-etcd-snapshot.service")
    expr = f'avadm_etcd_snapshot_timestamp_seconds{{node="{member}"}} >= {start:.0f}'
    assert wait(lambda: ask(lab, node, expr), 90)


def test_a_service_that_asks_has_its_pods_scraped_once(kube, lab, registry):
    space = f"behind-{uuid.uuid4().hex[:8]}"
    labels = {"app": "behind"}
    container = {"name": "c", "image": f"{registry}/avadm/base:12", "command": ["sh", "-c", SERVE]}
    kube.ctl(f"create namespace {space}")
    try:
        pod = {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": "behind", "namespace": space, "labels": labels},
            "spec": {"terminationGracePeriodSeconds": 0, "containers": [container]},
        }
        notes = {"prometheus.io/scrape": "true", "prometheus.io/path": "/stats"}
        services = [
            {
                "apiVersion": "v1",
                "kind": "Service",
                "metadata": {"name": name, "namespace": space, "annotations": notes},
                "spec": {"selector": labels, "ports": [{"port": 80, "targetPort": 8080}]},
            }
            for name in ("one", "two")
        ]
        kube.apply(pod, *services)
        query = f'shop_orders_total{{namespace="{space}"}}'
        for replica in lab.names("prometheus"):
            found = wait(lambda replica=replica: ask(lab, replica, query), 180)
            assert [f["metric"]["pod"] for f in found] == ["behind"]
    finally:
        kube.ctl(f"delete namespace {space} || true")
