"""Load A: a run submitted every 10 s, a training with checkpoints, and an open ssh session in a workbench."""

import contextlib
import subprocess
import threading
import time
import uuid
from functools import partial

from ava.client import ApiError
from tests.lab.ava.load import SMALL
from tests.lab.ava.user_journey import ENDED
from tests.lab.day2.loads.load import Load
from tests.lab.day2.loads.on_node import FIRST_S, first
from tests.lab.waiting import wait

SUBMIT_S = 10
"""Time between two runs that are submitted, seconds."""
ASK_S = 1
"""Time between two requests to the API, two steps of the training, two lines over ssh, seconds."""
END_S = 300
"""Time in which what was submitted has to end after the load, seconds."""
SEGMENT_S = 2
"""Steps further apart than this are a pause of the training, seconds."""

# Each step is in the checkpoint, synced, before it is printed; with when it was taken.
TRAINING = """
import os, time
path = os.path.join(os.environ["HOME"], "NAME")
steps = open(path).read().split("\\n")[:-1] if os.path.exists(path) else []
n = int(steps[-1].split()[0]) if steps else 0
print("resumed", n, flush=True)
with open(path, "a") as file:
    while True:
        n += 1
        file.write("%d %.3f\\n" % (n, time.time()))
        file.flush()
        os.fsync(file.fileno())
        print("step", n, flush=True)
        time.sleep(1)
"""
# The numbers that are missing below the last, then each time over which steps followed each other.
CHECKPOINT = """
import os, time
path = os.path.join(os.environ["HOME"], "NAME")
rows = [line.split() for line in open(path).read().split("\\n")[:-1]]
os.remove(path)
steps, times = [int(n) for n, _ in rows], [float(at) for _, at in rows]
there = set(steps)
for n in sorted(set(range(1, max(steps) + 1)) - there)[:50]:
    print("missing", n)
begun = times[0]
for a, b in zip(times, times[1:] + [None]):
    if b is None or b - a > SEGMENT:
        print("segment", begun, a)
        begun = b
print("last", max(steps), flush=True)
time.sleep(5)
"""


def ava(connect, image, ssh):
    """Return the load of a lab with the platform.

    Args:
        connect: returns a new client of the platform, logged in as the workbench's owner.
        image: with Python.
        ssh: into that user's workbench (tests/lab/ava/bench_ways.py).
    """
    return Load(
        "A",
        {
            "submit": partial(submitted, connect, image),
            "training": partial(trained, connect, image),
            "ssh": partial(session, ssh),
        },
    )


