"""Writes what the shipper of logs has sent, keeps and lost, for the node exporter. Python 2.7 or later.

avadm_log_shipper_stats.py CONTROL SOCKET OUT STORE...: stores in the order of the configuration's destinations.
A store has several destinations, of which the counters are summed up.
"""

from __future__ import print_function, unicode_literals

import io
import os
import re
import subprocess
import sys

COUNTERS = {
    "written": ("avadm_log_shipper_sent_total", "counter", "Lines that the store has taken."),
    "queued": ("avadm_log_shipper_waiting", "gauge", "Lines that wait for the store."),
    "dropped": (
        "avadm_log_shipper_dropped_total",
        "counter",
        "Lines that the store will not get: the buffer was full.",
    ),
}
DESTINATION = re.compile(r"^dst\.http;d_(\d+)(?:_\d+)?#\d+;.*;(\w+);(\d+)$")


def metrics(text, stores):
    """Return the exporter's text for what `syslog-ng-ctl stats` says."""
    found = {}
    for line in text.split("\n"):
        match = DESTINATION.match(line.strip())
        if match and match.group(2) in COUNTERS and int(match.group(1)) <= len(stores):
            store = stores[int(match.group(1)) - 1]
            found[(match.group(2), store)] = found.get((match.group(2), store), 0) + int(match.group(3))
    out = []
    for kind in sorted(COUNTERS):
        name, type_, about = COUNTERS[kind]
        out += ["# HELP %s %s" % (name, about), "# TYPE %s %s" % (name, type_)]
        out += ['%s{store="%s"} %d' % (name, s, found[(kind, s)]) for s in stores if (kind, s) in found]
    # One that does not run tells nothing: the alert looks at this.
    out += ["# HELP avadm_log_shipper_up Whether the shipper answers.", "# TYPE avadm_log_shipper_up gauge"]
    out += ["avadm_log_shipper_up %d" % bool(found)]
    return "\n".join(out) + "\n"


def main(argv=None):
    """Ask and write; exit status 1 where the shipper does not answer."""
    argv = argv or sys.argv
    control, socket, out, stores = argv[1], argv[2], argv[3], argv[4:]
    asked = subprocess.Popen([control, "stats", "-c", socket], stdout=subprocess.PIPE)
    text = asked.communicate()[0].decode("utf-8", "replace") if asked else ""
    with io.open(out + ".new", "w") as file:
        file.write("" + metrics(text if asked.returncode == 0 else "", stores))
    os.chmod(out + ".new", 0o644)
    os.rename(out + ".new", out)
    return 1 if asked.returncode else 0
