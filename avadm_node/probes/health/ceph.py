"""What the doctor asks of ceph: of each daemon by its socket, of the cluster by one connection."""

from __future__ import absolute_import

import calendar
import glob
import json
import os
import re
import struct
import time

from ... import admin_socket
from ...agents import backfill
from .system import LONG_LINE, Failed, call, must

CEPH = {
    "status": {"prefix": "status"},
    "health": {"prefix": "health", "detail": "detail"},
    "dump": {"prefix": "osd dump"},
    "fs": {"prefix": "fs dump"},
    "versions": {"prefix": "versions"},
}


LOG = {"prefix": "log last", "num": 1000, "level": "info", "channel": "cluster"}


def admin(path, prefix):
    """Return what a ceph daemon says on its admin socket."""
    try:
        return admin_socket.query(path, prefix, 8)
    except (OSError, IOError, ValueError, struct.error) as error:
        raise Failed("%s: %s" % (path, error))


def sockets():
    """Daemon (``osd.3``, ``client.admin``) to its admin socket."""
    found = {}
    for path in sorted(glob.glob("/var/run/ceph/*.asok")):
        found[os.path.basename(path)[: -len(".asok")].partition("-")[2]] = path
    return found


def ceph_programs(_):
    """Version of ceph that is installed, of each daemon and client that runs, programs replaced under their processes."""
    code, out, err = call(["ceph", "--version"])
    match = re.search(r"ceph version (\S+)", out)
    # 127: it is not installed, a client may have ceph-fuse alone.
    if code != 127 and not match:
        raise Failed("ceph --version: exit %d: %s" % (code, (err.strip() or out.strip())[:LONG_LINE]))
    running, deaf, replaced = {}, [], set()
    for name, path in sockets().items():
        try:
            running[name] = admin(path, "version")["version"]
        except (Failed, KeyError):
            deaf.append(name)  # left behind by a daemon that is gone, or one that hangs
    for link in glob.glob("/proc/[0-9]*/exe"):
        try:
            target = os.readlink(link)
        except OSError:
            continue
        name = os.path.basename(target.replace(" (deleted)", ""))
        if target.endswith(" (deleted)") and name.startswith("ceph-"):
            replaced.add(name)
    installed = match.group(1) if match else None
    return {"installed": installed, "running": running, "deaf": deaf, "replaced": sorted(replaced)}


def osd_limits(_):
    """The minute of the day, UTC, and the limits of backfill that each running OSD of the node has in force."""
    found = {}
    for name, path in sockets().items():
        if not name.startswith("osd."):
            continue
        try:
            runs = admin(path, "config show")
        except Failed:
            continue  # named by ceph_programs
        found[name] = dict((option, str(runs[option])) for _, option in backfill.LIMITS if option in runs)
    now = time.gmtime()
    return {"minute": now.tm_hour * 60 + now.tm_min, "osds": found}


def connected():
    """Return a function that asks the cluster, by the library's one connection or by the command."""
    try:
        import rados
    except ImportError:

        def call(command):
            argv = ["ceph", "--connect-timeout", "10"]
            argv += command["prefix"].split() + [
                str(command[k]) for k in ("num", "level", "channel") if k in command
            ]
            argv += ["detail"] if "detail" in command else []
            plain = command["prefix"] == "log last"
            return must(argv if plain else argv + ["--format", "json"], 25)

        return call, lambda: None
    options = {"client_mount_timeout": "10", "rados_mon_op_timeout": "15"}
    cluster = rados.Rados(conffile="/etc/ceph/ceph.conf", name="client.admin", conf=options)
    try:
        cluster.connect()
    except Exception as error:
        raise Failed("no monitor answers: %s" % error)

    def asked(command):
        form = {} if command["prefix"] == "log last" else {"format": "json"}
        code, out, text = cluster.mon_command(json.dumps(dict(command, **form)), b"")
        if code != 0:
            raise Failed("%s: %s" % (command["prefix"], text or os.strerror(abs(code))))
        return out.decode("utf-8", "replace") or text

    return asked, cluster.shutdown


def ceph(_):
    """The cluster: health with details, quorum, OSDs with addresses, file systems, how often each OSD has booted lately."""
    asked, close = connected()
    try:
        report = dict((name, json.loads(asked(command))) for name, command in CEPH.items())
        log = asked(LOG)
    finally:
        close()
    status, dump = report["status"], report["dump"]
    checks = report["health"].get("checks", {})
    quorum = status.get("quorum_names", [])
    monitors = [m["name"] for m in status.get("monmap", {}).get("mons", [])]
    return {
        "fsid": status.get("fsid"),
        "health": report["health"].get("status", "?"),
        "checks": dict(
            (
                code,
                {
                    "severity": c.get("severity", ""),
                    "text": c.get("summary", {}).get("message", ""),
                    "detail": [d.get("message", "")[:LONG_LINE] for d in c.get("detail", [])][:20],
                    "muted": bool(c.get("muted")),
                },
            )
            for code, c in checks.items()
        ),
        "quorum": quorum,
        "monitors": monitors or status.get("monmap", {}).get("num_mons"),
        "osds": dict(
            (str(o["osd"]), {"up": o["up"], "in": o["in"], "address": host(o)}) for o in dump["osds"]
        ),
        "flags": dump.get("flags", ""),
        "versions": report["versions"].get("overall", {}),
        "filesystems": [f["mdsmap"]["fs_name"] for f in report["fs"].get("filesystems", [])],
        "boots": boots(log, time.time()),
    }


def host(osd):
    """Return the address of an OSD's machine, of either form in which releases write it."""
    return str(osd.get("public_addr", "")).strip("[]").partition(":")[0].replace("v2", "").strip(":")


def boots(log, now, window=1800):
    """Return OSD to how often it has come up within the last half hour, by the cluster's log."""
    found = {}
    for line in log.split("\n"):
        stamp = re.match(r"(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d:\d\d)(?:\.\d+)?([+-]\d{4})?", line)
        event = re.search(r"\] osd\.(\d+) (?:\S+ )?boot\b", line)
        if not stamp or not event:
            continue
        at = time.strptime("%s %s" % stamp.group(1, 2), "%Y-%m-%d %H:%M:%S")
        zone = stamp.group(3)
        if zone:
            sign = -1 if zone[0] == "-" else 1
            second = calendar.timegm(at) - sign * (int(zone[1:3]) * 3600 + int(zone[3:]) * 60)
        else:
            second = time.mktime(at)  # mimic and older write the machine's own time
        if now - second <= window:
            found[event.group(1)] = found.get(event.group(1), 0) + 1
    return found
