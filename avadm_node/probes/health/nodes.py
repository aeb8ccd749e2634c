"""What the doctor asks of the network of pods, of containers, and of known holes."""

from __future__ import absolute_import

import glob
import json
import os
import re
import time

from .signals import takes_term
from .system import LONG_LINE, call, must, slurp


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
    """Whether felix and bird of this node are ready, in the words of Calico's own probe.

    Calico waits two seconds for an answer of bird: on a busy node one that comes late is waited for again.
    """
    argv = ["docker", "exec", "calico-node", "calico-node", "-felix-ready", "-bird-ready"]
    for pause in (1, 3, 0):
        code, out, err = call(argv, 25)
        if code == 0 or "i/o timeout" not in out + err:
            break
        time.sleep(pause)
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


SERVERS = ("kube-apiserver", "kube-controller-manager", "kube-scheduler", "kubelet", "kube-proxy")


def defences(params):
    """Server to its build and flags, as it runs; packages with their versions; rules of iptables that are not there."""
    commits, flags, asked = {}, {}, {}
    for name in SERVERS:
        # Of systemd, and not of all processes: a pod's may call itself as it likes, and what follows runs it as root.
        pid = must(["systemctl", "show", "--property=MainPID", name]).strip().partition("=")[2]
        words = (slurp("/proc/%s/cmdline" % pid) or "").split("\0") if pid not in ("", "0") else []
        if len(words) < 2 or os.path.basename(words[0]) != "hyperkube":
            continue
        flags[name] = dict(w.lstrip("-").partition("=")[::2] for w in words[2:] if w.startswith("--"))
        # The program as it runs: the file may be another one by now.
        program = "/proc/%s/exe" % pid
        try:
            inode = os.stat(program).st_ino
        except OSError:
            continue  # it has ended meanwhile
        if inode not in asked:
            asked[inode] = commit(program)
        commits[name] = asked[inode]
    least, wanted = params.get("packages", {}), params.get("rules", {})
    return {"commits": commits, "flags": flags, "packages": packages(least), "rules": lacking(wanted)}


def commit(program):
    """Return what a hyperkube says of the source that it is made of."""
    # It goes by its name, which /proc does not keep.
    done = must(["bash", "-c", 'exec -a hyperkube "$0" kubectl version --client -o json', program])
    return json.loads(done)["clientVersion"]["gitCommit"]


def lacking(wanted):
    """Return the rules that iptables does not have."""
    found = []
    for table in sorted(wanted):
        there = must(["iptables", "-w", "5", "-t", table, "-S"]).splitlines()
        found += [rule for rule in wanted[table] if rule not in there]
    return found


def packages(least):
    """Return package to its version and whether that is at least the wanted one; those that are not installed are left out."""
    found = {}
    for name in sorted(least):
        code, out, _ = call(["dpkg-query", "-W", "-f", "${db:Status-Abbrev}${Version}", name])
        if code != 0 or not out.startswith("ii"):
            continue
        version = out[3:].strip()
        code, _, _ = call(["dpkg", "--compare-versions", version, "ge", least[name]])
        found[name] = [version, code == 0]
    return found
