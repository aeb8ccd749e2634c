"""Troubles as a table: what is changed in a healthy snapshot, and which check must say what of which place."""

from avadm.doctor.parts import patterns
from tests.unit.doctor.healthy import DAY, NOW, kube_node, mount, pod, unit
from tests.unit.doctor.troubles import Case, bad, lose, parts, put, warn


def health(kind, check, where, code, *detail, severity="HEALTH_WARN"):
    """Return the trouble that ceph's own health tells by a code."""
    row = {"severity": severity, "text": "as ceph says it", "detail": detail, "muted": False}
    return kind(check, where, code, put("stor1 ceph checks", {code: row}))


def kube(path, *value, **members):
    return put(f"mast1 kubernetes nodes {path}", *value, **members)


def pods(**values):
    return put("mast1 kubernetes pods", [pod(**values)])


def event(reason, message):
    row = {"count": 2, "message": message, "object": "Pod lab/p1", "at": NOW}
    return put("mast1 kubernetes events", {reason: row})


def unfiltered(data):
    for node in data["site"]["nodes"]:
        node["rules"] = ""


def refused(where, address, port, says):
    """Return the trouble that a packet from an address to a port was dropped on a node."""
    row = [address, "tcp", port, 125]
    return warn("packet-filter-refused", where, says, put(f"{where} packet_filter", refused=[row]))


def not_ready(data):
    kube("comp2 conditions", {"Ready": ["Unknown", "Kubelet stopped posting."]})(data)
    parts(data, "comp2")["units"] = {"kubelet.service": unit("inactive", "dead")}


def silent(data):
    data["nodes"]["comp2"] |= {"silent": "No route to host", "parts": {}, "clock": None}


def pool(cidr, used, blocks):
    total = 2 ** (32 - int(cidr.partition("/")[2]))
    return put("mast1 calico_pool", {"pools": {cidr: [total, used]}, "blocks": blocks, "tunnels": {}})


def tunnels(**addresses):
    """Return the trouble that a site of racks has these tunnels; its pool is full, as that of four nodes in a /30."""

    def change(data):
        data["site"]["tunnels"] = "10.250.0.0/30"
        pools = {"10.244.0.0/16": [65536, 12], "10.250.0.0/30": [4, 4]}
        if addresses.pop("unwritten", False):
            del pools["10.250.0.0/30"]
        parts(data, "mast1")["calico_pool"] |= {"pools": pools, "tunnels": addresses}

    return change


def full_pool(used, blocks):
    return pool("10.244.0.0/16", used, {f"10.244.{i // 4}.{i % 4 * 64}/26": [64, 64] for i in range(blocks)})


def with_more(first, used):
    """Return a change that adds a small second pool with so many addresses in use."""

    def change(data):
        first(data)
        put("mast1 calico_pool pools", **{"10.245.0.0/26": [64, used]})(data)
        put("mast1 calico_pool blocks", **{"10.245.0.0/26": [64, used]})(data)

    return change


def held_memory(data):
    put("comp2 gpu seen", GPU_ROW * 4)(data)
    put("mast1 kubernetes counts comp2", gpus=0)(data)


def osd(*states, **more):
    return put("stor3 units", {"ceph-osd@3.service": unit(*states, **more)})


def logged(name):
    return put("comp1 journal", {name: {"count": 50, "last": "a line", "age_s": 5}})


def certificate(since, until):
    return put("mast1 certificates", {"/etc/a.crt": [NOW + since * DAY, NOW + until * DAY]})


