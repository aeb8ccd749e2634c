"""A snapshot of a site in which nothing is wrong, as plain data: tests change it."""

import copy

from avadm.checks.evidence import Snapshot
from avadm.components.masters import checks_admission as asked
from avadm.doctor.parts import QUESTIONS
from tests.unit.components import snapshots
from tests.unit.doctor.healthy_data import GIVEN, data_parts

NOW = 1_800_000_000.0
DAY = 86400
_NODES = {
    "stor1": ("10.0.0.11", ["mon", "mgr", "osd", "mds"], 2, 0),
    "stor2": ("10.0.0.12", ["mon", "mgr", "osd", "mds"], 2, 0),
    "stor3": ("10.0.0.13", ["mon", "mgr", "osd", "mds"], 2, 0),
    "mast1": ("10.0.0.21", ["etcd", "master"], 0, 0),
    "mast2": ("10.0.0.22", ["etcd", "master"], 0, 0),
    "mast3": ("10.0.0.23", ["etcd", "master"], 0, 0),
    "comp1": ("10.0.0.31", ["client", "prometheus", "worker", "dns", "ingress", "registry"], 0, 0),
    "comp2": ("10.0.0.32", ["client", "prometheus", "worker", "gpu"], 0, 4),
}
_KNOWN = {duty for _, roles, _, _ in _NODES.values() for duty in roles} | {
    d for own in GIVEN.values() for d in own
}
EVERYWHERE = ["log-shipper", "packet-filter-named", *sorted(set(snapshots.HEALTHY) - _KNOWN)]
"""Duties of all nodes; a component's that no node has above is one of them."""
NODES = {n: (a, [*r, *GIVEN.get(n, ()), *EVERYWHERE], d, g) for n, (a, r, d, g) in _NODES.items()}
CEPH = "16.2.15"
RULES = "5a1e"
"""Digest of the packet filter, on every node."""
LIMITS = {"osd_max_backfills": "1", "osd_recovery_max_active": "2", "osd_recovery_sleep": "0.100000"}
"""Limits in force of an OSD by day, as a daemon prints them."""
BACKFILL = {
    "limits": {"max_backfills": 1, "recovery_max_active": 2, "recovery_sleep_s": 0.1},
    "hours": "22:00-06:00",
    "limits_in_hours": {"max_backfills": 4, "recovery_max_active": 2},
    "mclock": False,
}
LISTENS = [[22, 22], [6800, 7300], [9100, 9100]]


def unit(active="active", sub="running", **more):
    base = {"active": active, "sub": sub, "enabled": True, "type": "simple", "condition": True}
    return {**base, "result": "success", "restarts": 0, **more}


def mount(point="/", free=60.0, **more):
    base = {"point": point, "device": "/dev/sda1", "read_only": False, "total_mib": 100000}
    return {**base, "free_percent": free, "free_mib": int(free * 1000), "inodes_percent": 90.0, **more}


def kube_node(ready="True", **more):
    conditions = {"Ready": [ready, "kubelet is posting ready status"], "DiskPressure": ["False", ""]}
    return {"conditions": conditions, "kubelet": "1.9.11", "cordoned": False, "gpus": 0, **more}


def pod(**more):
    base = {"namespace": "lab", "name": "p1", "node": "comp1", "phase": "Running", "reason": "", "age_s": 900}
    return {**base, "restarts": 0, "waiting": "", "message": "", "killed": "", "late_s": 0, **more}


def etcd():
    metrics = {"etcd_server_has_leader": 1.0, "etcd_mvcc_db_total_size_in_bytes": 50 * 2.0**20}
    metrics |= {"etcd_server_quota_backend_bytes": 8 * 2.0**30, "process_start_time_seconds": NOW - 9 * DAY}
    members = {n: [f"https://{a}:2379"] for n, (a, roles, _, _) in NODES.items() if "etcd" in roles}
    held = [NOW - 5 * DAY, NOW - 1200]
    disk = {"sync_s": 0.004, "syncs": 20, "snapshots": held}
    return {"metrics": metrics, "members": members, "alarms": [], **disk}


