"""What runs beside Kubernetes for everybody: registry, names, the way in from outside, metrics."""

import json
import re
import time
import uuid

import pytest

from tests.lab import prometheus
from tests.lab.waiting import wait

pytestmark = pytest.mark.lab
SERVE = "python3 -m http.server 8080 --directory /etc"
WITHIN = 10  # seconds for the ingress' address to be on another node


@pytest.fixture(scope="module")
def web(kube, registry):
    """Two pods of the registry's base image that serve their /etc, a service, an ingress; its namespace and host."""
    space = f"web-{uuid.uuid4().hex[:8]}"
    host = f"{space}.example"
    labels = {"app": "web"}
    container = {
        "name": "web",
        "image": f"{registry}/avadm/base:12",
        "imagePullPolicy": "Always",
        "command": SERVE.split(),
        "readinessProbe": {"httpGet": {"path": "/hostname", "port": 8080}, "periodSeconds": 1},
    }
    kube.ctl(f"create namespace {space}")
    kube.apply(
        {
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": {"name": "web", "namespace": space},
            "spec": {
                "replicas": 2,
                "selector": {"matchLabels": labels},
                "template": {"metadata": {"labels": labels}, "spec": {"containers": [container]}},
            },
        },
        {
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": {"name": "web", "namespace": space},
            "spec": {"selector": labels, "ports": [{"port": 80, "targetPort": 8080}]},
        },
        {
            "apiVersion": "extensions/v1beta1",
            "kind": "Ingress",
            "metadata": {"name": "web", "namespace": space},
            "spec": {
                "rules": [
                    {
                        "host": host,
                        "http": {
                            "paths": [{"path": "/", "backend": {"serviceName": "web", "servicePort": 80}}]
                        },
                    }
                ]
            },
        },
    )
    try:
        up = wait(lambda: kube.get(f"deployment web -n {space}")["status"].get("readyReplicas") == 2, 120)
        assert up, kube.ctl(f"describe pods -n {space}")
        yield space, host
    finally:
        kube.ctl(f"delete namespace {space} || true")


def pod(kube, space):
    return kube.get(f"pods -n {space} -l app=web")["items"][0]["metadata"]["name"]


def python(kube, space, code):
    """Return what a line of Python says inside a pod."""
    return kube.ctl(f"exec -n {space} {pod(kube, space)} -- python3 -c '{code}'").strip()


def vip(lab):
    """Return the ingress' virtual address."""
    text = lab.sh(lab.names("ingress")[0], "cat /etc/keepalived/conf.d/*.conf")
    return text.partition("virtual_ipaddress {")[2].split("/")[0].strip()


def curl(kube, arguments):
    """Return what curl says on a node that has nothing of Kubernetes."""
    return kube.lab.run(kube.outside(), f"curl -s -m 4 {arguments}").stdout.strip()


@pytest.mark.core("registry")
def test_the_registry_serves_no_one_without_a_certificate(kube, lab, registry):
    node = lab.names("registry")[0]
    # From inside the folder: curl takes what follows a colon in a certificate's path for a password.
    folder, url = f"/etc/docker/certs.d/{registry}", f"https://{registry}/v2/_catalog"
    refused = lab.run(node, f"cd {folder} && curl -s -o /dev/null --cacert ca.crt {url}")
    assert refused.returncode != 0
    report = lab.sh(
        node, f"cd {folder} && curl -sf --cacert ca.crt --cert client.cert --key client.key {url}"
    )
    assert {"avadm/base", "avadm/pause"} <= set(json.loads(report)["repositories"])


READ = "https://{registry}/v2"
WRITE = "https://127.0.0.1:5002/v2"
KUBELET = "--cert /etc/kubernetes/pki/kubelet.crt --key /etc/kubernetes/pki/node.key"
DEPLOYER = "--cert client.cert --key client.key"


