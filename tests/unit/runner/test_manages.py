"""What tasks stand for, and that the roles have no task that nobody could prove without saying so."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from avadm.runner import manages as module
from avadm.runner.manages import LOOKING, manages

HOME = Path(__file__).parents[3]


def args(**given: Any) -> dict[str, Any]:
    return {"changed": False, "invocation": {"module_args": given}}


@pytest.mark.parametrize(
    ("action", "res", "items"),
    [
        (
            "avadm_files",
            args(files=[{"path": "/a"}, {"path": "/b", "state": "absent"}]),
            ["file /a", "absent /b"],
        ),
        ("avadm_ceph_keyring", args(files=[{"path": "/k", "key": "x"}]), ["file /k"]),
        ("ansible.builtin.template", {"dest": "/etc/t", "changed": True}, ["file /etc/t"]),
        ("ansible.builtin.file", {"path": "/etc/d"}, ["file /etc/d"]),
        ("ansible.builtin.copy", {"results": [{"dest": "/1"}, {"dest": "/2"}]}, ["file /1", "file /2"]),
        ("avadm_package", args(name=["a", "b"]), ["package a", "package b"]),
        ("avadm_sysctl", args(path="/s", values={"vm.x": 1}), ["file /s", "sysctl vm.x"]),
        ("avadm_kernel_modules", args(path="/m", names=["br_netfilter"]), ["file /m", "kmod br_netfilter"]),
        ("avadm_swap_off", args(fstab="/etc/fstab"), ["swap"]),
        (
            "avadm_daemon",
            args(name="d", restart_on=["/r"], reload_on=["/l"], settings="x"),
            [
                *("unit d", "file /r", "restart d /r", "file /etc/systemd/system/d.service.d/avadm.conf"),
                *("restart d /etc/systemd/system/d.service.d/avadm.conf", "file /l", "reload d /l"),
            ],
        ),
        ("avadm_ceph_pool", args(pools=[{"name": "p"}], rule={"name": "r"}), ["rule r", "pool p"]),
        ("avadm_ceph_auth", args(entities=[{"entity": "client.a", "key": "k"}]), ["entity client.a"]),
        ("avadm_ceph_wait", args(until="health", osds=6, tolerate=["B", "A"]), ["health 6 A,B"]),
        ("avadm_ceph_wait", args(until="quorum"), []),
        (
            "ansible.builtin.command",
            args(argv=["timeout", "9", "stat", "--file-system", "/mnt"]),
            ["mount /mnt"],
        ),
        ("ansible.builtin.command", args(argv=["hostname"]), []),
        ("ansible.builtin.command", {"changed": True}, ["unproven r : t"]),
        ("ansible.builtin.copy", {"censored": "hidden", "changed": False}, ["unproven r : t"]),
        ("community.general.anything", args(name="x"), ["unproven r : t"]),
        ("avadm_kube_labels", args(name="n", kubeconfig="/k"), ["labels /k n"]),
        ("avadm_alternative", args(name="iptables", path="/l"), ["alternative iptables"]),
        ("avadm_etcd_access", args(users=[]), ["access etcd"]),
        ("avadm_calico_pool", args(name="pods", spec={}), ["ippool pods"]),
        ("avadm_derived", args(path="/p", argv=[], sources=[]), ["file /p", "file /p.of"]),
        (
            "avadm_gpu_libraries",
            args(path="/g", libraries=["libcuda"], programs=[], needed=["libcuda.so.1", "smi"]),
            ["file /g", "file /g/lib64/libcuda.so.1", "file /g/bin/smi"],
        ),
        ("avadm_daemon", args(name="d", state="stopped"), ["stopped d"]),
        ("avadm_files", {"skipped": True}, []),
        ("avadm_sysctl", {**args(path="/s", values={}), "skipped": {"vm.y": "read-only"}}, ["file /s"]),
    ],
)
def test_a_result_names_what_it_keeps_or_says_that_it_cannot_be_proven(
    action: str, res: dict[str, Any], items: list[str]
) -> None:
    assert list(manages(action, "r : t", res)) == items


def tasks(data: Any) -> Iterator[dict[str, Any]]:
    for one in data or []:
        if not isinstance(one, dict):
            continue
        for key in ("tasks", "pre_tasks", "post_tasks", "handlers", "block", "rescue", "always"):
            yield from tasks(one.get(key))
        if not {"hosts", "block"} & one.keys():
            yield one


FILES = [*sorted((HOME / "playbooks").glob("*.yml")), *sorted((HOME / "roles").glob("*/*/*.yml"))]


@pytest.mark.parametrize(
    "path",
    [f for f in FILES if f.parent.name in ("playbooks", "tasks", "handlers")],
    ids=lambda p: str(p.relative_to(HOME)),
)
def test_every_task_is_known_and_what_only_looks_reports_no_change(path: Path) -> None:
    for task in tasks(yaml.safe_load(path.read_text())):
        names = [k.rpartition(".")[2] for k in task if "." in k or k.startswith("avadm_")]
        known = LOOKING | {"copy", "template", "file"} | module._KINDS.keys()
        assert [n for n in names if n not in known] == [], task["name"]
        if {"command", "shell", "script"} & set(names):
            assert task.get("changed_when") is False, task["name"]


READS = (
    # What tasks may ask a program; whatever sets something is a module's, which says what it keeps.
    r"timeout \d+ stat --file-system --format=%T \S+|hostname -s|ip -o -4 addr show to \S+|mountpoint -q \S+",
    r"docker exec calico-node calico-node -felix-ready -bird-ready|docker info --format .+",
    r"kubectl( --[a-z-]+=\S+)* get .+",
    r"chronyc -n tracking|nvidia-smi --query-gpu=\S+ --format=\S+|\S+ --version",
    r"/usr/local/sbin/avadm-etcd health|/usr/local/sbin/avadm-(objects|api)-health \S+",
    r"/usr/local/lib/avadm/alluxio/fuse-there|EXPRESSION --help|df --output=size --block-size=1M EXPRESSION",
)
CHECKING = {"assert", "command", "fail", "import_tasks", "include_tasks", "stat", "uri", "wait_for"}
CHECKING |= {"avadm_ask", "avadm_ceph_wait", "avadm_private_mounts"}


def plain(text: str) -> str:
    """Return an argument with each expression of Jinja's as one word."""
    return re.sub(r"\{\{.*?\}\}", "EXPRESSION", text)


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(HOME)))
def test_what_a_task_asks_a_program_sets_nothing_and_verifying_changes_nothing(path: Path) -> None:
    """A command with `changed_when: false` that sets something is proven by nobody."""
    if path.parent.name not in ("playbooks", "tasks", "handlers"):
        return
    for task in tasks(yaml.safe_load(path.read_text())):
        names = {k.rpartition(".")[2] for k in task if "." in k or k.startswith("avadm_")}
        assert "shell" not in names, task["name"]
        assert "script" not in names, task["name"]
        if path.name == "verify.yml":
            assert names <= CHECKING, task["name"]
        if command := task.get("ansible.builtin.command"):
            line = plain(" ".join(str(word) for word in command["argv"]))
            assert any(re.fullmatch(one, line) for one in READS), (
                f"{task['name']}: {line} is in no list of reads"
            )
        if uri := task.get("ansible.builtin.uri"):
            assert uri.get("method", "GET") in ("GET", "HEAD"), task["name"]
            # Under Python 2.7 it refuses who is asked by an address.
            assert not {"ca_path", "client_cert"} & set(uri), f"{task['name']}: avadm_ask does that"


@pytest.mark.parametrize(
    "line",
    [
        "update-alternatives --set iptables /x",
        "kubectl --kubeconfig=/k apply --filename=/f",
        "/usr/local/sbin/avadm-etcd users",
        "kubectl delete node get x",
    ],
)
def test_the_list_of_reads_knows_what_sets(line: str) -> None:
    assert not any(re.fullmatch(one, line) for one in READS)
