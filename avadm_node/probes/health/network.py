"""What the doctor asks of the network of pods, of containers, GPUs and Prometheus."""

from __future__ import absolute_import

import glob
import json
import os
import re
import socket
import struct

from .kube import numbers
from .signals import takes_term
from .system import LONG_LINE, call, fetch, must, slurp


def calico_pool(_):
    """Pools and blocks of addresses, network to [addresses, in use]; address of each node's tunnel, "" for none."""
    out = must(["/usr/local/sbin/avadm-calicoctl", "ipam", "show", "--show-blocks"], 30)
    row = r"^\|\s*(IP Pool|Block)?\s*\|\s*(\S+/\d+)\s*\|\s*(\S+)\s*\|\s*(\S+) \("
    found = {"pools": {}, "blocks": {}}
    for kind, network, total, used in re.findall(row, out, re.M):
        found["pools" if kind == "IP Pool" else "blocks"][network] = [int(float(total)), int(float(used))]
    nodes = json.loads(must(["/usr/local/sbin/avadm-calicoctl", "get", "nodes", "-o", "json"], 30))["items"]
    found["tunnels"] = {
        node["metadata"]["name"]: (node["spec"].get("bgp") or {}).get("ipv4IPIPTunnelAddr") or ""
        for node in nodes
    }
    return found


def calico(_):
    """Whether felix and bird of this node are ready, in the words of Calico's own probe."""
    argv = ["docker", "exec", "calico-node", "calico-node", "-felix-ready", "-bird-ready"]
    code, out, err = call(argv, 25)
    return {"ready": code == 0, "said": (out + err).strip()[-LONG_LINE:]}


def cni(_):
    """Plug-ins of the network of pods that are there and that the configuration names; whether iptables' lock is a file."""
    folder, files = "/opt/cni/bin", sorted(glob.glob("/etc/cni/net.d/*.conf*"))
    there = (
        [n for n in sorted(os.listdir(folder)) if os.access(os.path.join(folder, n), os.X_OK)]
        if os.path.isdir(folder)
        else []
    )
    named, broken = set(), ""
    for path in files[:1]:  # kubelet reads the first alone
        try:
            data = json.loads(slurp(path) or "")
            for plugin in data.get("plugins", [data]):
                named.add(plugin["type"])
                named.update([plugin["ipam"]["type"]] if "ipam" in plugin else [])
        except (ValueError, KeyError, TypeError) as error:
            broken = "%s: %s" % (path, error)
    lock = "/run/xtables.lock"
    return {
        "folder": os.path.isdir(folder),
        "there": there,
        "configurations": files,
        "named": sorted(named),
        "broken": broken,
        "lock_is_folder": os.path.isdir(lock),
    }


def containers(_):
    """Pods' containers whose first process takes no SIGTERM: as process 1 it is not stopped by it (K9)."""
    listed = must(
        ["docker", "ps", "-q", "--no-trunc", "--filter=label=io.kubernetes.docker.type=container"]
    ).split()
    found = {"count": len(listed), "deaf": []}
    if not listed:
        return found
    label = '{{index .Config.Labels "io.kubernetes.pod.%s"}}'
    shape = "{{.State.Pid}} %s/%s" % (label % "namespace", label % "name")
    for line in call(["docker", "inspect", "-f", shape] + listed)[1].splitlines():
        pid, _, name = line.partition(" ")
        fields = dict(re.findall(r"^(\w+):\s+(.*)$", slurp("/proc/%s/status" % pid) or "", re.M))
        if not fields or fields.get("NSpid", "1").split()[-1] != "1":
            continue  # gone meanwhile, or not the first process of its container
        if takes_term(pid) is False:
            command = (slurp("/proc/%s/cmdline" % pid) or "").replace("\0", " ").strip()
            found["deaf"].append({"pod": name, "command": command[:100] or fields.get("Name", "")})
    return found


def dns(params):
    """Address of a DNS server to what it answers for the API's own name: addresses, or what went wrong."""
    question = b"".join(
        struct.pack("B", len(p)) + p for p in (b"kubernetes", b"default", b"svc", b"cluster", b"local")
    )
    packet = struct.pack("!HHHHHH", 4711, 256, 1, 0, 0, 0) + question + b"\0" + struct.pack("!HH", 1, 1)
    found = {}
    for address in params["dns"]:
        for _ in range(2):
            link = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
            link.settimeout(5)
            try:
                link.sendto(packet, (address, 53))
                answer = bytearray(link.recv(4096))
                code, count = answer[3] & 15, answer[6] * 256 + answer[7]
                found[address] = "ok" if code == 0 and count else "code %d, %d answers" % (code, count)
                break
            except (OSError, IOError) as error:
                found[address] = str(error)
            finally:
                link.close()
    return found


def gpu(_):
    """Devices and memory of the GPUs, and whether unified memory's device is there."""
    rows = []
    code, out, err = call(
        ["nvidia-smi", "--query-gpu=index,memory.used,memory.total", "--format=csv,noheader,nounits"]
    )
    for line in out.splitlines() if code == 0 else []:
        index, used, total = [(re.findall(r"\d+", word) or ["0"])[0] for word in line.split(",")]
        rows.append({"index": int(index), "used_mib": int(used), "total_mib": int(total)})
    return {
        "uvm": os.path.exists("/dev/nvidia-uvm"),
        "devices": len(glob.glob("/dev/nvidia[0-9]*")),
        "seen": rows,
        "said": "" if code == 0 else (err.strip() or out.strip() or "exit %d" % code)[:LONG_LINE],
    }


def prometheus(params):
    """Targets that are down, alerts that fire, and what Prometheus says of its own database."""
    tls = params["metrics_tls"]
    base = "%s://%s:9090" % ("https" if tls else "http", params["address"])
    targets = json.loads(fetch(base + "/api/v1/targets?state=active", 15, tls))["data"]["activeTargets"]
    alerts = json.loads(fetch(base + "/api/v1/alerts", 15, tls))["data"]["alerts"]
    names = ("prometheus_tsdb_wal_corruptions_total", "prometheus_tsdb_compactions_failed_total")
    names += ("prometheus_config_last_reload_successful", "prometheus_tsdb_wal_truncations_failed_total")
    down = [t for t in targets if t["health"] == "down"]
    return {
        "targets": len(targets),
        "down": [
            [t["labels"].get("job", ""), t["labels"].get("instance", ""), t.get("lastError", "")[:LONG_LINE]]
            for t in down
        ],
        "firing": [
            {
                "name": a["labels"].get("alertname", ""),
                "severity": a["labels"].get("severity", ""),
                "node": a["labels"].get("node", ""),
                "summary": a["annotations"].get("summary", "")[:LONG_LINE],
                "remedy": a["annotations"].get("remedy", "")[:600],
            }
            for a in alerts
            if a["state"] == "firing"
        ],
        "own": numbers(fetch(base + "/metrics", 15, tls), names),
    }


def packet_filter(_):
    """What the packet filter's own program says of it."""
    program = "/usr/local/sbin/avadm-packet-filter"
    return json.loads(must([program, "status"])) if os.path.exists(program) else {"loaded": False, "kept": ""}