def test_only_the_deployer_puts_or_removes_an_image(lab, registry):
    """Neither a node's certificate nor one of Kubernetes' authority, such as a viewer's, gets an upload or a removal."""
    node = lab.names("registry")[0]
    engine, deployer = f"/etc/docker/certs.d/{registry}", "/etc/docker-registry/writer"
    ask = "curl -s -o /dev/null -w '%{{http_code}}' -m 10 --cacert ca.crt {who} {how} {url}"

    def status(folder, who, how, url):
        return lab.run(node, f"cd {folder} && " + ask.format(who=who, how=how, url=url)).stdout

    head = f"curl -sfI --cacert ca.crt {DEPLOYER} {WRITE}/avadm/base/manifests/12"
    accept = "-H 'Accept: application/vnd.docker.distribution.manifest.v2+json'"
    text = lab.sh(node, f"cd {deployer} && {head} {accept}").lower()
    digest = text.partition("docker-content-digest:")[2].split()[0]
    upload, remove = "/avadm/planted/blobs/uploads/", f"/avadm/base/manifests/{digest}"
    read = READ.format(registry=registry)
    assert status(engine, DEPLOYER, "", f"{read}/_catalog") == "200"
    assert status(engine, DEPLOYER, "-X POST", read + upload) == "405"
    assert status(engine, DEPLOYER, "-X DELETE", read + remove) == "405"
    for who in (DEPLOYER, KUBELET):
        assert status(engine, who, "-X POST", WRITE + upload) == "000", who
        assert status(engine, who, "-X DELETE", WRITE + remove) == "000", who
    assert status(engine, KUBELET, "", f"{read}/_catalog") == "000"
    # What is refused to others can be done; nothing is left by an upload that has no end.
    assert status(deployer, DEPLOYER, "-X POST", WRITE + upload) == "202"
    # From elsewhere the writing one is not there at all.
    address = lab.node(node)["address"]
    assert status(deployer, DEPLOYER, "-k", f"https://{address}:5002/v2/") == "000"


@pytest.mark.core("dns")
def test_pods_know_services_and_the_site_s_nodes_by_name(kube, lab, web):
    space, _ = web
    address = kube.get(f"service web -n {space}")["spec"]["clusterIP"]
    ask = 'import socket; print(socket.gethostbyname("{}"))'
    for name in ("web", f"web.{space}", f"web.{space}.svc.cluster.local"):
        assert python(kube, space, ask.format(name)) == address
    node = lab.nodes[0]
    whole = lab.sh(node["name"], "hostname -f").strip()
    assert python(kube, space, ask.format(whole)) == node["address"]
    domain = whole.partition(".")[2]
    assert python(kube, space, ask.format(f"kubernetes.{domain}"))
    unknown = (
        'import socket\ntry: socket.gethostbyname("no.such.name")\nexcept socket.gaierror: print("none")'
    )
    assert python(kube, space, unknown) == "none"


def test_nodes_know_each_other_while_the_cluster_s_dns_is_down(kube, lab, web):
    space, _ = web
    other = lab.nodes[0]
    whole = lab.sh(other["name"], "hostname -f").strip()
    ask = f'import socket; print(socket.gethostbyname("{whole}"))'
    assert python(kube, space, ask) == other["address"]
    for dns in lab.names("dns"):
        lab.sh(dns, "systemctl stop coredns")
    try:
        for node in lab.nodes:
            # Within 2 s: no one waits for a server that is down before looking elsewhere.
            for name in (other["name"], whole):
                assert other["address"] in lab.sh(node["name"], f"timeout 2 getent hosts {name}")
        refused = kube.lab.run(
            kube.master, f"kubectl exec -n {space} {pod(kube, space)} -- timeout 8 python3 -c '{ask}'"
        )
        assert refused.returncode != 0, "the cluster's DNS was not down"
    finally:
        for dns in lab.names("dns"):
            lab.sh(dns, "systemctl start coredns")


def test_requests_come_in_from_outside_by_name(kube, lab, web):
    _, host = web
    address = vip(lab)
    got = wait(lambda: curl(kube, f"-H 'Host: {host}' http://{address}/hostname"), 30)
    assert got.startswith("web-")
    assert curl(kube, f"-o /dev/null -w '%{{http_code}}' -H 'Host: other.example' http://{address}/") == "404"


