"""Serves the metrics of each GPU to Prometheus, as nvidia-smi tells them, under the names of dcgm-exporter 1.x.

For drivers of the time of Ubuntu 16.04: no package there has an exporter of NVIDIA's own. XID errors, which nvidia-smi
does not tell, are read from the kernel's log, as far back as it goes. Python 3.5 or later.
"""

import argparse
import errno
import os
import re
import socket
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler

from ..serving import SILENCE_S, Server

METRICS = (
    ("dcgm_gpu_utilization", "utilization.gpu", "GPU utilization, percent."),
    ("dcgm_fb_used", "memory.used", "Memory in use, MiB."),
    ("dcgm_fb_free", "memory.free", "Memory free, MiB."),
    ("dcgm_gpu_temp", "temperature.gpu", "Temperature, degrees Celsius."),
    ("dcgm_power_usage", "power.draw", "Power, W."),
    (
        "dcgm_ecc_dbe_volatile_total",
        "ecc.errors.uncorrected.volatile.total",
        "Memory errors since the driver was loaded.",
    ),
)
FIELDS = ["index", "uuid", "pci.bus_id"] + [field for _, field, _ in METRICS]
XID = re.compile(r"NVRM: Xid \(PCI:([0-9A-Fa-f:.]+)\): (\d+)")
TIMEOUT_S = 20
"""The driver asks each GPU; one that has fallen off the bus keeps it waiting."""


def bus(name):
    """Return a PCI address as DOMAIN:BUS:DEVICE: 00000000:06:00.0 and 0000:06:00 are one GPU."""
    domain, number, device = name.lower().partition(".")[0].rsplit(":", 2)
    return ":".join([domain[-4:], number, device])


def rows(text):
    """Return what nvidia-smi says, a dictionary for each GPU."""
    found = []
    for line in text.split("\n"):
        words = [word.strip() for word in line.split(",")]
        if len(words) == len(FIELDS):
            found.append(dict(zip(FIELDS, words)))  # noqa: B905 - python 3.5
    return found


def number(word):
    """Return a number as text; None for "[Not Supported]" and its like."""
    try:
        return repr(float(word))
    except ValueError:
        return None


def page(gpus, xids, host):
    """Return the metrics as Prometheus reads them; xids is PCI address to the last error."""
    lines = []
    reports = [(name, help_, [(gpu, number(gpu[field])) for gpu in gpus]) for name, field, help_ in METRICS]
    errors = [(gpu, str(xids.get(bus(gpu["pci.bus_id"]), 0))) for gpu in gpus]
    for name, help_, values in reports + [("dcgm_xid_errors", "The last XID error.", errors)]:
        lines += ["# HELP %s %s" % (name, help_), "# TYPE %s gauge" % name]
        lines += [
            '%s{gpu="%s",uuid="%s",node="%s"} %s' % (name, gpu["index"], gpu["uuid"], host, value)
            for gpu, value in values
            if value is not None
        ]
    return "".join(line + "\n" for line in lines)


def ask(program):
    """Return what nvidia-smi says of each GPU; OSError or ValueError where it cannot."""
    argv = [program, "--query-gpu=" + ",".join(FIELDS), "--format=csv,noheader,nounits"]
    try:
        done = subprocess.run(argv, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=TIMEOUT_S)
    except subprocess.TimeoutExpired:
        raise ValueError("nvidia-smi does not answer within %d s" % TIMEOUT_S)
    text = done.stdout.decode("utf-8", "replace")
    found = rows(text)
    if done.returncode != 0 or not found:
        raise ValueError("nvidia-smi ends with %d: %s" % (done.returncode, text.strip()[-300:]))
    return found


def alone(program, asking):
    """Return what nvidia-smi says, one at a time however many ask: one that a dead GPU holds cannot even be killed."""
    if not asking.acquire(timeout=TIMEOUT_S):
        raise ValueError("an earlier nvidia-smi has not ended within %d s" % TIMEOUT_S)
    try:
        return ask(program)
    finally:
        asking.release()


def follow(path, xids):
    """Note each XID error of the kernel's log, for ever; a record that was overwritten meanwhile is passed over."""
    log = os.open(path, os.O_RDONLY)
    while True:
        try:
            record = os.read(log, 8192)
        except OSError as error:
            if error.errno == errno.EPIPE:
                continue
            raise
        if not record:
            return
        try:
            note(record.decode("utf-8", "replace"), xids)
        except ValueError as error:
            sys.stderr.write("a record of the kernel's log cannot be read: %s\n" % error)


def note(text, xids):
    """Note the XID errors of a part of the kernel's log."""
    for address, code in XID.findall(text):
        xids[bus(address)] = int(code)


def handler(program, xids, host):
    """Return the class that answers Prometheus."""
    asking = threading.Lock()

    class Answer(BaseHTTPRequestHandler):
        """One request."""

        timeout = SILENCE_S

        def do_GET(self):
            """Answer with the metrics, or with why there are none."""
            if self.path != "/metrics":
                self.send_error(404)
                return
            try:
                code, text = 200, page(alone(program, asking), xids, host)
            except (OSError, ValueError) as error:
                code, text = 503, "%s\n" % error
            data = text.encode()
            self.send_response(code)
            self.send_header("Content-Type", "text/plain; version=0.0.4")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, format_, *args):
            """Say nothing of each scrape."""

    return Answer


def main():
    """Serve until killed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--listen", required=True, help="ADDRESS:PORT")
    parser.add_argument("--program", default="nvidia-smi", help="nvidia-smi")
    parser.add_argument("--log", default="/dev/kmsg", help="the kernel's log")
    given = parser.parse_args()
    address, _, port = given.listen.rpartition(":")
    xids = {}
    threading.Thread(target=follow, args=(given.log, xids), daemon=True).start()
    Server((address, int(port)), handler(given.program, xids, socket.gethostname())).serve_forever()
