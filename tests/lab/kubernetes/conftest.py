"""Kubernetes on the lab: kubectl as root of a master, and pods of the pause image that are entered from their nodes."""

import json
import uuid
from dataclasses import dataclass

import pytest

from tests.lab.waiting import wait

IMAGE = "avadm/pause:1"
PORT = 8080


@dataclass(frozen=True)
class Kube:
    """The cluster, asked on its first master or on another one."""

    lab: object
    asked: str = ""

    @property
    def master(self):
        """The name of the master that is asked."""
        return self.asked or self.lab.names("master")[0]

    def ctl(self, command, timeout=60):
        """Run kubectl and return its output; a failure fails the test."""
        return self.lab.sh(self.master, f"kubectl --request-timeout={timeout}s {command}", timeout + 30)

    def get(self, what):
        """Return objects as kubectl gives them in JSON."""
        return json.loads(self.ctl(f"get {what} -o json"))

    def apply(self, *objects):
        """Make objects."""
        text = json.dumps({"apiVersion": "v1", "kind": "List", "items": objects})
        self.lab.sh(self.master, f"kubectl apply -f - <<'END'\n{text}\nEND")

    def nodes(self):
        """Return the nodes that run kubelet."""
        return list(dict.fromkeys([*self.lab.names("master"), *self.lab.names("worker")]))

    def outside(self):
        """Return a node that has nothing of Kubernetes; a lab without one skips the test."""
        found = [n["name"] for n in self.lab.nodes if not {"master", "worker"} & set(n["roles"])]
        return found[0] if found else pytest.skip("this lab has no node outside Kubernetes")

    def ready(self):
        """Return node to whether it is ready."""
        found = {}
        for node in self.get("nodes")["items"]:
            states = {c["type"]: c["status"] for c in node["status"]["conditions"]}
            found[node["metadata"]["name"]] = states.get("Ready") == "True"
        return found

    def inside(self, pod, command):
        """Return a shell command for a pod's node that runs in the network of the pod."""
        name = pod["metadata"]["name"]
        find = f"docker ps -q --filter label=io.kubernetes.pod.name={name} --filter label=io.kubernetes.docker.type=podsandbox"
        pid = f"docker inspect -f '{{{{.State.Pid}}}}' $({find})"
        return f"nsenter -t $({pid}) -n {command}"


@pytest.fixture(scope="session")
def kube(lab):
    """The lab's cluster."""
    if not lab.names("master"):
        pytest.skip("this lab has no Kubernetes")
    return Kube(lab)


@pytest.fixture(scope="session")
def registry(kube, lab):
    """The registry as nodes name it, HOST:PORT."""
    return registry_of(lab)


def registry_of(lab):
    """Return HOST:PORT of the lab's registry."""
    folder = lab.sh(lab.names("registry")[0], "ls -d /etc/docker/certs.d/*").split()[0]
    return folder.rpartition("/")[2]


@pytest.fixture(scope="session", autouse=True)
def only_with_kubernetes(kube):
    """Every test here is skipped on a lab without masters, where a loop over no nodes would assert nothing."""


@pytest.fixture
def whole(kube):
    """A cluster that is all well before and after the test."""
    # Here, because the module needs this one.
    from tests.lab.kubernetes.drive import healthy

    healthy(kube)
    yield
    healthy(kube)


@pytest.fixture
def three_masters(lab, request):
    """The same on a lab of three masters, each with a member of etcd; a smaller one skips the test."""
    if any(len(lab.names(role)) < 3 for role in ("etcd", "master")):
        pytest.skip("this lab has fewer than three masters (make lab-ha makes one that has)")
    request.getfixturevalue("whole")


@pytest.fixture(scope="module")
def pods(kube):
    """One pod on each node, master or worker, behind a service; each answers on PORT with its node's name."""
    space = f"test-{uuid.uuid4().hex[:8]}"
    kube.ctl(f"create namespace {space}")
    labels = {"app": "echo"}
    container = {
        "name": "pause",
        "image": IMAGE,
        "imagePullPolicy": "Never",
        "ports": [{"containerPort": PORT}],
    }
    kube.apply(
        {
            "apiVersion": "apps/v1",
            "kind": "DaemonSet",
            "metadata": {"name": "echo", "namespace": space},
            "spec": {
                "selector": {"matchLabels": labels},
                "template": {
                    "metadata": {"labels": labels},
                    "spec": {"tolerations": [{"operator": "Exists"}], "containers": [container]},
                },
            },
        },
        {
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": {"name": "echo", "namespace": space},
            "spec": {"selector": labels, "ports": [{"port": 80, "targetPort": PORT}]},
        },
    )
    wanted = len(kube.nodes())

    def running():
        found = kube.get(f"pods -n {space}")["items"]
        up = [p for p in found if p["status"]["phase"] == "Running" and p["status"].get("podIP")]
        return up if len(up) == wanted else []

    made = wait(running, 90)
    try:
        assert len(made) == wanted, kube.ctl(f"describe pods -n {space}")
        for pod in made:
            node = pod["spec"]["nodeName"]
            folder = f"/tmp/{space}"
            serve = kube.inside(pod, f"python3 -m http.server {PORT} --directory {folder}")
            kube.lab.sh(node, f"mkdir -p {folder} && echo {node} > {folder}/name")
            kube.lab.sh(node, f'nohup sh -c "{serve.replace("$", chr(92) + "$")}" >/dev/null 2>&1 & echo $!')
        yield {pod["spec"]["nodeName"]: pod for pod in made}
    finally:
        kube.ctl(f"delete namespace {space} || true")
        for node in kube.nodes():
            kube.lab.run(node, f"rm -rf /tmp/{space}; pkill -f 'directory /tmp/{space}'")


@pytest.fixture(scope="module")
def volumes(kube, lab):
    """A namespace for volumes; its claims go with it."""
    # Here, because the module needs this one.
    from tests.lab.kubernetes.volumes_lab import Volumes

    if not lab.names("mds"):
        pytest.skip("this lab has no ceph")
    made = Volumes(kube, lab)
    kube.ctl(f"create namespace {made.space}")
    try:
        yield made
    finally:
        kube.ctl(f"delete namespace {made.space} || true")