def ceph():
    names = ["stor1", "stor2", "stor3"]
    osds = {str(i): {"up": 1, "in": 1, "address": f"10.0.0.{11 + i // 2}"} for i in range(6)}
    base = {"fsid": "f", "health": "HEALTH_OK", "checks": {}, "quorum": names, "monitors": names, "flags": ""}
    versions = {f"ceph version {CEPH} (x) pacific (stable)": 12}
    return {**base, "osds": osds, "versions": versions, "filesystems": ["cephfs"], "boots": {"1": 1}}


def kubernetes():
    nodes = {n: kube_node() for n, row in NODES.items() if {"master", "worker"} & set(row[1])}
    nodes["comp2"]["gpus"] = 4
    one, two = {"pods": 6, "addressed": 5, "gpus": 0}, {"pods": 4, "addressed": 4, "gpus": 2}
    counts = {"comp1": one, "comp2": two}
    base = {"version": "1.9.11", "since": NOW - 30 * DAY, "nodes": nodes, "counts": counts}
    return {**base, "pods": [], "troubled": 0, "events": {}}


def admission():
    """Return what the API is reported to ask, as the role kube_admission registers it (test_doctor_admission.py)."""
    hooks, core = {}, {"apiGroups": [""], "apiVersions": ["v1"]}
    ingresses = {"apiGroups": ["extensions"], "apiVersions": ["v1beta1"]}
    for name, (policy, selector, pairs, _) in asked.WEBHOOKS.items():
        of = {kind: ingresses if kind == "ingresses" else core for _, kind in pairs}
        rules = [{**of[kind], "operations": [verb], "resources": [kind]} for verb, kind in pairs]
        hooks[name] = {"policy": policy, "url": asked.URL, "selector": selector, "rules": rules}
    policy = {"allowPrivilegeEscalation": False, "volumes": sorted(asked.HARMLESS)}
    return {
        "webhooks": hooks,
        "policies": {asked.POLICY: policy},
        "passed": ["kube-system"],
        "shared_hosts": {},
    }


def defences():
    """Return every server of Kubernetes as it should be, also where only some run."""
    plain = {name: {} for name in ("kube-controller-manager", "kube-scheduler", "kube-proxy")}
    api = {"anonymous-auth": "false", "insecure-port": "0", "profiling": "false"}
    api["admission-control"] = ",".join(("NamespaceLifecycle", *asked.PLUGINS))
    kubelet = {"anonymous-auth": "false", "authorization-mode": "Webhook", "read-only-port": "0"}
    flags = {**plain, "kube-apiserver": api, "kubelet": kubelet}
    built = {"commits": dict.fromkeys(flags, "avadm.4"), "packages": {"runc": ["1.1.15", True]}}
    return {**built, "flags": flags, "rules": []}


def everywhere(name):
    """Return the parts that every node tells."""
    own = [NODES[name][0], "127.0.0.1"]
    own += ["10.0.0.250"] if name == "mast2" else []
    own += ["10.0.0.251"] if name == "comp1" else []
    inotify = {"refused": "", "used": 12, "instances": 128, "watches": 8192}
    return {
        "units": {"prometheus-node-exporter.service": unit(), "kubelet.service": unit()},
        "mounts": [mount(), mount("/run", 99.0)],
        "memory": {"total": 64000, "available": 40000, "swap": 0, "swap_free": 0},
        "addresses": own,
        "kernel": {"release": "6.1", "inotify": inotify, "files": {"open": 3000, "most": 900000}},
        "private_mounts": [],
        "certificates": {"/etc/kubernetes/pki/ca.crt": [NOW - 30 * DAY, NOW + 335 * DAY]},
        "journal": {},
        "ports": [],
        "packet_filter": {
            "kept": RULES,
            "loaded": True,
            "same": True,
            "tried": False,
            "dropped": 9,
            "lately": 1,
            # Noise: no one of the site, and no port of it.
            "refused": [["192.0.2.9", "tcp", 445, 60]],
        },
    }


def programs(name):
    return {"installed": CEPH, "running": {name: CEPH}, "deaf": [], "replaced": []}