LEAKED = pool("10.244.0.0/16", 300, {"10.244.1.0/26": [64, 60]})
SMALL_POOL = pool("10.244.0.0/25", 20, {"10.244.0.0/26": [64, 10], "10.244.0.64/26": [64, 10]})
GPU_ROW = [{"index": 0, "used_mib": 9000, "total_mib": 16384}]
NO_BGP = "BGP not established with 10.0.0.32"
OPEN = "kubelet (0123abc); open are CVE-2018-1002105"
NOT_SET = "kube-apiserver has --anonymous-auth not set, wanted false"
OLDER = "runc 1.0.2 is older than the fix of CVE-2024-21626"
DOWN = ["node", "stor1:9100", "refused"]
FIRING = {"name": "HostDown", "severity": "critical", "node": "stor1", "summary": "s", "remedy": "r"}
FULL_ETCD = {"etcd_mvcc_db_total_size_in_bytes": 8000 * 2.0**20}
PRIVATE = {"pid": 77, "command": "node_exporter", "point": "/host"}
HOLDS = "node_exporter (pid 77) holds the host's root at /host"
DOCKER_FULL, READ_ONLY = mount("/var/lib/docker", 8.0), mount("/var", read_only=True)
OLD_CLIENT, OLD_RUNC = {"client.admin": "14.2.21"}, {"runc": ["1.0.2", False]}
DEAF = {"pod": "lab/p1", "command": "bash run.sh"}
WAL = {"prometheus_tsdb_wal_corruptions_total": 2.0}
LOCALNET = "-A PREROUTING -j AVADM-LOCALNET"
CASES = (
    bad("node-reached", "comp2", "No route", silent),
    bad("node-clock", "stor2", "+400 ms", lambda d: d["nodes"]["stor2"]["clock"].update(offset_ms=403.0)),
    bad("disk-space", "stor1", "9 %", put("stor1 mounts", [mount(free=9.0)])),
    warn("disk-space", "stor1", "19 %", put("stor1 mounts", [mount(free=19.0)])),
    warn("disk-space", "stor1", "inodes", put("stor1 mounts", [mount(inodes_percent=3.0)])),
    bad("disk-eviction", "comp1", "evicts pods below 10 %", put("comp1 mounts", [DOCKER_FULL])),
    bad("disk-read-only", "comp1", "/var (/dev/sda1) is read-only", put("comp1 mounts", [READ_ONLY])),
    bad("memory", "comp1", "500 of 64000", put("comp1 memory", available=500)),
    bad("inotify", "comp1", "no further inotify", put("comp1 kernel inotify", refused="Too many open files")),
    bad("open-files", "comp1", "890000", put("comp1 kernel files", open=890000)),
    bad("private-mounts", "comp1", HOLDS, put("comp1 private_mounts", [PRIVATE])),
    bad("units", "stor3", "although it is enabled", osd("inactive", "dead")),
    bad("units", "stor3", "failed", osd("failed", "failed", result="exit-code")),
    bad("units", "stor3", "deactivating", osd("deactivating", "stop-sigkill")),
    warn("units", "stor3", "cron", put("stor3 units", {"cron.service": unit("failed", "failed")})),
    warn("units", "stor3", "40 times", put("stor3 units", {"kubelet.service": unit(restarts=40)})),
    bad("ports", "comp1", "port 5000", put("comp1 ports", [5000])),
    bad("packet-filter", "comp1", "no packet filter", put("comp1 packet_filter", kept="", loaded=False)),
    bad("packet-filter", "comp1", "not loaded", put("comp1 packet_filter", loaded=False)),
    bad("packet-filter", "comp1", "other rules", put("comp1 packet_filter", same=False)),
    warn("packet-filter", "comp1", "taken back", put("comp1 packet_filter", tried=True)),
    warn("packet-filter", "comp1", "from the site file", put("comp1 packet_filter", kept="77")),
    warn("packet-filter", "comp1", "enabled: false", unfiltered),
    refused("stor1", "10.0.0.31", 445, "comp1 to 445/tcp 2 min ago"),
    refused("stor1", "10.244.3.7", 2379, "a pod (10.244.3.7) to 2379/tcp"),
    refused("stor1", "192.0.2.9", 6801, "192.0.2.9 to 6801/tcp"),
    bad("virtual-address", "mast2, mast3", "at once", put("mast3 addresses", ["10.0.0.250"])),
    bad("virtual-address", "ingress", "by none", put("comp1 addresses", ["127.0.0.1"])),
    bad(
        "operations",
        "avadm power down",
        "powered down since noon by ops@desk (down)",
        lambda d: d["operations"].update(
            power=[
                {
                    "words": "powered down since noon by ops@desk",
                    "state": "down",
                    "command": "avadm power down",
                }
            ]
        ),
    ),
    warn(
        "operations",
        "avadm upgrade ceph",
        "half done, begun by ops@desk 5 min ago",
        lambda d: d["operations"]["operations"].append(
            {"command": "avadm upgrade ceph", "user": "ops@desk", "age_s": 300}
        ),
    ),
    warn(
        "operations",
        "operation avadm x",
        "noout stor1 is still set, for 5 min",
        lambda d: d["operations"]["leftovers"].append(
            {"kind": "noout", "target": "stor1", "owner": "operation avadm x", "age_s": 300}
        ),
    ),
    bad(
        "operations",
        "comp2",
        "overdue for 2 min, begun by ops@desk: r",
        lambda d: d["operations"]["maintenances"][0].update(until=NOW - 120),
    ),
    warn("ledger", "ceph", "the phase ceph has failed", lambda d: d["ledger"].update(ceph="failed")),
    warn(
        "component-profiles",
        "etcd",
        "the profile debian-12-newer",
        lambda d: d["site"].update(component_profiles={"etcd": "debian-12-newer"}),
    ),
    health(bad, "ceph-osd-down", "osd.3 on stor2", "OSD_DOWN", "osd.3 (root=default,host=stor2) is down"),
    health(warn, "ceph-full", "osd.1 on stor1", "OSD_NEARFULL", "osd.1 is near full"),
    health(warn, "ceph-slow-ops", "ceph", "SLOW_OPS"),
    health(warn, "ceph-mds-slow", "mds.stor1", "MDS_SLOW_REQUEST", "mds.stor1(mds.0): 3 slow requests"),
    health(bad, "ceph-mds", "ceph", "FS_DEGRADED", severity="HEALTH_ERR"),
    health(warn, "ceph-clock", "mon.stor2", "MON_CLOCK_SKEW", "mon.stor2 clock skew 0.4s"),
    health(bad, "ceph-quorum", "mon.stor3", "MON_DOWN", "mon.stor3 (rank 2) is down"),
    health(bad, "ceph-data", "ceph", "PG_AVAILABILITY", severity="HEALTH_ERR"),
    health(warn, "ceph-health", "ceph", "RECENT_CRASH"),
    bad("ceph-quorum-risk", "stor3", "one more stops ceph", put("stor1 ceph quorum", ["stor1", "stor2"])),
    warn("ceph-osd-flapping", "osd.2 on stor2", "came up 3 times", put("stor1 ceph boots", {"2": 3})),
    bad("ceph-osd-flapping", "osd.2 on stor2", "came up 7 times", put("stor1 ceph boots", {"2": 7})),
    warn("ceph-osd-out", "osd.4 on stor3", "holds no data", put("stor1 ceph osds 4", **{"in": 0})),
    warn("ceph-osd-out", "ceph", "5 OSDs of 6", lose("stor1 ceph osds 5")),
    bad(
        "ceph-versions",
        "comp1",
        "running client.admin is 14.2.21",
        put("comp1 ceph_programs", running=OLD_CLIENT),
    ),
    warn("ceph-profile", "ceph", "18.2.7", put("stor1 ceph versions", {"ceph version 18.2.7 (x) reef": 12})),
    warn(
        "ceph-replaced", "stor1", "ceph-osd was replaced", put("stor1 ceph_programs", replaced=["ceph-osd"])
    ),
    warn(
        "ceph-mds-waiting", "mds.stor1 on stor1", "waited for 70 s", put("stor1 mds mds.stor1", oldest_s=70.0)
    ),
    warn(
        "ceph-backfill-limits",
        "osd.2 on stor2",
        "osd_max_backfills is 8, expected 1 outside 22:00-06:00 UTC",
        put("stor2 osd_limits osds osd.2", osd_max_backfills="8"),
    ),
    # Those of the night were to be set an hour ago.
    warn(
        "ceph-backfill-limits",
        "osd.1 on stor1",
        "osd_max_backfills is 1, expected 4 within 22:00-06:00 UTC",
        put("stor1 osd_limits minute", 23 * 60),
    ),
    warn("cephfs-clients", "comp1", "40 clients", put("stor1 mds mds.stor1 clients", comp1=40)),
    bad("cephfs-mount", "comp1", "is not mounted", put("comp1 cephfs", kind="")),
    bad("cephfs-mount", "comp1", "does not answer", put("comp1 cephfs", answers=False, seconds=8.0)),
    bad("etcd-leader", "mast2", "no leader", put("mast2 etcd metrics", etcd_server_has_leader=0.0)),
    bad("etcd-members", "mast3", "no member", lose("mast1 etcd members mast3")),
    bad("etcd-members", "mast3", "one more stops Kubernetes", lose("mast3 etcd")),
    bad("etcd-size", "mast1", "8000 of 8192", put("mast1 etcd metrics", **FULL_ETCD)),
    bad("etcd-alarms", "mast1", "NOSPACE", put("mast1 etcd", alarms=["memberID:1 alarm:NOSPACE"])),
    warn("etcd-disk", "mast1", "900 ms", put("mast1 etcd", sync_s=0.9)),
    warn("etcd-snapshot", "mast1", "hours old", put("mast1 etcd", snapshots=[NOW - DAY, NOW - DAY])),
    warn("etcd-snapshot", "mast1", "there is none", put("mast1 etcd", snapshots=[])),
    bad("kube-servers", "mast2", "kube-scheduler", put("mast2 servers kube-scheduler", "connection refused")),
    bad("kube-nodes-ready", "comp2", "kubelet does not run", not_ready),
    warn("kube-nodes-ready", "comp2", "cordoned", kube("comp2", cordoned=True)),
    bad("kube-nodes-ready", "comp2", "does not know", lose("mast1 kubernetes nodes comp2")),
    bad("kube-pressure", "comp1", "DiskPressure", kube("comp1 conditions", DiskPressure=["True", "disk"])),
    bad("kube-versions", "comp1", "newer", kube("comp1", kube_node(kubelet="1.10.0"))),
    bad("kube-versions", "comp1", "two releases", kube("comp1", kubelet="1.6.4")),
    warn("kube-versions", "comp1", "1.9.9", kube("comp1", kubelet="1.9.9")),
    warn("api-timeouts", "mast1", "60 s", put("mast1 haproxy", server=60)),
    bad("kube-reset", "mast1", "recreated", put("mast1 kubernetes", since=NOW - DAY)),
    warn("pods-pending", "lab/p1", "Unschedulable", pods(phase="Pending", waiting="Unschedulable")),
    warn("pods-crashing", "lab/p1 on comp1", "CrashLoop", pods(waiting="CrashLoopBackOff", restarts=7)),
    warn("pods-images", "lab/p1", "ErrImagePull", pods(phase="Pending", waiting="ErrImagePull")),
    warn("pods-evicted", "lab/p1", "evicted", pods(phase="Failed", reason="Evicted")),
    bad("pods-evicted", "Pod lab/p1", "ImageGCFailed", event("ImageGCFailed", "failed to garbage collect")),
    warn("pods-memory", "lab/p1", "memory limit", pods(killed="OOMKilled", restarts=2)),
    warn("pods-ending", "lab/p1", "300 s ago", pods(late_s=300)),
    warn("pod-mounts", "Pod lab/p1", "timed out", event("FailedMount", "timed out waiting for volumes")),
    warn("pod-signals", "lab/p1 on comp1", "no SIGTERM", put("comp1 containers", deaf=[DEAF])),
    bad("calico-addresses", "cluster", "no pod gets", full_pool(65536, 1024)),
    warn("calico-addresses", "cluster", "63000 of 65536", full_pool(63000, 1000)),
    bad("calico-addresses", "cluster", "no pod gets", with_more(full_pool(65536, 1024), 64)),
    warn("calico-addresses", "cluster", "60 of 64", with_more(full_pool(65536, 1024), 60)),
    warn("calico-addresses", "cluster", "no block of their own", SMALL_POOL),
    bad("calico-addresses", "cluster", "there is no pool", put("mast1 calico_pool", pools={}, blocks={})),
    warn("calico-leaks", "cluster", "300 addresses taken, by 9 pods", LEAKED),
    bad("calico-pool", "cluster", "10.244.0.0/16", SMALL_POOL),
    bad(
        "calico-pool",
        "cluster",
        "no pool is 10.245.0.0/16",
        lambda data: data["site"].update(more_pods=["10.245.0.0/16"]),
    ),
    bad("calico-tunnels", "comp2", "10.244.3.1, outside", tunnels(comp1="10.250.0.2", comp2="10.244.3.1")),
    bad("calico-tunnels", "comp1", "no address", tunnels(comp1="", comp2="10.250.0.2")),
    bad("calico-tunnels", "cluster", "no pool is 10.250.0.0/30", tunnels(comp1="10.250.0.2", unwritten=True)),
    bad("calico-ready", "comp1", NO_BGP, put("comp1 calico", ready=False, said=f"not ready: {NO_BGP}")),
    bad("cni-plugins", "comp1", "loopback", put("comp1 cni", there=["calico", "calico-ipam", "portmap"])),
    bad("cni-plugins", "comp1", "/opt/cni/bin is missing", put("comp1 cni", folder=False)),
    bad("cni-plugins", "comp1", "net.d is empty", put("comp1 cni", configurations=[], named=[])),
    bad("xtables-lock", "comp1", "is a folder", put("comp1 cni", lock_is_folder=True)),
    bad("dns", "comp2", "10.96.0.10", put("comp2 dns", {"10.96.0.10": "timed out"})),
    bad("gpu-uvm", "comp2", "nvidia-uvm is missing", put("comp2 gpu", uvm=False)),
    bad("gpu-devices", "comp2", "sees 1 GPU,", put("comp2 gpu", seen=GPU_ROW)),
    bad("gpu-devices", "comp2", "does not answer", put("comp2 gpu", said="NVML: version mismatch")),
    warn("gpu-memory", "comp2", "9000 of 16384", held_memory),
    warn("gpu-allocatable", "comp2", "0 of 4", kube("comp2", gpus=0)),
    warn("prometheus-targets", "comp1", "node of stor1", put("comp1 prometheus", down=[DOWN])),
    bad("alerts", "stor1", "HostDown", put("comp1 prometheus", firing=[FIRING])),
    warn("prometheus-storage", "comp1", "wal_corruptions_total is 2", put("comp1 prometheus", own=WAL)),
    bad("prometheus-replicas", "comp2", "only 1 of 2", lose("comp2 prometheus")),
    bad("certificates", "mast1", "ended", certificate(-9, -1)),
    bad("certificates", "mast1", "ends in 5.0 days", certificate(-360, 5)),
    warn("certificates", "mast1", "ends in 80.0 days", certificate(-285, 80)),
    warn(
        "certificates",
        "mast1",
        "no certificate",
        put("mast1 certificates", {"/etc/a.crt": "no certificate: x"}),
    ),
    warn("known-holes", "comp1", OPEN, put("comp1 defences commits", kubelet="0123abc")),
    bad("known-holes", "mast1", NOT_SET, lose("mast1 defences flags kube-apiserver anonymous-auth")),
    bad("known-holes", "comp1", "AVADM-LOCALNET`: CVE-2020-8558", put("comp1 defences", rules=[LOCALNET])),
    bad("known-holes", "comp2", OLDER, put("comp2 defences", packages=OLD_RUNC)),
    Case(
        "known-holes", "comp1", "kubelet cannot be looked at", lose("comp1 defences flags kubelet"), "unknown"
    ),
    *(Case(row["id"], "comp1", "the last: a line", logged(row["id"]), row["status"]) for row in patterns()),
)
