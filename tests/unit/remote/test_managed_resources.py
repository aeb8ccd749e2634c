"""What tasks stand for, and that the roles have no task that cannot be checked without being listed."""

import re
from functools import cache
from pathlib import Path

import pytest
import yaml

from avadm.remote import managed_resources as module
from avadm.remote.managed_resources import LOOKING, manages

HOME = Path(__file__).parents[3]


def args(**given):
    return {"changed": False, "invocation": {"module_args": given}}


COMMAND, COPY = "ansible.builtin.command", "ansible.builtin.copy"
FILES = [{"path": "/a"}, {"path": "/b", "state": "absent"}]
DAEMON = {"name": "d", "restart_on": ["/r"], "reload_on": ["/l"], "settings": "x"}
SERVICE = {"name": "d", "user": {"name": "u"}, "folders": [{"path": "/f"}], "files": FILES, "settings": "x"}
LIBRARIES = {"path": "/g", "libraries": ["libcuda"], "programs": [], "needed": ["libcuda.so.1", "smi"]}
DROPIN = "/etc/systemd/system/d.service.d/avadm.conf"
# Module, its result, and what that stands for.
RESULTS = [
    ("avadm_files", args(files=FILES), "file /a", "absent /b"),
    ("avadm_ceph_keyring", args(files=[{"path": "/k", "key": "x"}]), "file /k"),
    ("ansible.builtin.template", {"dest": "/etc/t", "changed": True}, "file /etc/t"),
    ("ansible.builtin.file", {"path": "/etc/d"}, "file /etc/d"),
    (COPY, {"results": [{"dest": "/1"}, {"dest": "/2"}]}, "file /1", "file /2"),
    ("avadm_package", args(name=["a", "b"]), "package a", "package b"),
    ("avadm_sysctl", args(path="/s", values={"vm.x": 1}), "file /s", "sysctl vm.x"),
    ("avadm_kernel_modules", args(path="/m", names=["br_netfilter"]), "file /m", "kmod br_netfilter"),
    ("avadm_swap_off", args(fstab="/etc/fstab"), "swap"),
    (
        *("avadm_daemon", args(**DAEMON), "unit d", "file /r", "restart d /r", f"file {DROPIN}"),
        *(f"restart d {DROPIN}", "file /l", "reload d /l"),
    ),
    (
        *(
            "avadm_service",
            args(**SERVICE) | {"keeps": [["d", "reload", "/a"], ["t.timer", "restart", "/t"]]},
        ),
        *("login u", "file /f", "file /a", "absent /b", "unit d", f"file {DROPIN}", "reload d /a"),
        *("unit t.timer", "file /t", "restart t.timer /t", f"restart d {DROPIN}"),
    ),
    ("avadm_service", args(packages=["p"], files=FILES), "package p", "file /a", "absent /b"),
    ("avadm_service", args(name="d", state="stopped", files=FILES), "file /a", "absent /b", "stopped d"),
    ("avadm_ceph_pool", args(pools=[{"name": "p"}], rule={"name": "r"}), "rule r", "pool p"),
    ("avadm_ceph_auth", args(entities=[{"entity": "client.a", "key": "k"}]), "entity client.a"),
    ("avadm_ceph_wait", args(until="health", osds=6, tolerate=["B", "A"]), "health 6 A,B"),
    ("avadm_ceph_wait", args(until="quorum")),
    (COMMAND, args(argv=["timeout", "9", "stat", "--file-system", "/mnt"]), "mount /mnt"),
    (COMMAND, args(argv=["hostname"])),
    (COMMAND, {"changed": True}, "unproven r : t"),
    (COPY, {"censored": "hidden", "changed": False}, "unproven r : t"),
    ("community.general.anything", args(name="x"), "unproven r : t"),
    (
        "avadm_kube_labels",
        args(name="n", kubeconfig="/root/.kube/config"),
        "labels /etc/kubernetes/kubelet.kubeconfig n",
    ),
    ("avadm_alternative", args(name="iptables", path="/l"), "alternative iptables"),
    ("avadm_etcd_access", args(users=[]), "access etcd"),
    ("avadm_calico_pool", args(name="pods", spec={}), "ippool pods"),
    ("avadm_derived", args(path="/p", argv=[], sources=[]), "file /p", "file /p.of"),
    ("avadm_gpu_libraries", args(**LIBRARIES), "file /g", "file /g/lib64/libcuda.so.1", "file /g/bin/smi"),
    (
        *("avadm_packet_filter", args(rules="x", state="present"), "file /etc/avadm/packet-filter.nft"),
        "filter /usr/local/sbin/avadm-packet-filter",
    ),
    ("avadm_packet_filter", args(state="absent"), "absent /etc/avadm/packet-filter.nft"),
    ("avadm_daemon", args(name="d", state="stopped"), "stopped d"),
    ("avadm_files", {"skipped": True}),
    ("avadm_sysctl", {**args(path="/s", values={}), "skipped": {"vm.y": "read-only"}}, "file /s"),
]


