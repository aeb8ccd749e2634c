"""A line written on a node is in every store with host, unit and severity, and without secrets; a pod's outlives it."""

import json
import subprocess
import sys
import time
import uuid
from pathlib import Path

import pytest

from avadm.logs.workload import Workload, WorkloadLogs
from tests.lab.logs.conftest import recent, wait

pytestmark = pytest.mark.lab

AVADM = Path(sys.executable).parent / "avadm"


@pytest.mark.core("logs")
def test_each_nodes_line_is_in_each_store(lab, ways, marker):
    nodes = [n["name"] for n in lab.nodes]
    for node in nodes:
        lab.sh(
            node,
            f"systemd-run --quiet --wait --description=test --unit={marker} sh -c 'echo \"<4>{marker} here\"'",
        )
    for store, client in ways.items():
        found = {line.host: line for line in wait(client, recent(grep=f"{marker} here"), len(nodes))}
        assert set(found) == set(nodes), store
        assert {line.unit for line in found.values()} == {f"{marker}.service"}
        assert {line.severity for line in found.values()} == {"warning"}


@pytest.mark.core("logs")
def test_secrets_do_not_leave_a_node(lab, ways, marker):
    node = lab.nodes[0]["name"]
    lab.sh(node, f"logger -t probe -- '{marker} password=hunter2hunter2 https://user:pass9word@host/'")
    for client in ways.values():
        (line,) = wait(client, recent(grep=marker), 1)
        assert line.message == f"{marker} password=*** https://***@host/"


def test_the_command_line_shows_it_and_says_which_store_is_silent(lab, ways, marker):
    node, store = lab.nodes[0]["name"], next(iter(ways))
    lab.sh(node, f"logger -p user.err -t probe -- '{marker} broken'")
    for client in ways.values():
        wait(client, recent(grep=marker), 1)
    argv = [AVADM, "logs", "--host", node, "--severity", "error", "--grep", marker, "--json"]
    done = subprocess.run(argv, capture_output=True, text=True, check=True)
    assert [line["message"] for line in json.loads(done.stdout)["lines"]] == [f"{marker} broken"]
    lab.sh(store, "systemctl stop avadm-log-store")
    try:
        done = subprocess.run(argv, capture_output=True, text=True, check=False)
    finally:
        lab.sh(store, "systemctl start avadm-log-store")
    answer = json.loads(done.stdout)
    assert done.returncode == 1
    assert [line["message"] for line in answer["lines"]] == [f"{marker} broken"]
    assert set(answer["silent"]) == {store}


def test_the_store_wants_a_password(lab, ways):
    store = next(iter(ways))
    unit = lab.sh(store, "systemctl cat avadm-log-store")
    address = unit.partition("-httpListenAddr=")[2].split()[0]
    ask = f"curl -s -o /dev/null -w '%{{http_code}}' --cacert /etc/avadm/logs/ca.crt https://{address}"
    assert lab.sh(store, f"{ask}/select/logsql/query?query=*") == "401"
    assert lab.sh(store, f"{ask}/insert/jsonline") == "401"
    assert lab.sh(store, f"{ask}/select/vmui/") == "401"
    assert lab.sh(store, f"{ask}/health") == "200"


def test_a_pods_log_is_live_and_there_when_the_pod_is_gone(lab, site_file, ways, marker):
    if not lab.names("master"):
        pytest.skip("this lab has no Kubernetes")
    master, name = lab.names("master")[0], f"log-{uuid.uuid4().hex[:8]}"
    site_image = f"registry.{site_file.site.network.domain}:5000/avadm/base:12"
    script = f"for i in 1 2 3; do echo {marker} $i; sleep 1; done; sleep 600"
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"containers": [{"name": "main", "image": site_image, "command": ["sh", "-c", script]}]},
    }
    lab.sh(master, f"kubectl apply -f - <<'END'\n{json.dumps(pod)}\nEND")
    workload = Workload("default", (name,), since=time.time() - 60)
    wanted = [f"{marker} {i}" for i in (1, 2, 3)]
    try:
        # Live: followed through both stores, from before the pod writes.
        (client, *_) = ways.values()
        end, seen = time.monotonic() + 120, []
        for line in WorkloadLogs(client).follow(
            workload, until=lambda: time.monotonic() > end or len(seen) >= 3
        ):
            seen.append(line.message)
        assert seen == wanted
    finally:
        lab.sh(master, f"kubectl delete pod {name} --grace-period=0 --force --ignore-not-found")
    for client in ways.values():
        lines = WorkloadLogs(client).read(workload).lines
        assert [(line.message, line.container, line.stream) for line in lines] == [
            (w, "main", "stdout") for w in wanted
        ]
