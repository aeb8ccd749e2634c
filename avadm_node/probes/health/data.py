"""What the doctor asks of the object store, the cache and the logs: each part on its own node, and nothing that wants a key."""

from __future__ import absolute_import

import json
import os
import re
import socket
import threading
import time

from .system import LONG_LINE, Failed, call, fetch, must, slurp

TEXTFILES = "/var/lib/prometheus/node-exporter"
MASTER = ("Cluster_Workers", "Cluster_LostWorkers", "Master_RoleId")
WORKER = ("Worker_CapacityTotal", "Worker_CapacityUsed")
USAGE = ("avadm_objects_user_bytes", "avadm_objects_user_objects")
USAGE += ("avadm_objects_user_quota_bytes", "avadm_objects_user_quota_objects")
SHIPPER = ("avadm_log_shipper_up", "avadm_log_shipper_waiting", "avadm_log_shipper_dropped_total")
WATCH = ("avadm_log_store_up", "avadm_log_store_read_only")


def series(text, names):
    """Metric to its first label's value ("" without labels) to number, of the metrics with these names."""
    found = {}
    for name, labels, value in re.findall(r"^(\w+)(?:\{([^\n]*)\})? (\S+)$", text, re.M):
        if name in names:
            label = re.match(r'\w+="([^"]*)"', labels)
            found.setdefault(name, {})[label.group(1) if label else ""] = float(value)
    return found


def answer(address, port, path, authority, seconds=15):
    """HTTP status over TLS and what curl says where there is none (status 0); no key is shown to anybody."""
    argv = ["curl", "--silent", "--show-error", "--noproxy", "*", "--max-time", str(seconds)]
    argv += ["--cacert", authority, "--output", "/dev/null", "--write-out", "%{http_code} %{time_total}"]
    url = "https://%s:%d%s" % (address, port, path)
    code, out, err = call(argv + [url], seconds + 5)
    if code in (126, 127):
        raise Failed("curl cannot be run: %s" % err.strip()[:LONG_LINE])
    status, _, took = out.strip().partition(" ")
    return {
        "url": url,
        "status": int(status) if code == 0 and status.isdigit() else 0,
        "seconds": float(took or 0) if code == 0 else 0.0,
        # Where a certificate is refused, advice follows.
        "said": (err.strip().splitlines() or ["curl ended with %d" % code])[0][:LONG_LINE]
        if code != 0
        else "",
    }


def state(unit):
    """A unit's state, and for how many seconds it has been active; None where it is not."""
    out = must(["systemctl", "show", unit, "-p", "ActiveState,SubState,Result,ActiveEnterTimestampMonotonic"])
    fields = dict(line.split("=", 1) for line in out.split("\n") if "=" in line)
    since = int(fields.get("ActiveEnterTimestampMonotonic") or 0)
    uptime = float((slurp("/proc/uptime") or "0").split()[0])
    return {
        "active": fields.get("ActiveState", ""),
        "sub": fields.get("SubState", ""),
        "result": fields.get("Result", ""),
        "active_s": round(uptime - since / 1e6) if fields.get("ActiveState") == "active" else None,
    }


def figures(name, timer, names):
    """What a timer's program has left for the node exporter, how long ago, and for how long its timer has run."""
    path = os.path.join(TEXTFILES, name)
    text = slurp(path)
    return {
        "values": series(text or "", names),
        "age_s": None if text is None else max(0, round(time.time() - os.stat(path).st_mtime)),
        "timer_s": state(timer)["active_s"],
    }


def objects(params):
    """Whether this node's gateway and the virtual address answer, and what users have by the last count."""
    report, authority = params["objects"], "/etc/avadm/objects/ca.crt"
    return {
        "gateway": answer(params["address"], report["port"], "/", authority),
        "address": answer(report["vip"], report["port"], "/", authority) if report["vip"] else None,
        "usage": figures("avadm-objects-usage.prom", "avadm-objects-usage.timer", USAGE),
    }


def database(params):
    """What this node's Patroni says of all members."""
    url = "https://%s:%d/cluster" % (params["address"], params["database"]["port"])
    argv = ["curl", "--silent", "--show-error", "--fail", "--noproxy", "*", "--max-time", "15"]
    code, out, err = call(argv + ["--cacert", "/etc/patroni/ca.crt", url], 20)
    if code != 0:
        reply = (err.strip().splitlines() or ["curl ended with %d" % code])[0]
        return {"said": "%s: %s" % (url, reply[:LONG_LINE]), "members": {}}
    members = json.loads(out).get("members", [])
    return {"said": "", "members": dict((m["name"], [m.get("role"), m.get("state")]) for m in members)}