@pytest.mark.parametrize("one", RESULTS, ids=lambda one: one[0])
def test_a_result_names_what_it_keeps_or_says_that_it_cannot_be_proven(one):
    action, res, *items = one
    assert list(manages(action, "r : t", res)) == items


def flat(data):
    for one in data or []:
        if not isinstance(one, dict):
            continue
        for key in ("tasks", "pre_tasks", "post_tasks", "handlers", "block", "rescue", "always"):
            yield from flat(one.get(key))
        if not {"hosts", "block"} & one.keys():
            yield one


@cache
def tasks(path):
    """Return (task, names of its modules) of a file."""
    found = flat(yaml.safe_load((HOME / path).read_text()))
    return [(t, {k.rpartition(".")[2] for k in t if "." in k or k.startswith("avadm_")}) for t in found]


PLACES = ("playbooks/*.yml", "roles/*/tasks/*.yml", "roles/*/handlers/*.yml")
PATHS = [str(path.relative_to(HOME)) for place in PLACES for path in sorted(HOME.glob(place))]


@pytest.mark.parametrize("path", PATHS)
def test_every_task_is_known_and_what_only_looks_reports_no_change(path):
    known = LOOKING | {"copy", "template", "file", "avadm_service"} | module._KINDS.keys()
    for task, names in tasks(path):
        assert names <= known, task["name"]
        if {"command", "shell", "script"} & names:
            assert task.get("changed_when") is False, task["name"]


READS = (
    # What tasks may ask a program; whatever sets something is a module's, which says what it keeps.
    r"timeout \d+ stat --file-system --format=%T \S+|hostname -s|ip -o -4 addr show to \S+|mountpoint -q \S+",
    r"docker exec calico-node calico-node -felix-ready -bird-ready|docker info --format .+",
    r"kubectl( --[a-z-]+=\S+)* get .+",
    r"nvidia-smi --query-gpu=\S+ --format=\S+|\S+ --version",
    r"/usr/local/lib/avadm/alluxio/fuse-there|EXPRESSION --help|df --output=size --block-size=1M EXPRESSION",
)
CHECKING = {"assert", "command", "fail", "import_tasks", "include_tasks", "stat", "uri", "wait_for"}
CHECKING |= {"avadm_ask", "avadm_ceph_wait", "avadm_private_mounts"}


@pytest.mark.parametrize("path", PATHS)
def test_what_a_task_asks_a_program_sets_nothing_and_verifying_changes_nothing(path):
    """A command with `changed_when: false` that sets something cannot be checked."""
    for task, names in tasks(path):
        assert not {"shell", "script"} & names, task["name"]
        if path.endswith("/verify.yml"):
            assert names <= CHECKING, task["name"]
        if command := task.get(COMMAND):
            # An argument, with each expression of Jinja's as one word.
            line = re.sub(r"\{\{.*?\}\}", "EXPRESSION", " ".join(map(str, command["argv"])))
            assert any(re.fullmatch(one, line) for one in READS), f"{task['name']}: {line} is no known read"
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
def test_the_list_of_reads_knows_what_sets(line):
    assert not any(re.fullmatch(one, line) for one in READS)
