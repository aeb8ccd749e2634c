"""The script that nodes run: as a whole on this machine, and its readers of what programs say."""

import json
import re
import socket
import subprocess
import sys
import threading
import time
from types import SimpleNamespace

import pytest

from avadm.doctor.parts import MODULES, QUESTIONS, patterns
from avadm.remote.call import script as program
from avadm_node.probes.health import parts


def run(*names):
    return script_of(dict.fromkeys(names, 20), MODULES)


def script_of(asked, modules):
    text = program(parts.ask, {"parts": asked, "modules": modules})
    done = subprocess.run([sys.executable, "-"], input=text, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_every_part_has_its_function(script):
    assert [p.name for p in QUESTIONS if not callable(script.get(p.name))] == []


def test_what_reads_times_is_loaded_before_any_thread():
    check = "import sys, avadm_node.probes.health.parts\nassert '_strptime' in sys.modules"
    subprocess.run([sys.executable, "-"], input=check, text=True, check=True, timeout=60)


def test_machine_parts_on_this_machine():
    found = run("mounts", "memory", "addresses", "kernel")
    assert found["errors"] == {}
    parts = found["parts"]
    assert any(m["point"] == "/" and 0 <= m["free_percent"] <= 100 for m in parts["mounts"])
    assert parts["memory"]["total"] > parts["memory"]["available"] > 0
    assert "127.0.0.1" in parts["addresses"]
    assert parts["kernel"]["inotify"]["refused"] == ""


def test_a_part_that_fails_hides_no_other():
    found = run("memory", "etcd", "haproxy")
    assert "memory" in found["parts"]
    assert "2381" in found["errors"]["etcd"]


def test_a_part_of_no_module_hides_no_other():
    found = script_of({"memory": 20, "nothing": 20, "absent": 20}, MODULES | {"absent": "no_module"})
    assert "memory" in found["parts"]
    assert found["errors"].keys() == {"nothing", "absent"}
    assert "no part is called nothing" in found["errors"]["nothing"]


def test_a_part_that_hangs_is_given_up(script, monkeypatch):
    monkeypatch.setitem(script, "memory", lambda params: time.sleep(120))
    begun = time.monotonic()
    found = script["ask"]({"modules": MODULES, "parts": {"memory": 1, "addresses": 10}})
    assert time.monotonic() - begun < 60
    assert found["errors"] == {"memory": "no answer within 1 s"}
    assert "127.0.0.1" in found["parts"]["addresses"]


def test_ports_on_which_no_one_listens(script):
    with socket.create_server(("127.0.0.1", 0)) as server, socket.socket() as other:
        heard = server.getsockname()[1]
        other.bind(("127.0.0.1", 0))
        free = other.getsockname()[1]
        assert script["ports"]({"ports": [heard, free]}) == [free]


def test_dns_is_asked_by_itself(script, monkeypatch):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as server:
        server.bind(("127.0.0.1", 0))
        asked, port = [], server.getsockname()[1]

        def answer():
            packet, sender = server.recvfrom(512)
            asked.append(packet)
            server.sendto(packet[:2] + b"\x81\x80\0\1\0\1\0\0\0\0" + packet[12:], sender)

        class Socket(socket.socket):
            def sendto(self, data, where):
                return super().sendto(data, (where[0], port))

        thread = threading.Thread(target=answer)
        thread.start()
        monkeypatch.setitem(script, "socket", SimpleNamespace(**{**vars(socket), "socket": Socket}))
        assert script["dns"]({"dns": ["127.0.0.1"]}) == {"127.0.0.1": "ok"}
        thread.join()
    assert b"\x0akubernetes\x07default\x03svc\x07cluster\x05local\0\0\1\0\1" in asked[0]


def test_a_certificate_is_read_with_its_dates(script, tmp_path):
    path = tmp_path / "a.crt"
    make = "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 10 -subj /CN=a"
    subprocess.run([*make.split(), "-keyout", "/dev/null", "-out", path], check=True, capture_output=True)
    (tmp_path / "b.crt").write_text("nothing")
    found = script["certificates"]({"certificates": [f"{tmp_path}/*.crt"]})
    begins, ends = found[str(path)]
    assert abs(begins - time.time()) < 300
    assert ends - begins == 10 * 86400
    assert found[str(tmp_path / "b.crt")].startswith("no certificate")


@pytest.mark.parametrize(
    ("inside", "copies"),
    [
        ("/ /host rw,relatime", 1),
        ("/ /host rw,relatime master:1", 0),
        ("/ /host rw,relatime shared:1", 0),
        ("/var/lib/x / rw,relatime", 0),
        ("/ / rw,relatime", 1),
    ],
)
def test_private_copies_of_the_hosts_root(script, monkeypatch, inside, copies):
    rows = {1: "23 1 8:1 / / rw,relatime shared:1", 7: f"40 39 8:1 {inside}"}
    texts = {f"/proc/{pid}/mountinfo": f"{row} - ext4 /dev/sda1 rw\n" for pid, row in rows.items()}
    texts["/proc/7/comm"] = "node_exporter\n"
    monkeypatch.setitem(script, "slurp", texts.get)
    spaces = {"/proc/1/ns/mnt": "mnt:[1]", "/proc/7/ns/mnt": "mnt:[2]"}
    os = SimpleNamespace(readlink=spaces.__getitem__, listdir=lambda path: ["1", "7", "self"])
    monkeypatch.setitem(script, "os", os)
    assert len(script["private_mounts"]({})) == copies


def test_units_by_what_systemctl_says(script, command_output):
    command_output(
        "Id=a.service\nActiveState=failed\nSubState=failed\nUnitFileState=static\nType=simple\nConditionResult=yes\n"
        "Result=exit-code\nNRestarts=3\n\nId=b.service\nActiveState=active\nUnitFileState=enabled-runtime\n"
        "NRestarts=[not set]\n\nId=c.service\nActiveState=inactive\nUnitFileState=disabled\n"
    )
    found = script["units"]({})
    assert sorted(found) == ["a.service", "b.service"]
    assert (found["a.service"]["restarts"], found["b.service"]["enabled"]) == (3, True)


NOW = 1_800_000_000  # 2027-01-15T08:00:00Z


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("2027-01-15T07:50:00.123+0000 {} osd.2 [v2:10.0.0.1:6800/1,v1:10.0.0.1:6801/1] boot", {"2": 1}),
        ("2027-01-15T09:50:00.1+0200 {} osd.12 10.0.0.1:6800/1 boot", {"12": 1}),
        ("2027-01-15T07:00:00.123+0000 {} osd.2 [v2:10.0.0.1:6800/1] boot", {}),
        ("2027-01-15T07:50:00.123+0000 {} osd.2 marked itself down", {}),
        ("nonsense", {}),
    ],
)
def test_boots_of_osds_by_the_clusters_log(script, line, found):
    assert script["boots"](line.format("mon.stor1 (mon.0) 9 : cluster [INF]"), NOW) == found


