"""Troubles as a table: what is changed in a healthy snapshot, and which check must say what of which place."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from avadm.doctor.parts import patterns
from tests.unit.doctor.healthy import DAY, NOW, kube_node, mount, pod, unit

Data = dict[str, Any]


@dataclass(frozen=True)
class Case:
    """One trouble.

    Attributes:
        check: the check that must find it.
        where: what its place must hold.
        says: what its evidence must hold.
        change: changes the data of a healthy snapshot.
        status: what it must say.
    """

    check: str
    where: str
    says: str
    change: Callable[[Data], Any]
    status: str = "bad"

    @property
    def name(self) -> str:
        return f"{self.check}: {self.says[:40]}"


def parts(data: Data, node: str) -> Data:
    found: Data = data["nodes"][node]["parts"]
    return found


def put(node: str, part: str, **values: Any) -> Callable[[Data], Any]:
    """Return a change of members of a part of one node; on both witnesses where two are asked."""

    def change(data: Data) -> None:
        twins = (
            {"mast1": ["mast1", "mast2"], "stor1": ["stor1", "stor2"]}
            if part in ("kubernetes", "ceph", "calico_pool", "admission")
            else {}
        )
        for name in twins.get(node, [node]):
            parts(data, name)[part] |= values

    return change


def replace(node: str, part: str, value: Any) -> Callable[[Data], Any]:
    return lambda data: parts(data, node).__setitem__(part, value)


def code(name: str, text: str, *detail: str, severity: str = "HEALTH_WARN") -> Callable[[Data], Any]:
    row = {"severity": severity, "text": text, "detail": list(detail), "muted": False}
    return put("stor1", "ceph", checks={name: row})


def kube(name: str, **values: Any) -> Callable[[Data], Any]:
    return lambda data: parts(data, "mast1")["kubernetes"]["nodes"][name].update(values)


def pods(**values: Any) -> Callable[[Data], Any]:
    return put("mast1", "kubernetes", pods=[pod(**values)])


def event(reason: str, message: str) -> Callable[[Data], Any]:
    row = {"count": 2, "message": message, "object": "Pod lab/p1", "at": NOW}
    return put("mast1", "kubernetes", events={reason: row})


def not_ready(data: Data) -> None:
    kube("comp2", conditions={"Ready": ["Unknown", "Kubelet stopped posting node status."]})(data)
    parts(data, "comp2")["units"] = {"kubelet.service": unit("inactive", "dead")}


def silent(data: Data) -> None:
    data["nodes"]["comp2"] |= {"silent": "No route to host", "parts": {}, "clock": None}


def leaked(data: Data) -> None:
    for name in ("mast1", "mast2"):
        parts(data, name)["calico_pool"] = {
            "pools": {"10.244.0.0/16": [65536, 300]},
            "blocks": {"10.244.1.0/26": [64, 60]},
        }


def full_pool(used: int, blocks: int) -> Callable[[Data], Any]:
    rows = {f"10.244.{i // 4}.{i % 4 * 64}/26": [64, 64] for i in range(blocks)}
    return put("mast1", "calico_pool", pools={"10.244.0.0/16": [65536, used]}, blocks=rows)


def small_pool(data: Data) -> None:
    value = {
        "pools": {"10.244.0.0/25": [128, 20]},
        "blocks": {"10.244.0.0/26": [64, 10], "10.244.0.64/26": [64, 10]},
    }
    for name in ("mast1", "mast2"):
        parts(data, name)["calico_pool"] = value


GPU_ROW = [{"index": 0, "used_mib": 9000, "total_mib": 16384}]


def held_memory(data: Data) -> None:
    parts(data, "comp2")["gpu"]["seen"] = GPU_ROW * 4
    parts(data, "mast1")["kubernetes"]["counts"]["comp2"]["gpus"] = 0


CASES = (
    Case("node-reached", "comp2", "No route", silent),
    Case("node-clock", "stor2", "+400 ms", lambda d: d["nodes"]["stor2"]["clock"].update(offset_ms=403.0)),
    Case("disk-space", "stor1", "9 %", replace("stor1", "mounts", [mount(free=9.0)])),
    Case("disk-space", "stor1", "19 %", replace("stor1", "mounts", [mount(free=19.0)]), "warn"),
    Case("disk-space", "stor1", "inodes", replace("stor1", "mounts", [mount(inodes_percent=3.0)]), "warn"),
    Case(
        "disk-eviction",
        "comp1",
        "evicts pods below 10 %",
        replace("comp1", "mounts", [mount("/var/lib/docker", 8.0)]),
    ),
    Case(
        "disk-read-only",
        "comp1",
        "/var (/dev/sda1) is read-only",
        replace("comp1", "mounts", [mount("/var", read_only=True)]),
    ),
    Case("memory", "comp1", "500 of 64000", put("comp1", "memory", available=500)),
    Case(
        "inotify",
        "comp1",
        "no further inotify",
        lambda d: parts(d, "comp1")["kernel"]["inotify"].update(refused="Too many open files"),
    ),
    Case("open-files", "comp1", "890000", lambda d: parts(d, "comp1")["kernel"]["files"].update(open=890000)),
    Case(
        "private-mounts",
        "comp1",
        "node_exporter (pid 77) holds the host's root at /host",
        replace("comp1", "private_mounts", [{"pid": 77, "command": "node_exporter", "point": "/host"}]),
    ),
    Case(
        "units",
        "stor3",
        "although it is enabled",
        replace("stor3", "units", {"ceph-osd@3.service": unit("inactive", "dead")}),
    ),
    Case(
        "units",
        "stor3",
        "failed",
        replace("stor3", "units", {"ceph-osd@3.service": unit("failed", "failed", result="exit-code")}),
    ),
    Case(
        "units",
        "stor3",
        "deactivating",
        replace("stor3", "units", {"ceph-osd@3.service": unit("deactivating", "stop-sigkill")}),
    ),
    Case(
        "units",
        "stor3",
        "cron",
        replace("stor3", "units", {"cron.service": unit("failed", "failed")}),
        "warn",
    ),
    Case(
        "units",
        "stor3",
        "40 times",
        replace("stor3", "units", {"kubelet.service": unit(restarts=40)}),
        "warn",
    ),
    Case("ports", "comp1", "port 5000", replace("comp1", "ports", [5000])),
    Case(
        "virtual-address",
        "mast2, mast3",
        "at once",
        lambda d: parts(d, "mast3")["addresses"].append("10.0.0.250"),
    ),
    Case(
        "virtual-address", "ingress", "by none", lambda d: parts(d, "comp1")["addresses"].remove("10.0.0.251")
    ),
    Case("ledger", "ceph", "the phase ceph has failed", lambda d: d["ledger"].update(ceph="failed"), "warn"),
    Case(
        "ceph-osd-down",
        "osd.3 on stor2",
        "OSD_DOWN",
        code("OSD_DOWN", "1 osds down", "osd.3 (root=default,host=stor2) is down"),
    ),
    Case(
        "ceph-full",
        "osd.1 on stor1",
        "OSD_NEARFULL",
        code("OSD_NEARFULL", "1 nearfull osd(s)", "osd.1 is near full"),
        "warn",
    ),
    Case("ceph-slow-ops", "ceph", "SLOW_OPS", code("SLOW_OPS", "5 slow ops"), "warn"),
    Case(
        "ceph-mds-slow",
        "mds.stor1",
        "MDS_SLOW_REQUEST",
        code(
            "MDS_SLOW_REQUEST",
            "1 MDSs report slow requests",
            "mds.stor1(mds.0): 3 slow requests are blocked > 30 secs",
        ),
        "warn",
    ),
    Case(
        "ceph-mds",
        "ceph",
        "FS_DEGRADED",
        code("FS_DEGRADED", "1 filesystem is degraded", severity="HEALTH_ERR"),
    ),
    Case(
        "ceph-clock",
        "mon.stor2",
        "MON_CLOCK_SKEW",
        code("MON_CLOCK_SKEW", "skew", "mon.stor2 clock skew 0.4s"),
        "warn",
    ),
    Case(
        "ceph-quorum",
        "mon.stor3",
        "MON_DOWN",
        code("MON_DOWN", "1/3 mons down", "mon.stor3 (rank 2) is down"),
    ),
    Case(
        "ceph-data",
        "ceph",
        "PG_AVAILABILITY",
        code("PG_AVAILABILITY", "2 pgs inactive", severity="HEALTH_ERR"),
    ),
    Case("ceph-quorum-risk", "stor3", "one more stops ceph", put("stor1", "ceph", quorum=["stor1", "stor2"])),
    Case(
        "ceph-osd-flapping", "osd.2 on stor2", "came up 3 times", put("stor1", "ceph", boots={"2": 3}), "warn"
    ),
    Case("ceph-osd-flapping", "osd.2 on stor2", "came up 7 times", put("stor1", "ceph", boots={"2": 7})),
    Case(
        "ceph-osd-out",
        "osd.4 on stor3",
        "holds no data",
        lambda d: parts(d, "stor1")["ceph"]["osds"]["4"].update({"in": 0}),
        "warn",
    ),
    Case("ceph-osd-out", "ceph", "5 OSDs of 6", lambda d: parts(d, "stor1")["ceph"]["osds"].pop("5"), "warn"),
    Case(
        "ceph-health", "ceph", "RECENT_CRASH", code("RECENT_CRASH", "1 daemons have recently crashed"), "warn"
    ),
    Case(
        "ceph-versions",
        "comp1",
        "the running client.admin is 14.2.21",
        put("comp1", "ceph_programs", running={"client.admin": "14.2.21"}),
    ),
    Case(
        "ceph-profile",
        "ceph",
        "18.2.7",
        put("stor1", "ceph", versions={"ceph version 18.2.7 (x) reef": 12}),
        "warn",
    ),
    Case(
        "ceph-replaced",
        "stor1",
        "ceph-osd was replaced",
        put("stor1", "ceph_programs", replaced=["ceph-osd"]),
        "warn",
    ),
    Case(
        "ceph-mds-waiting",
        "mds.stor1 on stor1",
        "waited for 70 s",
        lambda d: parts(d, "stor1")["mds"]["mds.stor1"].update(oldest_s=70.0),
        "warn",
    ),
    Case(
        "cephfs-clients",
        "comp1",
        "40 clients",
        lambda d: parts(d, "stor1")["mds"]["mds.stor1"]["clients"].update(comp1=40),
        "warn",
    ),
    Case("cephfs-mount", "comp1", "is not mounted", put("comp1", "cephfs", kind="")),
    Case("cephfs-mount", "comp1", "does not answer", put("comp1", "cephfs", answers=False, seconds=8.0)),
    Case(
        "etcd-leader",
        "mast2",
        "no leader",
        lambda d: parts(d, "mast2")["etcd"]["metrics"].update(etcd_server_has_leader=0.0),
    ),
    Case("etcd-members", "mast3", "no member", lambda d: parts(d, "mast1")["etcd"]["members"].pop("mast3")),
    Case("etcd-members", "mast3", "one more stops Kubernetes", lambda d: parts(d, "mast3").pop("etcd")),
    Case(
        "etcd-size",
        "mast1",
        "8000 of 8192",
        lambda d: parts(d, "mast1")["etcd"]["metrics"].update(
            etcd_mvcc_db_total_size_in_bytes=8000 * 2.0**20
        ),
    ),
    Case("etcd-alarms", "mast1", "NOSPACE", put("mast1", "etcd", alarms=["memberID:1 alarm:NOSPACE"])),
    Case("etcd-disk", "mast1", "900 ms", put("mast1", "etcd", sync_s=0.9), "warn"),
    Case(
        "etcd-snapshot", "mast1", "hours old", put("mast1", "etcd", snapshots=[NOW - DAY, NOW - DAY]), "warn"
    ),
    Case("etcd-snapshot", "mast1", "there is none", put("mast1", "etcd", snapshots=[]), "warn"),
    Case(
        "kube-servers",
        "mast2",
        "kube-scheduler",
        put("mast2", "servers", **{"kube-scheduler": "connection refused"}),
    ),
    Case("kube-nodes-ready", "comp2", "kubelet does not run", not_ready),
    Case("kube-nodes-ready", "comp2", "cordoned", kube("comp2", cordoned=True), "warn"),
    Case(
        "kube-nodes-ready",
        "comp2",
        "does not know",
        lambda d: parts(d, "mast1")["kubernetes"]["nodes"].pop("comp2"),
    ),
    Case(
        "kube-pressure",
        "comp1",
        "DiskPressure",
        kube("comp1", conditions={"Ready": ["True", ""], "DiskPressure": ["True", "disk"]}),
    ),
    Case(
        "kube-versions",
        "comp1",
        "newer",
        lambda d: parts(d, "mast1")["kubernetes"]["nodes"].update(comp1=kube_node(kubelet="1.10.0")),
    ),
    Case("kube-versions", "comp1", "two releases", kube("comp1", kubelet="1.6.4")),
    Case("kube-versions", "comp1", "1.9.9", kube("comp1", kubelet="1.9.9"), "warn"),
    Case("api-timeouts", "mast1", "60 s", put("mast1", "haproxy", server=60), "warn"),
    Case("kube-reset", "mast1", "made anew", put("mast1", "kubernetes", since=NOW - DAY)),
    Case(
        "pods-pending",
        "lab/p1",
        "Unschedulable",
        pods(phase="Pending", waiting="Unschedulable", message="0/5 nodes are available"),
        "warn",
    ),
    Case(
        "pods-crashing",
        "lab/p1 on comp1",
        "CrashLoopBackOff",
        pods(waiting="CrashLoopBackOff", restarts=7),
        "warn",
    ),
    Case("pods-images", "lab/p1", "ErrImagePull", pods(phase="Pending", waiting="ErrImagePull"), "warn"),
    Case(
        "pods-evicted",
        "lab/p1",
        "evicted",
        pods(phase="Failed", reason="Evicted", message="The node was low on resource: nodefs"),
        "warn",
    ),
    Case("pods-evicted", "Pod lab/p1", "ImageGCFailed", event("ImageGCFailed", "failed to garbage collect")),
    Case("pods-memory", "lab/p1", "memory limit", pods(killed="OOMKilled", restarts=2), "warn"),
    Case("pods-ending", "lab/p1", "300 s ago", pods(late_s=300), "warn"),
    Case(
        "pod-mounts", "Pod lab/p1", "timed out", event("FailedMount", "timed out waiting for volumes"), "warn"
    ),
    Case(
        "pod-signals",
        "lab/p1 on comp1",
        "no SIGTERM",
        put("comp1", "containers", deaf=[{"pod": "lab/p1", "command": "bash run.sh"}]),
        "warn",
    ),
    Case("calico-addresses", "cluster", "no pod gets", full_pool(65536, 1024)),
    Case("calico-addresses", "cluster", "63000 of 65536", full_pool(63000, 1000), "warn"),
    Case("calico-addresses", "cluster", "no block of their own", small_pool, "warn"),
    Case("calico-addresses", "cluster", "there is no pool", put("mast1", "calico_pool", pools={}, blocks={})),
    Case("calico-leaks", "cluster", "300 addresses are taken, 9 pods", leaked, "warn"),
    Case("calico-pool", "cluster", "10.244.0.0/16", small_pool),
    Case(
        "calico-ready",
        "comp1",
        "BGP not established with 10.0.0.32",
        put(
            "comp1",
            "calico",
            ready=False,
            said="calico/node is not ready: BIRD is not ready: BGP not established with 10.0.0.32",
        ),
    ),
    Case("cni-plugins", "comp1", "loopback", put("comp1", "cni", there=["calico", "calico-ipam", "portmap"])),
    Case("cni-plugins", "comp1", "/opt/cni/bin is missing", put("comp1", "cni", folder=False)),
    Case("cni-plugins", "comp1", "net.d is empty", put("comp1", "cni", configurations=[], named=[])),
    Case("xtables-lock", "comp1", "is a folder", put("comp1", "cni", lock_is_folder=True)),
    Case("dns", "comp2", "10.96.0.10", replace("comp2", "dns", {"10.96.0.10": "timed out"})),
    Case("gpu-uvm", "comp2", "nvidia-uvm is missing", put("comp2", "gpu", uvm=False)),
    Case("gpu-devices", "comp2", "sees 1 GPUs", put("comp2", "gpu", seen=GPU_ROW)),
    Case(
        "gpu-devices",
        "comp2",
        "does not answer",
        put("comp2", "gpu", said="NVML: driver/library version mismatch"),
    ),
    Case("gpu-memory", "comp2", "9000 of 16384", held_memory, "warn"),
    Case("gpu-allocatable", "comp2", "0 of 4", kube("comp2", gpus=0), "warn"),
    Case(
        "prometheus-targets",
        "comp1",
        "node of stor1",
        put("comp1", "prometheus", down=[["node", "stor1:9100", "refused"]]),
        "warn",
    ),
    Case(
        "alerts",
        "stor1",
        "HostDown",
        put(
            "comp1",
            "prometheus",
            firing=[
                {"name": "HostDown", "severity": "critical", "node": "stor1", "summary": "s", "remedy": "r"}
            ],
        ),
    ),
    Case(
        "prometheus-storage",
        "comp1",
        "wal_corruptions_total is 2",
        put("comp1", "prometheus", own={"prometheus_tsdb_wal_corruptions_total": 2.0}),
        "warn",
    ),
    Case("prometheus-replicas", "comp2", "only 1 of 2", lambda d: parts(d, "comp2").pop("prometheus")),
    Case(
        "certificates",
        "mast1",
        "ended",
        replace("mast1", "certificates", {"/etc/etcd/pki/ca.crt": [NOW - 9 * DAY, NOW - DAY]}),
    ),
    Case(
        "certificates",
        "mast1",
        "ends in 5.0 days",
        replace("mast1", "certificates", {"/etc/a.crt": [NOW - 360 * DAY, NOW + 5 * DAY]}),
    ),
    Case(
        "certificates",
        "mast1",
        "ends in 80.0 days",
        replace("mast1", "certificates", {"/etc/a.crt": [NOW - 285 * DAY, NOW + 80 * DAY]}),
        "warn",
    ),
    Case(
        "certificates",
        "mast1",
        "no certificate",
        replace("mast1", "certificates", {"/etc/a.crt": "no certificate: x"}),
        "warn",
    ),
    Case(
        "known-holes",
        "comp1",
        "kubelet (0123abc); open are CVE-2018-1002105",
        lambda data: parts(data, "comp1")["defences"]["commits"].update(kubelet="0123abc"),
        "warn",
    ),
    Case(
        "known-holes",
        "mast1",
        "kube-apiserver has --anonymous-auth not set, wanted false",
        lambda data: parts(data, "mast1")["defences"]["flags"]["kube-apiserver"].pop("anonymous-auth"),
    ),
    Case(
        "known-holes",
        "comp1",
        "AVADM-LOCALNET`: CVE-2020-8558",
        put("comp1", "defences", rules=["-A PREROUTING -j AVADM-LOCALNET"]),
    ),
    Case(
        "known-holes",
        "comp2",
        "runc 1.0.2 is older than the mend of CVE-2024-21626",
        put("comp2", "defences", packages={"runc": ["1.0.2", False]}),
    ),
    Case(
        "known-holes",
        "comp1",
        "kubelet cannot be looked at",
        lambda data: parts(data, "comp1")["defences"]["flags"].pop("kubelet"),
        "unknown",
    ),
    *(
        Case(
            row["id"],
            "comp1",
            "the last: a line",
            put("comp1", "journal", **{row["id"]: {"count": 50, "last": "a line", "age_s": 5}}),
            row["status"],
        )
        for row in patterns()
    ),
)
