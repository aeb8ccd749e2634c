"""avadm's device plug-in on the lab: what is broken is not handed out, and kubelet started again has its GPUs again."""

import time

import pytest

from tests.lab.faults.planting import planted

pytestmark = [pytest.mark.lab, pytest.mark.slow]
LOG = "/run/avadm-lab/kernel-log"


@pytest.fixture
def gpu_node(lab):
    if not lab.names("gpu"):
        pytest.skip("this lab has no GPU nodes (--masters 0)")
    return lab.names("gpu")[0]


def offered(lab, node, wanted, limit=60):
    """Return how many GPUs kubelet offers, once that is what is wanted or the time is over."""
    command = f"kubectl get node {node} -o jsonpath='{{.status.allocatable.nvidia\\.com/gpu}}'"
    until = time.monotonic() + limit
    while (text := lab.sh(lab.names("master")[0], command).strip()) != str(
        wanted
    ) and time.monotonic() < until:
        time.sleep(1)
    return text


def test_without_unified_memory_no_gpu_is_handed_out_until_it_is_back(lab, gpu_node, tried):
    row = tried("GPU", "/dev/nvidia-uvm is removed (K8)", "0 GPUs offered, 4 when it is back")
    do = "mv /dev/nvidia-uvm /dev/nvidia-uvm.gone"
    undo = "[ ! -e /dev/nvidia-uvm.gone ] || mv /dev/nvidia-uvm.gone /dev/nvidia-uvm"
    with planted(lab, gpu_node, "no-uvm", do, undo):
        without = offered(lab, gpu_node, 0)
    row.came = f"{without}, then {offered(lab, gpu_node, 4)}"
    assert row.came == "0, then 4"


def test_a_gpu_with_an_xid_of_the_hardware_is_not_handed_out(lab, gpu_node, tried):
    row = tried("GPU", "the kernel tells of Xid 79 of a card, and of 31 of another", "3 GPUs offered")
    record = "3,1,1,-;NVRM: Xid (PCI:0000:%s:00): %s, planted"
    do = "; ".join(f"echo '{record % at}' >> {LOG}" for at in (("07", "79"), ("08", "31")))
    # As the page says: the log is cleared, the plug-in started again.
    with planted(lab, gpu_node, "xid", do, f": > {LOG}; systemctl restart avadm-gpu-device-plugin"):
        row.came = f"{offered(lab, gpu_node, 3)} GPUs offered"
        reply = lab.sh(gpu_node, "journalctl -u avadm-gpu-device-plugin -n 20 -o cat")
    assert row.came == row.wanted
    assert "GPU 1 (GPU-fake-1, 0000:07:00): not handed out: Xid 79" in reply
    assert offered(lab, gpu_node, 4) == "4"


def test_kubelet_that_was_started_again_has_its_gpus_again(lab, gpu_node):
    before = lab.sh(gpu_node, "systemctl show -p MainPID avadm-gpu-device-plugin")
    lab.sh(gpu_node, "systemctl restart kubelet")
    assert offered(lab, gpu_node, 4) == "4"
    reply = lab.sh(gpu_node, "journalctl -u avadm-gpu-device-plugin -n 5 -o cat")
    assert "registered nvidia.com/gpu with kubelet (v1alpha2): 4 GPUs" in reply
    assert lab.sh(gpu_node, "systemctl show -p MainPID avadm-gpu-device-plugin") == before, (
        "what it knows is kept"
    )


def test_pods_have_runc_and_people_the_runtime_of_nvidia(lab):
    for node in lab.names("gpu"):
        run = "docker run --rm --network none --entrypoint sh -e NVIDIA_VISIBLE_DEVICES=all"
        # Any image with a shell; this one every node has.
        image = lab.sh(node, "docker inspect --format '{{.Config.Image}}' calico-node").strip()
        look = "ls /dev | grep -c 'nvidia[0-9]' || true"
        assert lab.sh(node, f'{run} {image} -c "{look}"').strip() == "0"
        assert lab.sh(node, f'{run} --runtime=nvidia {image} -c "{look}"').strip() == "4"