def test_pools_and_blocks_of_addresses_and_tunnels(script, monkeypatch):
    table = """
+----------+---------------+-----------+------------+--------------+
| GROUPING |     CIDR      | IPS TOTAL | IPS IN USE |   IPS FREE   |
+----------+---------------+-----------+------------+--------------+
| IP Pool  | 10.244.0.0/16 |     65536 | 14 (0%)    | 65522 (100%) |
| Block    | 10.244.1.0/26 |        64 | 8 (12%)    | 56 (88%)     |
|          | 10.244.2.0/26 |        64 | 6 (9%)     | 58 (91%)     |
+----------+---------------+-----------+------------+--------------+
"""
    bgp = {
        "w1": {"bgp": {"ipv4IPIPTunnelAddr": "10.250.0.7"}},
        "w2": {"bgp": {"ipv4Address": "10.0.0.2/24"}},
        "w3": {},
    }
    nodes = json.dumps({"items": [{"metadata": {"name": n}, "spec": s} for n, s in bgp.items()]})
    monkeypatch.setitem(script, "must", lambda argv, *_: nodes if "get" in argv else table)
    found = script["calico_pool"]({})
    assert found["tunnels"] == {"w1": "10.250.0.7", "w2": "", "w3": ""}
    assert found["pools"] == {"10.244.0.0/16": [65536, 14]}
    assert found["blocks"] == {"10.244.1.0/26": [64, 8], "10.244.2.0/26": [64, 6]}


