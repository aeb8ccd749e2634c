"""Metrics, units and answers over TLS, as several parts look at them."""

from __future__ import absolute_import

import os
import re
import time

from .system import LONG_LINE, Failed, call, must, slurp


def numbers(text, names):
    """Return the values of metrics without labels."""
    found = {}
    for name, value in re.findall(r"^(\w+) (\S+)$", text, re.M):
        if name in names:
            found[name] = float(value)
    return found


TEXTFILES = "/var/lib/prometheus/node-exporter"


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
