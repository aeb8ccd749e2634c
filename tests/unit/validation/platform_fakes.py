"""A platform without a cluster: what the suite is answered by its client, kubectl and the nodes, on a clock of its own."""

import json
import math
import threading
from collections import Counter
from dataclasses import dataclass, field

from acceptance_fakes import FakeFleet, Result
from platform_isolation_fakes import Attacks
from platform_reading_fakes import Reading
from platform_view_fakes import METRICS, View

from avadm_validation.measuring.targets import Listener, PlatformTarget, Target
from avadm_validation.suites.platform.journal import ENDED

GPUS = {"gpu1": 4, "gpu2": 4}
PLAIN = ("cpu1",)
MODEL = "v100"


@dataclass
class Run:
    """A run of the fake platform; times are the fake clock's."""

    id: str
    owner: str
    group: str
    spec: dict
    program: str
    state: str = "queued"
    stop: float = math.inf
    running: float = math.inf
    given_up: bool = False
    nodes: dict = field(default_factory=dict)
    cards: dict = field(default_factory=dict)
    reported: bool = True
    name: str = ""
    reads: int = 0

    @property
    def cpu(self):
        return sum(role["each"]["cpu"] for role in self.spec["roles"])

    @property
    def gpu(self):
        return sum(role["each"].get("gpu", 0) for role in self.spec["roles"])


