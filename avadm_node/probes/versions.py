"""The versions of what runs and of what is installed on a node."""

from __future__ import absolute_import

import glob
import json
import os
import re
import struct
import subprocess
import time

from .. import admin_socket
from ..opener import opener_for

DAEMONS = (
    "ceph-",
    "radosgw",
    "dockerd",
    "prometheus",
    "alertmanager",
    "node_exporter",
    "blackbox_exporter",
    "grafana",
)


def call(*argv):
    """Return a program's output, or None where it is not there or fails.

    Some programs, Prometheus' of before 2021 for one, write their version to stderr.
    """
    try:
        process = subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        out, errors = (text.decode("utf-8", "replace") for text in process.communicate())
        return (out or errors) if process.returncode == 0 else None
    except OSError:
        return None


def daemons():
    """Daemon name (``osd.3``, ``client.admin.123``) to its running version."""
    found = {}
    for path in glob.glob("/var/run/ceph/*.asok"):
        name = os.path.basename(path)[: -len(".asok")].partition("-")[2]
        try:
            version = admin_socket.query(path, "version", 5)["version"]
        except (OSError, IOError, ValueError, KeyError, struct.error):
            continue  # left behind by a daemon that is gone
        if version:
            found[name] = version
    return found


def services(addresses, ports, guarded):
    """Service name to the version that its own metrics tell, for those that answer; guarded ones are shown a certificate."""
    found = {}
    for name, port in ports.items():
        for address in addresses:
            try:
                url = "%s://%s:%d/metrics" % ("https" if name in guarded else "http", address, port)
                text = opener_for(guarded.get(name)).open(url, timeout=5).read().decode("utf-8")
            except (OSError, IOError, ValueError):
                continue
            match = re.search(r'^%s_build_info\{[^}]*\bversion="([^"]*)"' % name, text, re.M)
            if match:
                found[name] = match.group(1)
                break
    return found


def programs(commands):
    """Component to the version that a program tells, for those that are there and answer."""
    found = {}
    for name, argv in commands.items():
        # A number with dots, or a snapshot's date with its commit.
        match = re.search(r'\d+(\.\d+)+[^\s",]*|\d{8}-[0-9a-f]{7,}', call(*argv) or "")
        if match:
            found[name] = match.group(0)
    return found


def stale():
    """Programs of ours whose file on disk was replaced after they were started."""
    found = set()
    for link in glob.glob("/proc/[0-9]*/exe"):
        try:
            target = os.readlink(link)
        except OSError:
            continue
        name = os.path.basename(target.replace(" (deleted)", ""))
        if target.endswith(" (deleted)") and name.startswith(DAEMONS):
            found.add(name)
    return sorted(found)


def patiently(ask, wanted, until):
    """Return what ``ask`` finds of what is wanted, asking for the rest again until that time."""
    found = ask(wanted)
    while len(found) < len(wanted) and time.time() < until:
        time.sleep(1)
        found.update(ask(dict((name, wanted[name]) for name in wanted if name not in found)))
    return found


def ask(params):
    """Return what runs and what is installed.

    Args:
        params: addresses, ports, guarded, commands, ceph, cluster, patience (seconds for what was just started).
    """
    until = time.time() + params["patience"]
    installed = re.search(r"ceph version (\S+)", params["ceph"] and call("ceph", "--version") or "")
    running = patiently(
        lambda ports: services(params["addresses"], ports, params.get("guarded", {})), params["ports"], until
    )
    running.update(patiently(programs, params["commands"], until))
    cluster = None
    if params["cluster"]:
        text = call("timeout", "20", "ceph", "--connect-timeout", "10", "versions", "--format", "json")
        cluster = json.loads(text) if text else None
    return {
        "ceph_installed": installed.group(1) if installed else None,
        "ceph_daemons": daemons() if params["ceph"] else {},
        "ceph_versions": cluster,
        "services": running,
        "stale": stale(),
        "kernel": os.uname()[2],
    }
