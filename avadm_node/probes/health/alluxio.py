"""What the doctor asks of the cache."""

from __future__ import absolute_import

import socket
import threading

from .services import series
from .system import LONG_LINE, Failed, call, fetch, slurp

MASTER = ("Cluster_Workers", "Cluster_LostWorkers", "Master_RoleId")
WORKER = ("Worker_CapacityTotal", "Worker_CapacityUsed")


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
    """Why no one takes a connection at HOST:PORT; "" where somebody does."""
    host, _, port = server.rpartition(":")
    try:
        socket.create_connection((host, int(port)), seconds).close()
        return ""
    except (EnvironmentError, OverflowError, UnicodeError) as error:
        return str(error)[:LONG_LINE] or "no answer"
