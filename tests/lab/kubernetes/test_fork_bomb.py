"""A container's processes are bounded, and its node continues where one forks without end."""

import uuid

import pytest

from tests.lab.kubernetes.conftest import IMAGE
from tests.lab.waiting import wait

pytestmark = pytest.mark.lab
MOST = 16384
# In the container's own group, as its processes are: threads count as processes do, and end together.
BOMB = """
import threading, sys
threading.stack_size(65536)
stop, made = threading.Event(), 0
try:
    for made in range({most} + 1000):
        threading.Thread(target=stop.wait, daemon=True).start()
except RuntimeError:
    print(made)
    sys.stdout.flush()
stop.set()
"""


@pytest.fixture
def bomb(kube):
    space = f"test-{uuid.uuid4().hex[:8]}"
    kube.ctl(f"create namespace {space}")
    container = {"name": "c", "image": IMAGE, "imagePullPolicy": "Never"}
    spec = {"terminationGracePeriodSeconds": 0, "containers": [container]}
    kube.apply(
        {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "bomb", "namespace": space}, "spec": spec}
    )
    try:
        yield wait(
            lambda: [p for p in kube.get(f"pods -n {space}")["items"] if p["status"]["phase"] == "Running"],
            90,
        )[0]
    finally:
        kube.ctl(f"delete namespace {space}")


def test_a_container_that_forks_without_end_is_refused_and_its_node_is_not(kube, bomb):
    node = bomb["spec"]["nodeName"]
    find = "docker ps -q --filter label=io.kubernetes.pod.name=bomb --filter label=io.kubernetes.container.name=c"
    assert kube.lab.sh(node, f"docker inspect -f '{{{{.HostConfig.PidsLimit}}}}' $({find})").strip() == str(
        MOST
    )
    pid = kube.lab.sh(node, f"docker inspect -f '{{{{.State.Pid}}}}' $({find})").strip()
    path = kube.lab.sh(node, f"awk -F: '$2 == \"pids\" {{print $3}}' /proc/{pid}/cgroup").strip()
    group = kube.lab.sh(
        node, f"ls -d /sys/fs/cgroup/pids{path} /sys/fs/cgroup/pids/*{path} 2>/dev/null | head -1"
    ).strip()
    assert kube.lab.sh(node, f"cat {group}/pids.max").strip() == str(MOST)
    text = BOMB.format(most=MOST)
    made = kube.lab.sh(
        node, f"sh -c 'echo $$ > {group}/cgroup.procs && exec python3 -' <<'END'\n{text}\nEND", 120
    )
    assert MOST - 100 < int(made) < MOST
    assert kube.ready()[node]
