"""What the doctor asks about known holes: which build of Kubernetes runs, with which flags, and packages' versions."""

from __future__ import absolute_import

import json
import os

from .system import call, must, slurp

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
