"""Known holes of Kubernetes 1.9 and of what is beside it, tried on the API and on nodes as somebody would who uses them."""

import base64
import http.client
import json
import socket
import ssl
import uuid
from urllib.parse import urlsplit

import pytest
import yaml

from tests.lab.faults.drive import avadm
from tests.lab.waiting import wait

pytestmark = pytest.mark.lab
TOO_LARGE = 413


class Api:
    """The API, asked by the administrator's certificate without any client's kindness."""

    def __init__(self, site_path, folder):
        config = yaml.safe_load(site_path.with_suffix(".kubeconfig").read_text())
        cluster, user = config["clusters"][0]["cluster"], config["users"][0]["user"]
        self.server = urlsplit(cluster["server"])
        pem = folder / "admin.pem"
        pem.touch(0o600)
        keys = ("client-certificate-data", "client-key-data")
        pem.write_bytes(b"".join(base64.b64decode(user[k]) for k in keys))
        authority = base64.b64decode(cluster["certificate-authority-data"]).decode()
        self.context = ssl.create_default_context(cadata=authority)
        self.context.load_cert_chain(pem)

    def connect(self):
        """Return a TLS connection."""
        plain = socket.create_connection((self.server.hostname, self.server.port), timeout=20)
        return self.context.wrap_socket(plain, server_hostname=self.server.hostname)

    def ask(self, method, path, body=None, kind="application/json", **headers):
        """Return status and body of one request."""
        there = http.client.HTTPSConnection(
            self.server.hostname, self.server.port, context=self.context, timeout=30
        )
        try:
            there.request(method, path, body, {"Content-Type": kind, **headers})
            answer = there.getresponse()
            return answer.status, answer.read().decode(errors="replace")
        finally:
            there.close()


@pytest.fixture(scope="module")
def api(lab, kube, tmp_path_factory):
    return Api(lab.site_path, tmp_path_factory.mktemp("admin", numbered=True))


def test_the_api_speaks_no_http_2(api):
    api.context.set_alpn_protocols(["h2", "http/1.1"])
    with api.connect() as there:
        assert there.selected_alpn_protocol() in (None, "http/1.1")


def test_after_a_refused_upgrade_nothing_reaches_the_kubelet(api, kube):
    node = kube.nodes()[-1]
    first = (
        f"GET /api/v1/nodes/{node}/proxy/healthz HTTP/1.1\r\nHost: x\r\n"
        "Connection: Upgrade\r\nUpgrade: websocket\r\n\r\n"
    )
    second = "GET /pods HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
    with api.connect() as there:
        there.sendall(first.encode())
        reply = there.recv(65536)
        assert reply.startswith(b"HTTP/1.1 200"), reply
        try:
            there.sendall(second.encode())
            while more := there.recv(65536):
                reply += more
        except (ConnectionError, ssl.SSLError):
            pass  # closed by the other side, as it should be
    assert b"PodList" not in reply
    assert reply.count(b"HTTP/1.1 ") == 1, reply[:1000]


def test_the_older_proxy_upgrades_nothing(api, kube):
    path = f"/api/v1/proxy/nodes/{kube.nodes()[-1]}/healthz"
    assert api.ask("GET", path)[0] == 200
    assert api.ask("GET", path, Connection="Upgrade", Upgrade="websocket")[0] == 400


def test_bodies_and_patches_have_a_limit(api):
    name = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": f"hole-{uuid.uuid4().hex[:8]}"}}
    body = json.dumps({**name, "data": {"a": "x" * (3 << 20)}})
    assert api.ask("POST", "/api/v1/namespaces/default/configmaps", body)[0] == TOO_LARGE
    test = {"op": "test", "path": "/kind", "value": "Namespace"}
    grown = [{"op": "add", "path": "/x", "value": ["a" * 1000]}]
    grown += [{"op": "copy", "from": "/x", "path": "/y"}, {"op": "copy", "from": "/y", "path": "/x/-"}] * 30
    for patch in ([test] * 10001, grown):
        kind = "application/json-patch+json"
        status, reply = api.ask("PATCH", "/api/v1/namespaces/default", json.dumps(patch), kind)
        assert status == TOO_LARGE, reply[:300]
    assert api.ask("PATCH", "/api/v1/namespaces/default", json.dumps([test]), kind)[0] == 200