@pytest.mark.parametrize(
    ("answers", "ready", "asked"),
    [
        (["BIRD: i/o timeout", ""], True, 2),
        (["BIRD: i/o timeout"] * 4, False, 3),
        (["BGP not established with 10.0.0.2", ""], False, 1),
    ],
)
def test_a_late_answer_of_bird_is_waited_for_and_no_other(script, monkeypatch, answers, ready, asked):
    left = list(answers)
    monkeypatch.setitem(
        script, "call", lambda *_: (0, "", "") if not (words := left.pop(0)) else (1, "", words)
    )
    monkeypatch.setattr(script["time"], "sleep", lambda _: None)
    assert script["calico"]({}) == {"ready": ready, "said": answers[asked - 1]}
    assert len(answers) - len(left) == asked


def test_haproxys_timeouts_in_seconds(script, monkeypatch):
    text = "defaults\n  timeout connect 5s\n  timeout client 4h\n timeout server 60000\n"
    monkeypatch.setitem(script, "slurp", lambda path: text)
    assert script["haproxy"]({}) == {"client": 14400, "server": 60}


def pod(**status):
    meta = {"namespace": "a", "name": "b", "creationTimestamp": "2027-01-15T07:00:00Z"}
    meta |= status.pop("meta", {})
    return {"metadata": meta, "spec": {"nodeName": "n", "containers": []}, "status": status}


CREATING = {"state": {"waiting": {"reason": "ContainerCreating"}}}
REFUSED = {"state": {"waiting": {"reason": "ErrImagePull"}}}
ENDING = {"deletionTimestamp": "2027-01-15T08:00:20Z"}  # 20 s of its grace period are left
OVERDUE = {"deletionTimestamp": "2027-01-15T07:50:00Z"}
CRASHED = {"restartCount": 4, "state": {"waiting": {"reason": "CrashLoopBackOff"}}}
KILLED = {"state": {}, "lastState": {"terminated": {"reason": "OOMKilled"}}}


@pytest.mark.parametrize(
    ("status", "key", "value"),
    [
        ({"phase": "Pending"}, "age_s", 3600),
        ({"phase": "Failed", "reason": "Evicted"}, "reason", "Evicted"),
        ({"phase": "Running", "containerStatuses": [CRASHED]}, "restarts", 4),
        ({"phase": "Running", "containerStatuses": [KILLED]}, "killed", "OOMKilled"),
        ({"phase": "Running", "meta": OVERDUE}, "late_s", 600),
        # What a pod that is replaced may be called for a moment is trouble where it stays.
        ({"phase": "Pending", "containerStatuses": [CREATING]}, "waiting", "ContainerCreating"),
        ({"phase": "Pending", "containerStatuses": [CREATING], "meta": OVERDUE}, "late_s", 600),
        ({"phase": "Pending", "startTime": "2027-01-15T07:57:59Z"}, "age_s", 121),
        (
            {"phase": "Pending", "startTime": "2027-01-15T07:59:49Z", "containerStatuses": [REFUSED]},
            "waiting",
            "ErrImagePull",
        ),
        # Its node says nothing any more.
        ({"phase": "Unknown", "reason": "NodeLost", "meta": ENDING}, "reason", "NodeLost"),
        # What a new pod died of is no matter of time.
        (
            {"phase": "Running", "startTime": "2027-01-15T07:59:58Z", "containerStatuses": [KILLED]},
            "age_s",
            2,
        ),
    ],
)
def test_pods_in_trouble(script, status, key, value):
    assert script["pod_trouble"](pod(**status), NOW)[key] == value


