"""AVA as avadm asks it: services move and workbenches stop when their notice is over, trainings when they end or may be ended."""

from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta

from avadm.errors import AvadmError
from avadm.findings import Finding
from avadm.kube.node_runs import NodeRuns, Run

THEN = datetime(2026, 11, 28, 12, tzinfo=UTC)
SPACE = "ava-vision"


def run(id, kind="training", owner="ann"):
    """Return a run that began three hours ago."""
    return Run(id, kind, f"{kind}-{id}", owner, "vision", SPACE, THEN - timedelta(hours=3))


@dataclass
class Ava:
    """The platform; time passes as the test's clock has it.

    Attributes:
        on: node to runs that have a pod there.
        ends: run to the second at which it ends by itself.
        begun: node to the second at which its drain began, and its notice.
        agreed: trainings whose owners agree.
        silent: whether it cannot be asked.
        log: what changed, in order.
        now: seconds.
    """

    on: dict = field(default_factory=dict)
    ends: dict = field(default_factory=dict)
    begun: dict = field(default_factory=dict)
    agreed: set = field(default_factory=set)
    silent: bool = False
    log: list = field(default_factory=list)
    now: float = 0.0

    def utc(self):
        return THEN + timedelta(seconds=self.now)

    def sleep(self, seconds):
        self.now += seconds

    def pods(self, node):
        """Return the pods of runs on a node, with their runs."""
        for name, runs in self.on.items():
            left = [r for r in runs if (at := self._leaves(name, r)) is None or self.utc() < at]
            self.on[name] = [r for r in left if self.now < self.ends.get(r.id, 1e9)]
        return {f"{r.namespace}/{r.id}-0-worker-0": r.id for r in self.on.get(node, [])}

    def node(self, name):
        self._asked()
        runs = [replace(r, leaves=self._leaves(name, r)) for r in self.on.get(name, [])]
        return NodeRuns(runs, self._until(name))

    def begin(self, node, notice):
        self._asked()
        self.log.append(f"notify {node}")
        since, first = self.begun.get(node, (self.now, notice))
        self.begun[node] = (since, replace(first, stop_runs=notice.stop_runs))

    def withdraw(self, node):
        self._asked()
        if self.begun.pop(node, None):
            self.log.append(f"withdraw {node}")

    def close(self):
        pass

    def _asked(self):
        if self.silent:
            raise AvadmError([Finding(check="ava-not-entered", what="AVA is not entered.")])

    def _until(self, node):
        if node not in self.begun:
            return None
        since, notice = self.begun[node]
        return THEN + timedelta(seconds=since + notice.seconds)

    def _leaves(self, node, one):
        ended = one.kind != "training" or one.id in self.agreed
        ended = ended or (node in self.begun and self.begun[node][1].stop_runs)
        return self._until(node) if ended else None


def processes(parts, runs=True, way=200):
    """Return what a master reports of AVA's processes.

    Args:
        parts: its deployments, of one pod each.
        runs: whether the pods are ready and the leases renewed.
        way: the status of the way in; 0 for none.
    """
    image = "reg.t.test:5000/avadm/ava:0.1.0-a"
    pod = {"image": image, "ready": runs, "ending": False, "version": "", "figures": {}, "why": ""}
    leases = [f"ava-{part}" for part in parts if part in ("operator", "scheduler", "storage")]
    return {
        "deployed": {part: {"image": image, "pods": 1} for part in parts},
        "pods": [{**pod, "name": f"ava-{part}-1", "part": part} for part in parts],
        "leases": [{name: ["a", 1] for name in leases}, {name: ["a", 1 + runs] for name in leases}],
        "way": {"status": way, "said": "" if way else "connection refused"},
    }
