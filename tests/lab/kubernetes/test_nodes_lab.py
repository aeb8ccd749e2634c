"""What is below kubelet on masters, workers and GPU nodes."""

import json
import re

import pytest

pytestmark = pytest.mark.lab


def gpu_nodes(lab):
    found = lab.names("gpu")
    if not found:
        pytest.skip("this lab has no masters, and so no GPU nodes (--masters 0)")
    return found


def test_the_engine_keeps_out_of_the_network_and_lets_containers_live(lab):
    for name in sorted({*lab.names("master"), *lab.names("worker")}):
        reply = json.loads(lab.sh(name, "docker info --format '{{json .}}'"))
        assert (reply["Driver"], reply["LoggingDriver"], reply["LiveRestoreEnabled"]) == (
            "overlay2",
            "json-file",
            True,
        )
        assert lab.run(name, "ip link show docker0").returncode != 0
        assert "DOCKER" not in lab.sh(name, "iptables-save -t filter")


def test_an_engine_that_dies_is_back_within_seconds(lab):
    for name in lab.names("worker")[:1]:
        lab.sh(
            name,
            "kill -9 $(pidof dockerd); for i in $(seq 20); do sleep 1; docker version >/dev/null 2>&1 && exit 0; done; exit 1",
        )


@pytest.mark.core("gpu")
def test_every_gpu_is_there_with_unified_memory(lab):
    for name in gpu_nodes(lab):
        listed = lab.sh(name, "nvidia-smi -L").splitlines()
        assert [re.search(r"UUID: (\S+)\)", line)[1] for line in listed] == [
            f"GPU-fake-{i}" for i in range(4)
        ]
        lab.sh(name, "test -c /dev/nvidia-uvm")


def test_a_failed_gpu_is_reported_by_the_exporter(lab):
    name = gpu_nodes(lab)[0]
    address = lab.node(name)["address"]
    lab.sh(name, "mkdir -p /run/gpu-stand-in/failed && touch /run/gpu-stand-in/failed/2")
    try:
        text = lab.sh(name, f"curl -sf --noproxy '*' http://{address}:9400/metrics")
        assert dict(re.findall(r'dcgm_xid_errors\{gpu="(\d)"[^}]*\} (\d+)', text))["2"] == "48"
    finally:
        lab.sh(name, "rm /run/gpu-stand-in/failed/2")


def test_metrics_tell_which_gpu_they_are_of(lab):
    for name in gpu_nodes(lab):
        address = lab.node(name)["address"]
        text = lab.sh(name, f"curl -sf --noproxy '*' http://{address}:9400/metrics")
        values = dict(re.findall(r'dcgm_gpu_utilization\{gpu="(\d)"[^}]*\} (\d+)', text))
        assert values == {str(i): str(10 * i + 5) for i in range(4)}


@pytest.mark.core("gpu")
def test_kubelet_offers_every_gpu(lab):
    for name in gpu_nodes(lab):
        command = f"kubectl get node {name} -o jsonpath='{{.status.allocatable.nvidia\\.com/gpu}}'"
        # For a moment after a restart of kubelet or of the plug-in there are none.
        reply = lab.sh(
            lab.names("master")[0],
            f'for i in $(seq 30); do n=$({command}); [ "$n" = 4 ] && break; sleep 2; done; echo $n',
        )
        assert reply.strip() == "4"