@contextlib.contextmanager
def background(work):
    """Run ``work(over)`` in a thread that ends after ``over`` is set."""
    over = threading.Event()
    thread = threading.Thread(target=work, args=(over,), daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join(END_S)


def spec(image, program, **more):
    """Return a run of one small pod."""
    return {"image": image, "command": program, "roles": [{"each": SMALL}], **more}


@contextlib.contextmanager
def submitted(connect, image, stream):
    """Submit a run every 10 s and ask the API in between; at the end each acknowledged run has succeeded."""
    client, name = connect(), f"load-{uuid.uuid4().hex[:8]}"

    def work(over):
        due = time.monotonic()
        while not over.wait(ASK_S):
            try:
                if time.monotonic() >= due:
                    due = time.monotonic() + SUBMIT_S
                    stream.acknowledge(client.start(name, spec(image, ["sleep", "2"], retries=2)).id)
                else:
                    client.me()
                    stream.answer()
            except ApiError as error:
                stream.fail(f"{type(error).__name__}: {error}"[:300])

    with background(work):
        first(stream)
        yield
    stream.end()
    outcome = {}

    def settled():
        for run in stream.kept:
            if outcome.get(run) not in ENDED:
                with contextlib.suppress(ApiError):
                    outcome[run] = client.run(run).state
        return all(outcome.get(run) in ENDED for run in stream.kept)

    wait(settled, END_S)
    stream.lost += [f"{run} is {outcome.get(run)}" for run in stream.kept if outcome.get(run) != "succeeded"]


class Training:
    """A training that its owner starts again when it was ended, and the steps that its log acknowledged."""

    def __init__(self, client, image, stream):
        self.client, self.stream = client, stream
        self.name = f"load-{uuid.uuid4().hex[:8]}"
        self.spec = spec(image, ["python3", "-c", TRAINING.replace("NAME", self.name)], retries=5)
        self.run = client.start(self.name, self.spec).id
        self.since, self.highest = None, 0

    def look(self):
        """Take what was logged since the last look; start the training again where it has ended."""
        for line in self.client.logs(self.run, tail=10_000, since=self.since):
            self.since = line.time
            self.take(line.text, line.time.timestamp())
        if self.client.run(self.run).state in ENDED:
            self.run, self.since = self.client.start(self.name, self.spec).id, None

    def take(self, text, at):
        """Take one line: a step that is acknowledged, or where it resumed, which is at the last acknowledged one or later."""
        word, _, number = text.partition(" ")
        if word == "step" and int(number) > self.highest:
            self.highest = int(number)
            self.stream.acknowledge(self.highest, at)
        elif word == "resumed" and int(number) < self.highest:
            self.stream.lost.append(f"resumed at {number}, {self.highest} was acknowledged")

    def checkpoint(self, image):
        """Stop it and compare its checkpoint with what was acknowledged."""
        with contextlib.suppress(ApiError):
            self.client.stop(self.run)
        wait(lambda: self.client.run(self.run).state in ENDED, END_S)
        program = CHECKPOINT.replace("NAME", self.name).replace("SEGMENT", str(SEGMENT_S))
        run = self.client.start(f"{self.name}-end", spec(image, ["python3", "-c", program], retries=2)).id
        wait(lambda: self.client.run(run).state in ENDED, END_S)
        lines = wait(lambda: self.checkpoint_lines(run), 60)
        if not lines:
            self.stream.fail(f"the checkpoint could not be read: {self.client.run(run).reason}")
        self.compare(lines or [])

    def checkpoint_lines(self, run):
        """Return what the reader of the checkpoint printed, once all of it is there."""
        lines = [line.text.split() for line in self.client.logs(run, tail=10_000)]
        return lines if any(line[:1] == ["last"] for line in lines) else None

    def compare(self, lines):
        """Take what is missing, the last step, and when steps were taken; the log tells those later or not at all."""
        moments = []
        for word, *rest in filter(None, lines):
            if word == "missing":
                self.stream.lost.append(f"step {rest[0]}")
            elif word == "segment":
                begun, over = map(float, rest)
                moments += [begun + second for second in range(int(over - begun) + 1)] + [over]
            elif word == "last" and int(rest[0]) < self.highest:
                self.stream.lost.append(f"steps {int(rest[0]) + 1} to {self.highest}")
        self.stream.good[:] = moments or self.stream.good


@contextlib.contextmanager
def trained(connect, image, stream):
    """Run a training whose checkpoint is in its owner's home."""
    client = connect()
    training = Training(client, image, stream)

    def work(over):
        while not over.wait(2 * ASK_S):
            # Errors of the API count where runs are submitted; here the training's own steps do.
            with contextlib.suppress(ApiError):
                training.look()

    try:
        with background(work):
            first(stream, 3 * FIRST_S)
            stream.began = min(stream.good)
            yield
        stream.end()
        training.checkpoint(image)
    finally:
        with contextlib.suppress(ApiError):
            client.stop(training.run)


class Session:
    """One ssh session that is kept open, opened again when it was cut: a line a second, which the workbench sends back."""

    def __init__(self, argv, stream):
        self.argv, self.stream = argv, stream
        self.connected = False

    def work(self, over):
        """Send and read lines until ``over`` is set."""
        number = 0
        while not over.is_set():
            process = subprocess.Popen(
                self.argv,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                text=True,
            )
            reader = threading.Thread(target=self._read, args=(process,), daemon=True)
            reader.start()
            with contextlib.suppress(OSError):
                while process.poll() is None and not over.wait(ASK_S):
                    process.stdin.write(f"{number}\n")
                    process.stdin.flush()
                    number += 1
            if not over.is_set() and self.connected:
                self.stream.fail("the session was cut")
                self.connected = False
            process.kill()
            process.wait()
            reader.join(10)
            over.wait(ASK_S)

    def _read(self, process):
        for line in process.stdout:
            self.connected = True
            self.stream.acknowledge(int(line))


@contextlib.contextmanager
def session(ssh, stream):
    """Keep a session open; what a line of it says is lost with it, so that nothing is compared at the end."""
    alive = ["-o", "ServerAliveInterval=5", "-o", "ServerAliveCountMax=3"]
    argv = ["ssh", "-F", str(ssh.config), *alive, "bench", "exec cat"]
    with background(Session(argv, stream).work):
        first(stream)
        yield
    stream.end()