class FakePlatform:
    """A good platform; its attributes are what faults change."""

    def __init__(self):
        self.group_names = set()
        self.clock, self.lock, self.runs, self.users, self.groups = 1e9, threading.RLock(), {}, {}, {}
        self.hung, self.dead_since, self.admin_made = set(), {}, False
        self.fresh, self.certificate, self.last_admin = True, True, False
        self.tells, self.by_run, self.lets_in = True, False, False
        self.host_of = lambda node: node
        self.rank = lambda free: free
        self.obeys_node = self.refuses_model = True
        self.charges = lambda user: user["default"]
        self.moves = self.forgets_quota = self.never_returns = self.double_cards = False
        self.drift = 0
        self.kills_child, self.whole_container, self.starts_again, self.oom = True, False, True, "OOMKilled"
        self.neighbours_die = False
        self.models = dict.fromkeys(GPUS, MODEL)
        self.ready = dict.fromkeys(GPUS, True)
        self.others = Counter()
        self.logs_there = True
        self.reading, self.view = Reading(self), View(self, GPUS)
        self.takes_all_gpus, self.attacks = False, Attacks(self)

    def target(self, **changes):
        own = {
            "host": "ava.x.test",
            "address": "10.0.0.9",
            "master": "m1",
            "image": "registry.x:5000/avadm/base:12",
            "gpu_nodes": tuple(GPUS),
            "plain_nodes": PLAIN,
            "addresses": dict.fromkeys((*GPUS, *PLAIN, "m1"), "10.0.0.1"),
            "ingress": "cpu1",
            "folders": True,
            "metrics": METRICS,
            "closed": (
                Listener("port-2379-etcd", "m1", "10.0.0.1", 2379),
                Listener("port-9-x", "m1", "10.0.0.1", 9, False),
            ),
            "make_admin": self.make_admin,
            **changes,
        }
        return Target("s", "p", "lab", (), "", ("m1", *GPUS, *PLAIN), platform=PlatformTarget(**own))

    def make_admin(self, fleet, name, password):
        assert len(password) > 20
        self.users[name] = {"state": "active", "default": None, "password": password}
        self.admin_made = True
        return Result("m1", "create-admin", stdout="made\n")

    def fleet(self):
        return FakeFleet(
            {
                "cat /etc/kubernetes/pki/ca.crt": lambda n, c: (
                    "PEM" if self.certificate else {"rc": 1, "stderr": "no such file"}
                ),
                "custom-columns": lambda n, c: self.table(),
                "-o name | wc -l": lambda n, c: f"{self.left(c)}\n",
                **self.attacks.answers(),
                **self.view.answers(),
                "get events": lambda n, c: self.events(),
                "systemctl stop kubelet": lambda n, c: self._kubelet(n, self.clock),
                "systemctl start kubelet": lambda n, c: self._kubelet(n, None),
                "fusehang.py begin": self._hang,
                "fusehang.py end": self._mend,
            }
        )

    def _kubelet(self, node, since):
        with self.lock:
            self.dead_since[node] = since
        return "ok\n"

    def _hang(self, node, command):
        self.hung |= set(command.split("fusehang.py begin ")[1].split()[0].strip("'\"").split(","))
        return '{"hung": 1}\n'

    def _mend(self, node, command):
        self.hung.clear()
        return '{"ended": 1}\n'

    # What happens by itself.

    def rest(self, seconds):
        with self.lock:
            self.clock += seconds
            self.step()

    def step(self):
        for run in self.runs.values():
            self._step(run)

    def _step(self, run):
        if (
            run.state in ("starting", "running")
            and run.running == math.inf
            and all(map(self._up, run.nodes.values()))
        ):
            run.running = self.clock + 1
        if run.state == "starting" and self.clock >= run.running:
            run.state = "running"
        over = run.reads > 2 if run.program == "tell" else run.program in ("short", "folders")
        if run.state == "running" and over and self.clock >= run.running + 1:
            run.state = "succeeded"
        if run.stop < math.inf and run.state not in ENDED and self._let_go(run):
            run.state = "stopped"
        if run.state == "queued" and run.stop == math.inf:
            self._admit(run)

    def _up(self, node):
        return self.dead_since.get(node) is None

    def _let_go(self, run):
        """Whether a run that is to end has ended."""
        dead = [self.dead_since[n] for n in run.nodes.values() if not self._up(n)]
        if dead:
            run.given_up = run.given_up or self.clock > min(dead) + 165
            return run.given_up
        if {f"{run.id}-{i}" for i in range(len(run.nodes))} & self.hung:
            return False
        if self.never_returns:
            return False
        waits = 30 if run.program == "deaf" else 2
        return self.clock > run.stop + waits

    def _admit(self, run):
        group = self.groups[run.group]
        if not self.forgets_quota:
            for what, asked in (("cpu", run.cpu), ("gpu", run.gpu)):
                limit = group["quota"].get(what)
                if limit is not None and self.used(run.group, what) + asked > limit:
                    return
        if all(self._place(run, i, role) for i, role in enumerate(run.spec["roles"])):
            run.state = "starting"
        else:
            run.nodes.clear()
            run.cards.clear()

    def _place(self, run, i, role):
        gpu = role["each"].get("gpu", 0)
        as_gpu = run.gpu > 0 if self.by_run else gpu > 0
        named = run.spec.get("node") if self.obeys_node else None
        if not as_gpu:
            nodes = list(PLAIN)
            if named and self.lets_in:
                nodes = [named]
        else:
            wanted = run.spec.get("gpu_model")
            free = {n: GPUS[n] - len(self.taken(n)) for n in GPUS}
            nodes = [
                n
                for n in sorted(GPUS, key=lambda n: (self.rank(free[n]), n))
                if free[n] >= gpu and named in (None, n) and wanted in (None, self.models[n])
            ]
        if not nodes:
            return False
        node = nodes[0]
        run.nodes[i] = node
        if node in GPUS and gpu:
            left = [c for c in range(GPUS[node]) if c not in self.taken(node)]
            run.cards[i] = list(range(gpu)) if self.double_cards else left[:gpu]
        return True

    def holding(self):
        return [r for r in self.runs.values() if r.state not in ENDED and r.state != "queued"]

    def taken(self, node):
        """Return the cards of a node that somebody has."""
        own = {c for r in self.holding() for i, n in r.nodes.items() if n == node for c in r.cards.get(i, ())}
        return own | set(range(GPUS[node] - self.others[node], GPUS[node]))

    def used(self, group, what):
        runs = [r for r in self.holding() if r.group == group]
        return sum(getattr(r, what) for r in runs) + (self.drift if what == "cpu" else 0)

    # What Kubernetes tells.

    def table(self):
        with self.lock:
            nodes = [f"{n}  {size}  <none>  {self.models[n]}  {self.ready[n]}" for n, size in GPUS.items()]
            nodes += [f"{n}  <none>  <none>  <none>  True" for n in (*PLAIN, "m1")]
            pods = [f"{n}  Running  {k}  <none>" for n, k in self.others.items() if k]
            for r in self.holding():
                for i, node in r.nodes.items():
                    gpu = r.spec["roles"][i]["each"].get("gpu", 0)
                    pods.append(f"{node}  Running  {gpu or '<none>'}  {r.id}")
            return "\n".join(nodes) + "\n--\n" + "\n".join(pods) + "\n"

    def left(self, command):
        """Return how many pods a run has that a command names."""
        with self.lock:
            return sum(f"ava.io/run={r.id} " in command for r in self.holding())

    def events(self):
        with self.lock:
            items = [
                {
                    "involvedObject": {"name": f"{r.id}-{i}"},
                    "source": {"component": "kubelet", "host": self.host_of(node)},
                }
                for r in self.runs.values()
                for i, node in r.nodes.items()
            ]
            return json.dumps({"items": items})
