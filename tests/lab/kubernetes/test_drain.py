"""`avadm node`: a worker is drained under a service that answers all the while; what would be lost is refused."""

import uuid
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.lab.faults.drive import avadm
from tests.lab.kubernetes.conftest import IMAGE
from tests.lab.waiting import wait

pytestmark = pytest.mark.lab
SERVE = "python3 -m http.server 8080 --directory /etc"
# Asks every 0.1 s until a file is there; prints the answers, then why the others were none.
ASK = """
import os, sys, time, urllib.request
url, stop, good, bad = sys.argv[1], sys.argv[2], 0, []
opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
end = time.time() + 150
while time.time() < end and not os.path.exists(stop):
    try:
        opener.open(url, timeout=3).read()
        good += 1
    except OSError as error:
        bad.append(str(error))
    time.sleep(0.1)
print(good, "; ".join(bad))
"""


@pytest.fixture(scope="module")
def space(kube):
    """A namespace; it is gone afterwards."""
    name = f"drain-{uuid.uuid4().hex[:8]}"
    kube.ctl(f"create namespace {name}")
    yield name
    kube.ctl(f"delete namespace {name} || true")


@pytest.fixture
def web(kube, registry, space):
    """Two replicas on two workers behind a service, both wanted by a budget; the address of the service."""
    labels = {"app": "web"}
    container = {
        "name": "web",
        "image": f"{registry}/avadm/base:12",
        "command": SERVE.split(),
        "readinessProbe": {"httpGet": {"path": "/hostname", "port": 8080}, "periodSeconds": 1},
    }
    term = {"labelSelector": {"matchLabels": labels}, "topologyKey": "kubernetes.io/hostname"}
    spread = [{"weight": 100, "podAffinityTerm": term}]
    spec = {
        "containers": [container],
        # Where the platform is, two of the lab's workers are for pods that ask for GPUs.
        "tolerations": [{"key": "nvidia.com/gpu", "operator": "Exists"}],
        "affinity": {"podAntiAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": spread}},
        # As process 1 it does not heed SIGTERM: it serves on until then, while no new request is led to it.
        "terminationGracePeriodSeconds": 3,
    }
    template = {"metadata": {"labels": labels}, "spec": spec}
    meta = {"name": "web", "namespace": space}
    kube.apply(
        {
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": meta,
            "spec": {"replicas": 2, "selector": {"matchLabels": labels}, "template": template},
        },
        {
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": meta,
            "spec": {"selector": labels, "ports": [{"port": 80, "targetPort": 8080}]},
        },
        {
            "apiVersion": "policy/v1beta1",
            "kind": "PodDisruptionBudget",
            "metadata": meta,
            "spec": {"minAvailable": 2, "selector": {"matchLabels": labels}},
        },
    )
    assert wait(lambda: ready(kube, space) == 2, 90), kube.ctl(f"describe pods -n {space}")
    yield kube.get(f"service web -n {space}")["spec"]["clusterIP"]
    kube.ctl(f"delete deployment,service,poddisruptionbudget web -n {space}")


def ready(kube, space):
    return kube.get(f"deployment web -n {space}")["status"].get("readyReplicas", 0)


def on(kube, space, node):
    """Return the names of a namespace's pods on a node."""
    found = kube.get(f"pods -n {space}")["items"]
    return {p["metadata"]["name"] for p in found if p["spec"].get("nodeName") == node}


def cordoned(kube, node):
    return kube.get(f"node {node}")["spec"].get("unschedulable", False)


def test_a_worker_is_drained_while_its_service_answers(kube, lab, space, web):
    pods = kube.get(f"pods -n {space} -l app=web")["items"]
    nodes = {p["spec"]["nodeName"] for p in pods}
    assert len(nodes) == 2
    node = min(nodes)
    (there,) = on(kube, space, node)
    stop, master = f"/tmp/{space}", kube.master
    with ThreadPoolExecutor(1) as pool:
        line = f"python3 - http://{web}/hostname {stop} <<'END'\n{ASK}\nEND"
        asked = pool.submit(lab.sh, master, line, 180)
        try:
            # Both replicas are wanted: nothing may go yet.
            late = avadm("node", "drain", node, "--timeout", "5", "--yes")
            assert late.returncode == 1, late.stdout + late.stderr
            assert (
                f"{space}/{there} (kept by budget {space}/web: 2 healthy, at least 2 wanted)" in late.stderr
            )
            assert "Traceback" not in late.stderr
            # What it had set is undone.
            assert not cordoned(kube, node)
            assert on(kube, space, node) == {there}
            kube.ctl(f"scale deployment web -n {space} --replicas=3")
            assert wait(lambda: ready(kube, space) == 3, 60), kube.ctl(f"describe pods -n {space}")
            done = avadm("node", "drain", node, "--timeout", "90", "--yes")
            assert done.returncode == 0, done.stdout + done.stderr
            assert cordoned(kube, node)
            assert on(kube, space, node) == set()
            assert wait(lambda: ready(kube, space) == 3, 60), kube.ctl(f"describe pods -n {space}")
            # Again: nothing to do.
            again = avadm("node", "drain", node, "--yes")
            assert (again.returncode, "done already" in again.stderr) == (0, True), again.stderr
            assert cordoned(kube, node)
        finally:
            lab.sh(master, f"touch {stop}")
            back = avadm("node", "uncordon", node)
        good, _, bad = asked.result().strip().partition(" ")
    lab.sh(master, f"rm -f {stop}")
    assert back.stdout == f"{node} uncordoned\n", back.stderr
    assert not cordoned(kube, node)
    assert int(good) > 50
    assert bad == ""


def test_pods_that_would_be_lost_are_refused_and_the_node_is_as_before(kube, lab, space):
    node = lab.names("worker")[-1]
    container = {"name": "pause", "image": IMAGE, "imagePullPolicy": "Never"}
    for name, volumes in (("bare", []), ("bare-data", [{"name": "data", "emptyDir": {}}])):
        kube.apply(
            {
                "apiVersion": "v1",
                "kind": "Pod",
                "metadata": {"name": name, "namespace": space},
                "spec": {
                    "nodeName": node,
                    "containers": [container],
                    "volumes": volumes,
                    "terminationGracePeriodSeconds": 1,
                },
            }
        )
    assert wait(lambda: on(kube, space, node) == {"bare", "bare-data"}, 30)
    try:
        bare, data = ("--accept", "pods-without-controller"), ("--accept", "pods-local-data")
        refused = avadm("node", "drain", node, "--yes")
        assert refused.returncode == 2
        for word in (f"{space}/bare", f"{space}/bare-data", " ".join(bare), " ".join(data)):
            assert word in refused.stderr
        assert not cordoned(kube, node)
        assert on(kube, space, node) == {"bare", "bare-data"}
        half = avadm("node", "drain", node, *bare, "--yes")
        assert half.returncode == 2
        assert "emptyDir" in half.stderr
        assert not cordoned(kube, node)
        done = avadm("node", "drain", node, *bare, *data, "--timeout", "60", "--yes")
        assert done.returncode == 0, done.stdout + done.stderr
        assert on(kube, space, node) == set()
    finally:
        avadm("node", "uncordon", node)
    assert not cordoned(kube, node)


def test_a_name_that_is_none_is_reported_with_those_that_are(kube, lab):
    done = avadm("node", "drain", "comp99", kube.outside())
    assert done.returncode == 2
    assert "There is no such node." in done.stderr
    assert "This node has nothing of Kubernetes." in done.stderr
