"""Fleets of nodes: what goes over ssh runs on this machine."""

import subprocess
import time
from concurrent.futures import ThreadPoolExecutor

from avadm.remote.fleet import Result


class LocalFleet:
    """Nodes that are all this machine; which ones' connections were closed is in ``closed``."""

    def __init__(self):
        self.closed = []

    def run(self, node, command, *, timeout=60.0, stdin=None):
        started, clock = time.time(), time.monotonic()
        done = subprocess.run(["sh", "-c", command], input=stdin or b"", capture_output=True, timeout=timeout)
        texts = done.stdout.decode(), done.stderr.decode()
        return Result(node, command, done.returncode, *texts, started, time.monotonic() - clock)

    def map(self, commands, *, timeout=60.0, stdin=None):
        with ThreadPoolExecutor(len(commands)) as pool:
            running = {n: pool.submit(self.run, n, c, timeout=timeout) for n, c in commands.items()}
            return {n: r.result() for n, r in running.items()}

    def close(self, nodes=None):
        self.closed += nodes or ()
