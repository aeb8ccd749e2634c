"""What the tests of planted faults do to the platform under load, and how its recovery is measured."""

import contextlib
import json
import os
import threading
import time
import uuid
from dataclasses import dataclass

from ava.client import ApiError, Client
from ava.client.transport import http_client
from tests.lab.ava.consistency import alive, books, database_of, given, shared_cards
from tests.lab.ava.load import AWAY, SMALL
from tests.platform.history import disagreements, sums

LIMIT_S = 30
"""A run that is submitted after a fault has its place so long after the fault at the latest."""
STARTED = ("running", "stopping", "succeeded")
NAMESPACE = "ava-system"


@dataclass(frozen=True)
class Recovery:
    """After how many seconds a run had its place again, and in words."""

    seconds: float
    words: str


class Scene:
    """The platform under load, with a user of its own who probes it.

    Args:
        platform: the lab's.
        lab: the lab.
        load: at work.
        probe: client of a user in a group without limits.
    """

    def __init__(self, platform, lab, load, probe):
        self.platform, self.lab, self.load, self.probe = platform, lab, load, probe
        self.database = database_of(lab)
        self.gpu_nodes = lab.names("gpu")
        self.away = set()
        self.shared = []
        self._over = threading.Event()
        self._sampler = threading.Thread(target=self._sample)

    def __enter__(self):
        self._sampler.start()
        self.usual = "a run without a fault {:.1f} s, {:.1f} s".format(*self.probed(time.monotonic()))
        return self

    def __exit__(self, *_):
        self._over.set()
        self._sampler.join()
        for run in self.probe.runs():
            if run.phase != "finished":
                self.probe.stop(run.id)

    def _sample(self):
        """Look again and again which containers hold which cards."""
        while not self._over.wait(8):
            self.shared += shared_cards(self.lab, [n for n in self.gpu_nodes if n not in self.away])

    def start(self, name, command=("sleep", "2"), **spec):
        """Start a run of the probing user's however often that has to be asked for; return its id."""
        body = {"image": self.load.image, "command": list(command), **spec}
        body.setdefault("roles", [{"each": SMALL}])
        key = uuid.uuid4().hex
        while True:
            try:
                return self.probe.start(name, body, key=key).id
            except ApiError as refused:
                if refused.status not in AWAY:
                    raise
                time.sleep(0.5)

    def until(self, run, wanted, seconds):
        """Wait until a run is as wanted (a function of it) and return it; answers that fail are asked for again."""
        end, now = time.monotonic() + seconds, None
        while True:
            with contextlib.suppress(ApiError):
                now = self.probe.run(run)
                if wanted(now):
                    return now
            assert time.monotonic() < end, f"after {seconds} s: {now}"
            time.sleep(0.5)

    def recovery(self, fault):
        """Plant a fault; return the seconds until a run that was submitted after it has its place, and in words until it started.

        The place is what the platform does: API, operator and scheduler have each done their part. How fast a container then
        starts is the machine's; a run without a fault tells that.
        """
        began = time.monotonic()
        fault()
        planted = time.monotonic() - began
        placed, started = self.probed(began)
        words = f"a new run had its place after {placed:.1f} s, ran after {started:.1f} s, {planted:.1f} s of which planting took"
        return Recovery(placed, f"{words} ({self.usual}; load {os.getloadavg()[0]:.0f})")

    def probed(self, began):
        """Submit a run; return the seconds since a moment until it had its place, and until it had started."""
        run = self.start("probe")
        self.until(run, lambda r: r.state in STARTED or any(pod.node for pod in self.probe.pods(run)), 180)
        placed = time.monotonic() - began
        self.until(run, lambda r: r.state in STARTED, 180)
        return placed, time.monotonic() - began

    def holder(self, part):
        """Return the pod of a part that acts."""
        found = self.platform.ctl(f"get configmap --namespace={NAMESPACE} ava-{part}")
        return json.loads(found["metadata"]["annotations"]["ava.io/leader"])["holder"].partition("_")[0]

    def pod(self, name):
        """Return the node, the address and the container of one of the platform's pods."""
        pod = self.platform.ctl(f"get pod --namespace={NAMESPACE} {name}")
        container = pod["status"]["containerStatuses"][0]["containerID"].removeprefix("docker://")
        return pod["spec"]["nodeName"], pod["status"]["podIP"], container

    def killing(self, pod):
        """Return what kills the container of one of the platform's pods."""
        node, _, container = self.pod(pod)
        return lambda: self.lab.sh(node, f"docker kill {container}")

    def whole(self, seconds=120):
        """Wait until all of the platform's pods are ready."""
        end = time.monotonic() + seconds
        while True:
            found = self.platform.ctl(f"get deployments --namespace={NAMESPACE}")["items"]
            short = [
                d["metadata"]["name"]
                for d in found
                if d["status"].get("readyReplicas", 0) < d["spec"]["replicas"]
            ]
            if not short:
                return
            assert time.monotonic() < end, f"not ready after {seconds} s: {short}"
            time.sleep(2)

    def agree(self):
        """Nothing is given twice, no quota has drifted or was ever exceeded, and work continues."""
        before, end = self.load.finished, time.monotonic() + 60
        while self.load.finished < before + 3:
            assert time.monotonic() < end, "the users' runs do not end any more"
            time.sleep(1)
        node = next(n for n in self.database.nodes if n not in self.away)
        now = books(self.database, node)
        assert sums(now, now.charges.list()) == []
        assert given(self.platform) == []
        assert self.shared == []
        assert self.load.problems() == []
        assert self.load.errors == []

    def settled(self):
        """At rest: every acknowledged admission and end is in the database once, and no pod is left of what has finished."""
        self.load.drain()
        now = books(self.database, self.database.nodes[0])
        assert disagreements(self.load.history, now) == []
        left = {p["metadata"]["labels"]["ava.io/run"] for p in alive(self.platform)}
        assert [run for run in left if now.phase(run) not in ("admitted", None)] == []
        assert self.shared == []


def client(platform, authority, name=None, patience=5.0):
    """Return a client of the platform's, logged in as a name, who waits so long for each answer."""
    http = http_client(f"https://{platform.host}", authority)
    http.timeout = patience
    found = Client(f"https://{platform.host}", http=http)
    if name:
        found.login(name, platform.password)
    return found