def by_role(name):
    """Return role to the parts that its nodes tell beside."""
    plugins = ["calico", "calico-ipam", "portmap"]
    cni = {
        "folder": True,
        "there": [*plugins, "loopback"],
        "named": plugins,
        "broken": "",
        "lock_is_folder": False,
    }
    kube = {
        "calico": {"ready": True, "said": ""},
        "cni": {**cni, "configurations": ["/etc/cni/net.d/10-calico.conflist"]},
        "containers": {"count": 2, "deaf": []},
        "defences": defences(),
    }
    mds = {"state": "up:standby", "clients": {}, "operations": 0, "oldest_s": 0.0}
    if name == "stor1":
        mds |= {"state": "up:active", "clients": {"comp1": 1, "comp2": 2}}
    watchdog = {"name": "Watchdog", "severity": "none", "node": "", "summary": "", "remedy": ""}
    own = {"prometheus_tsdb_wal_corruptions_total": 0.0, "prometheus_config_last_reload_successful": 1.0}
    seen = [{"index": i, "used_mib": 3, "total_mib": 16384} for i in range(4)]
    return {
        "mon": {"ceph_programs": programs(f"osd.{name}"), "ceph": ceph()},
        "mds": {"mds": {f"mds.{name}": mds}},
        "osd-limited": {"osd_limits": {"minute": 720, "osds": {f"osd.{name[-1]}": dict(LIMITS)}}},
        "client": {
            "ceph_programs": programs("client.admin"),
            "cephfs": {"kind": "fuse.ceph-fuse", "answers": True, "said": "", "seconds": 0.02},
        },
        "etcd": {"etcd": etcd(), "etcd_peers": {"authorities": 1}},
        "master": {
            "servers": dict.fromkeys(("kube-apiserver", "kube-controller-manager", "kube-scheduler"), "ok"),
            "haproxy": {"client": 14400, "server": 14400},
            "kubernetes": kubernetes(),
            "admission": admission(),
            "calico_pool": {
                "pools": {"10.244.0.0/16": [65536, 12]},
                "blocks": {"10.244.1.0/26": [64, 7]},
                "tunnels": {"comp1": ""},
            },
            **kube,
        },
        "worker": {"dns": {"10.96.0.10": "ok"}, **kube},
        "dns": {"dns": {"10.0.0.31": "ok", "10.96.0.10": "ok"}},
        "gpu": {"gpu": {"uvm": True, "devices": 4, "seen": seen, "said": ""}},
        "prometheus": {"prometheus": {"targets": 60, "down": [], "firing": [watchdog], "own": own}},
    }


def data():
    """Return the snapshot's data; each call a new one."""
    nodes, keys = {}, ("name", "address", "roles", "devices", "gpus")
    for name, (_, roles, _, _) in NODES.items():
        parts = everywhere(name)
        for role in roles:
            parts |= by_role(name).get(role, {}) | snapshots.HEALTHY.get(role, {})
        parts |= data_parts(name)
        clock = {"offset_ms": 3.0, "error_ms": 8.0}
        nodes[name] = {"silent": "", "clock": clock, "parts": parts, "errors": {}}
    for part in ("kubernetes", "admission", "calico_pool"):
        del nodes["mast3"]["parts"][part]  # two witnesses are enough
    del nodes["stor3"]["parts"]["ceph"]
    site = {
        "name": "t",
        "nodes": [
            {**dict(zip(keys, (name, *row), strict=True)), "listens": LISTENS, "rules": RULES}
            for name, row in NODES.items()
        ],
        "versions": {"ceph": "16.2.", "kube-apiserver": "1.9.11"},
        "addresses": {"10.0.0.250": "master", "10.0.0.251": "ingress"},
        "pods": "10.244.0.0/16",
        "mount": "/mnt/cephfs",
        "backfill": BACKFILL,
    }
    asked = [q.name for q in QUESTIONS]
    ledger = {"base": "done", "ceph": "done"}
    on = {
        "name": "comp2",
        "nodes": ["comp2"],
        "reason": "r",
        "user": "ops@desk",
        "since": NOW - 60,
        "until": NOW + 60,
    }
    operations = {"operations": [], "maintenances": [on], "leftovers": []}
    given = {"site": site, "asked": asked, "nodes": nodes, "ledger": ledger, "operations": operations}
    return copy.deepcopy({"taken": NOW, **given})


def snapshot(changed=None):
    """Return a snapshot of data, the healthy ones where none are given."""
    return Snapshot.model_validate(data() if changed is None else changed)