@pytest.mark.core("ingress")
def test_tls_shows_a_certificate_of_the_site(kube, lab):
    address = vip(lab)
    node = lab.names("ingress")[0]
    name = "ingress." + lab.sh(node, "hostname -d").strip()
    lab.sh(
        node,
        f"curl -s -o /dev/null --cacert /etc/traefik/ca.crt --resolve {name}:443:{address} https://{name}/",
    )
    assert lab.run(node, f"curl -s -o /dev/null https://{address}/").returncode != 0


@pytest.mark.slow
def test_the_ingress_address_moves_when_its_node_dies(kube, lab, web):
    _, host = web
    address = vip(lab)
    holder = next(n for n in lab.names("ingress") if f" {address}/" in lab.sh(n, "ip -4 addr"))
    others = [n for n in lab.names("ingress") if n != holder]
    lab.sh(holder, "systemctl kill -s KILL keepalived; systemctl stop keepalived traefik")
    begun = time.monotonic()
    try:
        wait(lambda: curl(kube, f"-m 1 -H 'Host: {host}' http://{address}/hostname"), 60, step=0.2)
        took = time.monotonic() - begun
        assert any(f" {address}/" in lab.sh(n, "ip -4 addr") for n in others)
        assert took < WITHIN
    finally:
        lab.sh(holder, "systemctl start traefik keepalived")


@pytest.mark.slow
def test_a_keepalived_that_is_killed_leaves_no_address_behind_and_is_started_again(kube, lab, web):
    _, host = web
    address = vip(lab)
    text = lab.sh(lab.names("ingress")[0], "cat /etc/keepalived/conf.d/*.conf")
    addresses = sorted(re.findall(r"^ *([0-9.]+)/32$", text, re.M))
    assert address in addresses

    def held():
        shown = {n: lab.sh(n, "ip -4 -o addr") for n in lab.names("ingress")}
        return sorted((a, n) for a in addresses for n in shown if f" {a}/32 " in shown[n])

    assert wait(lambda: [a for a, _ in held()] == addresses, 10), held()
    holder = dict(held())[address]
    # systemd holds it stopped, as a node would be on which it cannot start again.
    lab.sh(holder, "systemctl kill -s KILL keepalived; systemctl stop keepalived")
    try:
        assert [n for _, n in held()].count(holder) == 0
        assert wait(lambda: [a for a, _ in held()] == addresses, WITHIN, step=0.5), held()
    finally:
        lab.sh(holder, "systemctl start keepalived")
    holder = dict(held())[address]
    before = lab.sh(holder, "systemctl show -p MainPID keepalived")
    lab.sh(holder, "systemctl kill -s KILL keepalived")
    running = f'systemctl is-active --quiet keepalived && [ "$(systemctl show -p MainPID keepalived)" != {before.strip()} ]'
    assert wait(lambda: lab.run(holder, running).returncode == 0, WITHIN, step=0.5)
    assert wait(lambda: [a for a, _ in held()] == addresses, WITHIN, step=0.5), held()
    got = wait(lambda: curl(kube, f"-m 1 -H 'Host: {host}' http://{address}/hostname"), WITHIN, step=0.5)
    assert got.startswith("web-")


def test_prometheus_hears_every_part_of_kubernetes(kube, lab):
    wanted = {
        "etcd",
        "kube-apiserver",
        "kube-controller-manager",
        "kube-scheduler",
        "kubelet",
        "cadvisor",
        "calico",
        "coredns",
        "ingress",
        "kube-state-metrics",
    }

    def down():
        found = prometheus.query(lab, lab.names("prometheus")[0], "up")
        states = {
            (r["metric"]["job"], r["metric"]["node"]): r["value"][1]
            for r in found
            if r["metric"]["job"] in wanted
        }
        missing = wanted - {job for job, _ in states}
        return missing | {key for key, value in states.items() if value != "1"}

    assert wait(lambda: not down(), 60), down()


def test_states_of_nodes_are_metrics(kube, lab):
    node = lab.node(lab.names("master")[0])
    text = lab.sh(node["name"], f"curl -sf http://{node['address']}:8085/metrics")
    ready = [line for line in text.splitlines() if 'condition="Ready",status="true"' in line]
    assert len(ready) == len(kube.nodes())
    assert all(line.endswith(" 1") for line in ready)
