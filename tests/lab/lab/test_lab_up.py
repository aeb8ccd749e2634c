"""A small lab of its own, beside the one that may be running: made, broken, repaired, removed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

pytestmark = pytest.mark.lab

NAME, SUBNET = "t7", "10.78.77.0/24"
SMALL = [
    "--name",
    NAME,
    "--subnet",
    SUBNET,
    "--storage",
    "2",
    "--compute",
    "2",
    "--masters",
    "1",
    "--disks",
    "1",
    "--disk-size",
    "1G",
]


def sh(*argv: str) -> str:
    return subprocess.run(argv, check=True, capture_output=True, text=True).stdout.strip()


@pytest.fixture(scope="module")
def avadm(tmp_path_factory):
    folder = tmp_path_factory.mktemp("lab") / "l"
    env = {**os.environ, "AVADM_LAB_DIR": str(folder)}

    def run(*args: str) -> str:
        command = [sys.executable, "-m", "avadm", "lab", *args]
        done = subprocess.run(command, env=env, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return done.stdout + done.stderr

    run.folder = folder
    try:
        run("up", *SMALL)
        yield run
    finally:
        run("down", "--name", NAME)
    assert not folder.exists()
    assert sh("docker", "ps", "-aq", "--filter", f"label=avadm.lab={NAME}") == ""
    assert sh("docker", "volume", "ls", "-q", "--filter", f"label=avadm.lab={NAME}") == ""
    assert list(Path("/sys/fs/cgroup").glob(f"*/avadm-{NAME}-*")) == []
    assert sh("docker", "network", "ls", "-q", "--filter", f"label=avadm.lab={NAME}") == ""
    assert str(folder) not in sh("losetup", "-l", "-O", "NAME,BACK-FILE")
    assert not Path(f"/sys/class/net/avadm-{NAME}").exists()


def loop(avadm) -> str:
    return sh("losetup", "-n", "-O", "NAME", "-j", str(avadm.folder / "disks" / "T7-stor1-b.img"))


def in_node(node: str, *command: str) -> str:
    return sh("docker", "exec", f"avadm-{NAME}-{node}", *command)


def test_up_again_changes_nothing_in_seconds(avadm):
    begun = time.monotonic()
    assert "nothing changed" in avadm("up")
    assert time.monotonic() - begun < 15  # 0.5 s on an idle machine; other labs may be at work here


def test_nodes_are_listed_and_run(avadm):
    nodes = json.loads(avadm("list", "--json"))["nodes"]
    assert {n["name"]: n["state"] for n in nodes} == dict.fromkeys(
        ("stor1", "stor2", "mast1", "comp1", "comp2"), "running"
    )
    assert in_node("comp1", "systemctl", "is-system-running") == "running"


def test_files_in_etc_can_be_replaced_by_rename(avadm):
    in_node(
        "comp1",
        "sh",
        "-c",
        "for f in hosts hostname resolv.conf; do cp /etc/$f /etc/$f.n; mv /etc/$f.n /etc/$f; done",
    )


def test_node_has_no_power_over_the_clock(avadm):
    bounding = int(in_node("comp1", "sed", "-n", "s/^CapBnd:\t*//p", "/proc/1/status"), 16)
    assert not bounding & 1 << 25, "CAP_SYS_TIME"


def test_a_worker_has_what_docker_and_kubelet_need_and_the_machine_keeps_its_settings(avadm):
    assert in_node("comp1", "findmnt", "-n", "-o", "FSTYPE", "/var/lib/docker") != "overlay"
    assert in_node("comp1", "cat", "/proc/sys/kernel/panic") == "10"
    in_node("comp1", "sysctl", "-q", "-w", "net.ipv4.conf.all.forwarding=1")
    tried = ["docker", "exec", f"avadm-{NAME}-comp1", "sysctl", "-w", "vm.swappiness=61"]
    assert subprocess.run(tried, capture_output=True).returncode != 0
    assert sh("docker", "volume", "ls", "-q", "--filter", f"label=avadm.lab={NAME}").split() == [
        f"avadm-{NAME}-{volume}"
        for volume in (
            "comp1-docker",
            "comp1-kubelet",
            "comp2-docker",
            "comp2-kubelet",
            "mast1-docker",
            "mast1-etcd",
            "mast1-kubelet",
        )
    ]


def test_disk_has_its_stable_name_after_a_power_cut(avadm):
    by_id = "/dev/disk/by-id/scsi-AVADM_T7-stor1-b"
    in_node("stor1", "sh", "-c", f"echo mine | dd of={by_id} conv=fsync status=none")
    avadm("power", "stor1", "off")
    assert "started stor1" in avadm("up")
    assert in_node("stor1", "dd", f"if={by_id}", "bs=5", "count=1", "status=none") == "mine"


def test_a_detached_loop_device_is_attached_again(avadm):
    sh("losetup", "-d", loop(avadm))
    assert "started stor1" in avadm("up")
    assert in_node("stor1", "dd", "if=/dev/sdb", "bs=5", "count=1", "status=none") == "mine"


def test_a_stolen_loop_number_keeps_what_was_installed_and_the_disk(avadm, tmp_path):
    in_node("stor1", "touch", "/opt/installed")
    device = loop(avadm)
    sh("losetup", "-d", device)
    thief = tmp_path / "thief.img"
    thief.write_bytes(bytes(1 << 20))
    sh("losetup", device, str(thief))
    try:
        avadm("up")
        assert loop(avadm) != device
        in_node("stor1", "test", "-e", "/opt/installed")
        assert in_node("stor1", "dd", "if=/dev/sdb", "bs=5", "count=1", "status=none") == "mine"
    finally:
        sh("losetup", "-d", device)


def test_a_removed_container_is_made_again_as_the_same_host(avadm):
    before = in_node("comp1", "cat", "/etc/ssh/ssh_host_ed25519_key.pub")
    sh("docker", "rm", "-f", f"avadm-{NAME}-comp1")
    assert "started comp1" in avadm("up")
    assert in_node("comp1", "cat", "/etc/ssh/ssh_host_ed25519_key.pub") == before


def test_an_overlapping_network_is_reported(avadm, tmp_path):
    env = {**os.environ, "AVADM_LAB_DIR": str(tmp_path / "other")}
    command = [sys.executable, "-m", "avadm", "lab", "up", "--name", "t8", "--subnet", SUBNET]
    done = subprocess.run(command, env=env, capture_output=True, text=True)
    assert done.returncode == 2
    assert f"avadm-{NAME}" in done.stderr
    assert not (tmp_path / "other").exists()