@pytest.mark.parametrize(
    "status",
    [
        {"phase": "Running"},
        {"phase": "Succeeded"},
        {"phase": "Pending", "startTime": "2027-01-15T07:59:30Z"},
        # Both pods of one that is replaced: kubelet calls the old one Pending when its containers are gone.
        {"phase": "Pending", "containerStatuses": [CREATING], "meta": ENDING},
        {"phase": "Running", "containerStatuses": [CRASHED], "meta": ENDING},
        {"phase": "Pending", "startTime": "2027-01-15T07:59:30Z", "containerStatuses": [CREATING]},
        {"phase": "Pending", "startTime": "2027-01-15T07:59:51Z", "containerStatuses": [REFUSED]},
    ],
)
def test_pods_that_are_well(script, status):
    assert script["pod_trouble"](pod(**status), NOW) is None


LINES = {
    "log-superblock": "mount: /mnt: can't read superblock on /dev/rbd0.",
    "log-refused-format": "volume x: /dev/loop3 is not proven blank: it carries ext4; nothing was written",
    "log-private-mount": "umount: /mnt/x: target is busy.",
    "log-hung-task": "INFO: task ceph-osd:123 blocked for more than 120 seconds.",
    "log-oom": "Out of memory: Killed process 12 (python)",
    "log-disk-error": "blk_update_request: I/O error, dev sdb, sector 8",
    "log-uvm": "nvidia-container-cli: mount error: stat failed: /dev/nvidia-uvm: no such file or directory",
    "log-gpu-memory": "RuntimeError: CUDA out of memory. Tried to allocate 20 MiB",
    "log-loopback": 'NetworkPlugin cni failed: failed to find plugin "loopback" in path [/opt/cni/bin]',
    "log-cni-config": "NetworkReady=false reason:NetworkPluginNotReady message:docker: cni config uninitialized",
    "log-no-address": "failed to request 1 IPv4 addresses. IPAM allocated only 0",
    "log-watch": "watch of *v1.Pod: Unexpected watch close - watch lasted less than a second and no items received",
    "log-xtables": "can't open lock file /run/xtables.lock: Is a directory",
    "log-ceph-version": "libceph: mon0 10.0.0.1:6789 feature set mismatch, my 40 < server's 2040",
    "log-port-twice": "listen tcp :9100: bind: address already in use",
}


POD = "/kubepods/burstable/pod3b1c9f0e-11aa-11ec-9c50-0242ac110002/4f5e"
MEMCG = "oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null)"
SLICE = "/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod3b1c9f0e_11aa.slice/docker-4f5e.scope"


@pytest.mark.parametrize(
    ("line", "seen"),
    [
        ("Out of memory: Kill process 12 (python) score 900 or sacrifice child", True),
        ("Out of memory (oom_kill_allocating_task): Killed process 12", True),
        # The line before it says whose limit it was.
        ("Memory cgroup out of memory: Killed process 12 (python)", False),
        (f"{MEMCG},cpuset=4f5e,oom_memcg={POD},task_memcg={POD}", False),
        (f"{MEMCG},cpuset=4f5e,oom_memcg={SLICE},task_memcg={SLICE}", False),
        (f"{MEMCG},cpuset=x,oom_memcg=/kubepods,task_memcg={POD}", True),
        (f"Task in {POD} killed as a result of limit of {POD}", False),
        ("Task in /system.slice/a.service killed as a result of limit of /system.slice/a.service", True),
        ("oom_reaper: reaped process 12 (python), now anon-rss:0kB", False),
    ],
)
def test_a_kill_within_a_pods_own_limit_is_no_trouble_of_the_host(line, seen):
    [pattern] = [row["pattern"] for row in patterns() if row["id"] == "log-oom"]
    assert bool(re.search(pattern, line, re.I)) == seen


def test_lines_of_the_journal_by_pattern(script, command_output):
    known = {row["id"]: row["pattern"] for row in patterns()}
    assert sorted(LINES) == sorted(known)
    stamp = time.strftime("%Y-%m-%dT%H:%M:%S+0000", time.gmtime(time.time() - 30))
    lines = [f"{stamp} host unit[1]: {text}" for text in LINES.values()]
    lines += [f"{stamp} host sudo[2]: can't read superblock", f"{stamp} host unit[1]: all is well"]
    command_output("\n".join(lines))
    found = script["journal"]({"patterns": known, "window": 900})
    assert {name: row["count"] for name, row in found.items()} == dict.fromkeys(LINES, 1)
    assert all(25 <= row["age_s"] <= 40 for row in found.values())