def database_backup(params):
    """What this node told last of PostgreSQL's backups: its metrics, and what the last verification found to be wrong."""
    values, wrong = {}, []
    try:
        with open(params["backup"]["metrics"] + "/avadm-database.prom") as source:
            lines = [line.split() for line in source if line.startswith("avadm_database_")]
        values = dict((words[0][len("avadm_database_") :], float(words[1])) for words in lines)
        with open(params["backup"]["state"] + "/verify.json") as source:
            wrong = json.load(source).get("wrong", [])
    except (EnvironmentError, ValueError, IndexError):
        pass
    return {"values": values, "wrong": [str(line)[:LONG_LINE] for line in wrong]}


def page(address, port, names):
    """Sums of metrics by name of one of Alluxio's pages; why it does not answer."""
    try:
        text = fetch("http://%s:%d/metrics/prometheus/" % (address, port), 15)
    except Failed as error:
        return {"said": error.args[0][:LONG_LINE], "values": {}}
    values = series(text, names)
    return {"said": "", "values": dict((name, sum(values[name].values())) for name in values)}


def cache_master(params):
    """What this master says of itself and of the workers."""
    return page(params["address"], params["cache"]["master_port"], MASTER)


def cache_worker(params):
    """What this worker says of its room."""
    return page(params["address"], params["cache"]["worker_port"], WORKER)


def within(argv, seconds):
    """As call; a program that cannot even be killed, since it waits in the kernel, is left behind."""
    ended = []
    thread = threading.Thread(target=lambda: ended.append(call(argv, seconds)))
    thread.daemon = True
    thread.start()
    thread.join(seconds + 3)
    return ended[0] if ended else (137, "", "")


def cache_mount(params):
    """What is mounted where the cache should be, whether it answers, and which of the site's under stores it lacks."""
    point = params["cache"]["mount"]
    rows = [line.split(" ") for line in (slurp("/proc/self/mounts") or "").split("\n") if line]
    kinds = [row[2] for row in rows if row[1].replace("\\040", " ") == point]
    found = {"point": point, "kind": kinds[-1] if kinds else "", "answers": False, "said": "", "lacks": None}
    if not kinds:
        return found
    code, _, err = within(["stat", "--file-system", point], 10)
    found["answers"] = code == 0
    if code == 0:
        # Names alone, so that no under store is asked for what is in it.
        code, out, err = within(["ls", "-1", point], 15)
        if code == 0:
            there = out.split("\n")
            found["lacks"] = [name for name in params["cache"]["folders"] if name not in there]
    found["said"] = (err.strip() or "no answer in time")[:LONG_LINE] if code != 0 else ""
    return found


def cache_hdfs(params):
    """Of each under store that is an HDFS: its namenodes, and why each does not answer this node ("" where it does)."""
    found = {}
    for path, servers in params["cache"]["hdfs"].items():
        found[path] = dict((server, deaf(server)) for server in servers)
    return found


def deaf(server, seconds=5):
    """Why nobody takes a connection at HOST:PORT; "" where somebody does."""
    host, _, port = server.rpartition(":")
    try:
        socket.create_connection((host, int(port)), seconds).close()
        return ""
    except (EnvironmentError, OverflowError, UnicodeError) as error:
        return str(error)[:LONG_LINE] or "no answer"


def log_store(params):
    """Whether this node's store of logs answers, what is free on its disk, and what the last look at it found."""
    try:
        disk = os.statvfs("/var/lib/avadm-logs")
    except OSError as error:
        raise Failed("/var/lib/avadm-logs: %s" % error.strerror)
    return {
        "health": answer(params["address"], params["logs"]["port"], "/health", "/etc/avadm/logs/ca.crt"),
        "free_mib": disk.f_bavail * disk.f_frsize // 2**20,
        "watch": figures("avadm-log-watch.prom", "avadm-log-watch.timer", WATCH),
    }


def log_shipper(_):
    """Whether this node's shipper runs, and what it keeps and has lost of each store's lines."""
    return {
        "unit": state("avadm-log-shipper.service"),
        "counts": figures("avadm-log-shipper.prom", "avadm-log-shipper-stats.timer", SHIPPER),
    }