def test_a_yaml_bomb_is_refused(api):
    bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x]\n"
    for i in range(1, 12):
        bomb += f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 9)}]\n"
    text = f"apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: bomb}}\n{bomb}"
    status, reply = api.ask("POST", "/api/v1/namespaces/default/configmaps", text, "application/yaml")
    assert status == 400, reply[:300]
    assert "aliasing" in reply


def test_system_priority_classes_are_for_system_namespaces(api, kube):
    def answer(namespace, priority):
        containers = [{"name": "c", "image": "avadm/pause:1", "imagePullPolicy": "Never"}]
        spec = {"containers": containers, "priorityClassName": priority, "terminationGracePeriodSeconds": 0}
        name = f"hole-{uuid.uuid4().hex[:8]}"
        pod = json.dumps({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": spec})
        status, body = api.ask("POST", f"/api/v1/namespaces/{namespace}/pods", pod)
        if status == 201:
            api.ask("DELETE", f"/api/v1/namespaces/{namespace}/pods/{name}")
        return status, body

    for priority in ("system-node-critical", "system-cluster-critical"):
        status, body = answer("default", priority)
        assert status == 403, body
        assert "reserved for the namespaces of the system" in body
        assert answer("kube-system", priority)[0] == 201
    pods = json.loads(api.ask("GET", "/api/v1/namespaces/ava-system/pods?labelSelector=part=api")[1])["items"]
    assert all(pod["spec"]["priority"] >= 2_000_000_000 for pod in pods), pods


def test_custom_resources_of_the_cluster_are_in_no_namespace(api):
    group = f"h{uuid.uuid4().hex[:8]}.example"
    names = {"plural": "holes", "singular": "hole", "kind": "Hole"}
    spec = {"group": group, "version": "v1", "scope": "Cluster", "names": names}
    kind = {"apiVersion": "apiextensions.k8s.io/v1beta1", "kind": "CustomResourceDefinition"}
    definitions = "/apis/apiextensions.k8s.io/v1beta1/customresourcedefinitions"
    made = {**kind, "metadata": {"name": f"holes.{group}"}, "spec": spec}
    assert api.ask("POST", definitions, json.dumps(made))[0] == 201
    try:
        thing = json.dumps({"apiVersion": f"{group}/v1", "kind": "Hole", "metadata": {"name": "one"}})
        assert wait(lambda: api.ask("POST", f"/apis/{group}/v1/holes", thing)[0] == 201, 30)
        assert api.ask("GET", f"/apis/{group}/v1/holes/one")[0] == 200
        inside = f"/apis/{group}/v1/namespaces/default/holes"
        for method, path in (("GET", f"{inside}/one"), ("GET", inside), ("DELETE", f"{inside}/one")):
            assert api.ask(method, path)[0] == 404, (method, path)
        assert api.ask("GET", f"/apis/{group}/v1/holes/one")[0] == 200
    finally:
        api.ask("DELETE", f"{definitions}/holes.{group}")


def test_clients_do_not_name_series_of_metrics(api):
    name = f"hole-{uuid.uuid4().hex}"
    assert api.ask("GET", "/api/v1/namespaces/default", **{"User-Agent": name})[0] == 200
    status, reply = api.ask("GET", "/metrics")
    assert status == 200
    assert "apiserver_request_count{" in reply
    assert name not in reply


def test_kubelets_health_port_has_no_profiler(lab, kube):
    for node in kube.nodes():
        ask = "curl -s -o /dev/null -w '%{http_code} ' http://127.0.0.1:10248"
        assert lab.sh(node, f"{ask}/healthz; {ask}/debug/pprof/").split() == ["200", "404"], node


def test_traefik_speaks_no_http_2_without_tls(lab):
    settings = r"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\4\0\0\0\0\0"
    for node in lab.names("ingress"):
        there = f"/dev/tcp/{lab.node(node)['address']}/80"
        reply = lab.sh(
            node,
            f"exec 3<>{there}; printf '{settings}' >&3; timeout 5 head -c 12 <&3 | od -An -c | tr -d ' \\n'",
        )
        # HTTP/2 begins with the server's own settings; HTTP/1.1 refuses such a request, or hangs up.
        assert reply == "" or reply.startswith("HTTP/1.1"), reply


def test_the_doctor_finds_the_patched_build_everywhere(kube):
    done = avadm("doctor", "--only", "risks", "--json")
    found = json.loads(done.stdout)["checks"]
    assert [c for c in found if c["status"] != "ok"] == []
    assert [c for c in found if c["id"] == "known-holes"]
