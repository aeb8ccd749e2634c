"""Starting clients of a load on nodes, and reading what they report."""

import base64
import contextlib
import json
import subprocess
import tempfile
import threading
from importlib.resources import files
from pathlib import Path

from tests.lab.day2.loads.stream import Stream
from tests.lab.waiting import until

END_S = 120
"""Time that a client gets to end, seconds: a pass of fio, or a write that waits for a gateway."""
FIRST_S = 90
"""A load that has not been answered by then is not at work, seconds."""
CHECK_S = 1800
"""Reading everything back takes so long at most, seconds."""


def program():
    """Return the text of a node's client."""
    s3common = (files("avadm_validation") / "tools/s3common.py").read_text(encoding="utf-8")
    own = Path(__file__).with_name("node_client.py").read_text(encoding="utf-8")
    module = (
        "import sys, types\nit = sys.modules['s3common'] = types.ModuleType('s3common')\n"
        f"exec({s3common!r}, it.__dict__)\n"
    )
    return module + own


def command():
    """Return the shell command that runs a client; its job, which may hold a password, follows on standard input."""
    text = base64.b64encode(program().encode()).decode()
    return f"exec python3 -W ignore -c \"import base64; exec(base64.b64decode('{text}'))\""


class NodeClient:
    """One client on a node, and the stream of what it reports.

    Args:
        lab: the lab.
        node: where it runs.
        stream: gets the events.
        job: kind and arguments; see node_client.py.
    """

    def __init__(self, lab, node, stream, **job):
        self.node, self.stream, self.job = node, stream, job
        self.last, self._ended = 0, False
        self._stderr = tempfile.TemporaryFile("w+")  # noqa: SIM115 - as long as the process
        self._process = subprocess.Popen(
            [*lab.argv(node), command()],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._stderr,
            text=True,
        )
        self._process.stdin.write(json.dumps(job) + "\n")
        self._process.stdin.flush()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self):
        for line in self._process.stdout:
            mark, _, rest = line.rstrip("\n").partition(" ")
            self._event(mark, rest)

    def _event(self, mark, rest):
        word, _, more = rest.partition(" ")
        if mark == "+":
            self.stream.acknowledge(word, float(more))
        elif mark == "=":
            self.stream.answer(float(word))
        elif mark == "-":
            self.stream.lost.append(word)
        elif mark == "!":
            self.stream.fail(more, float(word))
        elif mark == "~":
            self.last = int(word)
        elif mark == ">":
            self.stream.began = float(word)
        elif mark == ".":
            self._ended = True
            self.stream.end(float(word))
        else:
            self.stream.fail(f"{self.node}: {mark} {rest}"[:300])

    def stop(self, seconds=END_S):
        """End the client; one that does not end, or ended with its node, is an error of the load."""
        with contextlib.suppress(OSError):  # it is gone already
            self._process.stdin.close()
        self.wait(seconds)

    def wait(self, seconds):
        """Wait until the client has ended; kill it after so many seconds."""
        try:
            self._process.wait(seconds)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._reader.join(10)
        if not self._ended:
            self._stderr.seek(0)
            text = self._stderr.read().strip()[-200:]
            kind = self.job["kind"]
            self.stream.fail(
                f"{self.node}: {kind} did not end by itself (exit {self._process.returncode}) {text}"
            )
        self._stderr.close()
        for pipe in (self._process.stdin, self._process.stdout):
            with contextlib.suppress(OSError):
                pipe.close()


def once(lab, node, stream, **job):
    """Run a client to its end, such as one that reads everything back; its answers are no part of the stream's pauses."""
    found = Stream(stream.load, stream.name)
    client = NodeClient(lab, node, found, **job)
    client.wait(CHECK_S)
    stream.lost += found.lost
    stream.errors += found.errors


@contextlib.contextmanager
def steady(lab, node, stream, **job):
    """Keep a client at work on a node; it has been answered before the block begins."""
    client = NodeClient(lab, node, stream, **job)
    try:
        first(stream)
        yield client
    finally:
        client.stop()


def first(stream, seconds=FIRST_S):
    """Wait until a stream has been answered three times: a load that never worked measures nothing."""
    words = f"{stream.load} {stream.name} is not at work"
    until(lambda: len(stream.good) >= 3, seconds, 0.2, lambda: f"{words}: {stream.errors[-3:]}")
