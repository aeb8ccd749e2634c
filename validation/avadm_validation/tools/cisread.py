"""What the CIS suite reads on a node, printed as JSON: arguments of processes, owners and modes of files.

Runs on nodes: python 2.7 and 3. Nothing is changed, and no file's content is shown but the names of encryption providers.
usage: python3 - '["/etc/cni/net.d/*", ...]' < cisread.py
"""

from __future__ import print_function

import glob
import grp
import io
import json
import os
import pwd
import re
import stat
import subprocess
import sys

UNITS = ("kube-apiserver", "kube-scheduler", "kube-controller-manager", "kubelet", "kube-proxy", "etcd")
HIDDEN = re.compile("TOKEN|PASSWORD|SECRET")


def words(path):
    """Return the words of a file of /proc that are separated by NUL."""
    try:
        with io.open(path, "rb") as source:
            text = source.read().decode("utf-8", "replace")
    except (IOError, OSError):
        return []
    return [word for word in text.split("\0") if word]


def units():
    """Return each part's systemd unit: its name to pid of its process ("0" for none) and file ("" for none).

    A process of the same name that is not the unit's (a pod's, an editor's) is never taken for it.
    """
    asked = ["systemctl", "show", "-p", "Id", "-p", "MainPID", "-p", "FragmentPath"]
    report = subprocess.Popen(asked + [name + ".service" for name in UNITS], stdout=subprocess.PIPE)
    found = {}
    for block in report.communicate()[0].decode("utf-8").split("\n\n"):
        fields = dict(line.partition("=")[::2] for line in block.splitlines())
        name = fields.get("Id", "").partition(".")[0]
        found[name] = (fields.get("MainPID") or "0", fields.get("FragmentPath", ""))
    return found


def processes(pids, root="/proc"):
    """Return the running parts: name to argv, and of etcd its environment without what is secret."""
    found = {}
    for name, pid in pids.items():
        argv = words("%s/%s/cmdline" % (root, pid)) if pid != "0" else []
        if not argv:
            continue
        found[name] = {"argv": argv[1:]}
        if name == "etcd":
            pairs = [w.partition("=") for w in words("%s/%s/environ" % (root, pid)) if w.startswith("ETCD_")]
            found[name]["environment"] = {k: v for k, _, v in pairs if not HIDDEN.search(k)}
    return found


def named(number, table, field):
    """Return a user's or group's name, its number where it has none."""
    try:
        return getattr(table(number), field)
    except KeyError:
        return str(number)


def entry(path):
    """Return mode and owner of a file; None where it is not there."""
    try:
        found = os.stat(path)
    except OSError:
        return None
    return {
        "mode": "%o" % stat.S_IMODE(found.st_mode),
        "user": named(found.st_uid, pwd.getpwuid, "pw_name"),
        "group": named(found.st_gid, grp.getgrgid, "gr_name"),
    }


def providers(path):
    """Return the encryption providers in their order; none where there are several lists of them; of keys nothing is read."""
    try:
        with io.open(path, encoding="utf-8") as source:
            text = source.read()
    except (IOError, OSError):
        return []
    if len(re.findall(r"^\s*providers\s*:", text, re.MULTILINE)) != 1:
        return []
    return re.findall(r"^\s*-\s*(aescbc|aesgcm|secretbox|identity|kms)\s*:", text, re.MULTILINE)


def main():
    """Print what is read."""
    report = units()
    parts = processes({name: pid for name, (pid, _) in report.items()})
    where = {name: path for name, (_, path) in report.items() if path}
    wanted = set(where.values())
    for pattern in json.loads(sys.argv[1]):
        wanted.update(glob.glob(pattern))
    for part in parts.values():
        values = [w.partition("=")[2] or w for w in part["argv"]] + list(part.get("environment", {}).values())
        wanted.update(v for v in values if v.startswith("/"))
    argv = parts.get("kube-apiserver", {}).get("argv", [])
    config = [w.partition("=")[2] for w in argv if w.startswith("--experimental-encryption-provider-config=")]
    files = {path: entry(path) for path in sorted(wanted)}
    print(
        json.dumps(
            {
                "processes": parts,
                "units": where,
                "files": {path: found for path, found in files.items() if found},
                "encryption": providers(config[-1]) if config else [],
            },
            sort_keys=True,
        )
    )


if __name__ == "__main__":
    main()
