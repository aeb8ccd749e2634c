"""The lab's database as PostgreSQL has it, what Kubernetes runs, and which cards containers hold: whether they agree."""

import json
from collections import Counter, defaultdict
from dataclasses import dataclass
from types import SimpleNamespace

from ava.domain import labels
from ava.domain.model import Quota
from ava.domain.resources import Resources
from avadm.site.load import load
from avadm.site.vault import Vault
from tests.lab.database.conftest import Database

# One statement sees one moment.
SQL = """
SELECT json_build_object(
  'groups', (SELECT json_agg(g) FROM (SELECT name, quota_gpu, quota_cpu, quota_memory, used_gpu, used_cpu, used_memory
             FROM groups WHERE deleted IS NULL) g),
  'queues', (SELECT json_agg(q) FROM (SELECT name, quota_gpu, quota_cpu, quota_memory, used_gpu, used_cpu, used_memory
             FROM queues) q),
  'charges', (SELECT json_agg(c) FROM (SELECT id, run, group_name, queue, gpu, cpu, memory, ended IS NOT NULL AS over
              FROM charges ORDER BY id) c),
  'runs', (SELECT json_object_agg(id, phase) FROM runs));
"""
CARDS = (
    "docker ps --quiet | xargs -r docker inspect "
    "--format '{{.Name}} {{range .HostConfig.Devices}}{{.PathOnHost}} {{end}}' 2>/dev/null || true"
)


@dataclass
class Books:
    """The database's rows at one moment, with the questions that tests/platform/history.py asks of a database."""

    rows: dict

    def __post_init__(self):
        self.charges = SimpleNamespace(list=self._charges)
        self.groups = SimpleNamespace(list=self._groups)
        self.queues = SimpleNamespace(list=self._queues)

    def _charges(self, *, after=None):
        """Return all charges, in one page."""
        if after is not None:
            return []
        return [
            SimpleNamespace(
                id=c["id"],
                run=c["run"],
                group=c["group_name"],
                queue=c["queue"],
                amount=Resources(c["gpu"], c["cpu"], c["memory"]),
                ended=True if c["over"] else None,
            )
            for c in self.rows["charges"] or []
        ]

    def _groups(self, *, after=None, limit=0):
        """Return all groups, in one page."""
        return SimpleNamespace(items=[_shared(row) for row in self.rows["groups"] or []], next=None)

    def _queues(self):
        """Return all queues."""
        return [_shared(row) for row in self.rows["queues"] or []]

    def phase(self, run):
        """Return a run's phase, None where the database does not know it."""
        return (self.rows["runs"] or {}).get(run)


def _shared(row):
    parts = ("gpu", "cpu", "memory")
    quota = Quota(*(row[f"quota_{p}"] for p in parts))
    return SimpleNamespace(name=row["name"], quota=quota, used=Resources(*(row[f"used_{p}"] for p in parts)))


def database_of(lab):
    """Return the lab's PostgreSQL, whatever state it is in."""
    knobs = load(lab.site_path).site.components.database
    password = Vault.open(lab.site_path).ensure({})["vault_database_ava"]
    return Database(lab, lab.names("database"), str(knobs.vip), password)


def books(database, node):
    """Return the database as the primary has it, asked from a node."""
    done = database.ask(node, " ".join(SQL.split()))
    assert done.returncode == 0, done.stderr
    return Books(json.loads(done.stdout))


def given(platform):
    """Return what is wrong between Kubernetes' pods, their nodes and each other: GPUs given twice."""
    nodes = platform.ctl("get nodes")["items"]
    have = {n["metadata"]["name"]: int(n["status"]["allocatable"].get(labels.GPU, 0)) for n in nodes}
    used = Counter()
    for pod in alive(platform):
        used[pod["spec"]["nodeName"]] += cards_of(pod)
    return [
        f"{node} has {have.get(node, 0)} GPUs and {n} are given"
        for node, n in used.items()
        if n > have.get(node, 0)
    ]


def alive(platform):
    """Return users' pods that are bound and have not ended."""
    pods = platform.ctl("get pods --all-namespaces", f"--selector={labels.MANAGED}=true")["items"]
    return [
        p for p in pods if p["spec"].get("nodeName") and p["status"].get("phase") in ("Pending", "Running")
    ]


def cards_of(pod):
    """Return how many GPUs a pod asks for."""
    limits = [c.get("resources", {}).get("limits", {}) for c in pod["spec"]["containers"]]
    return sum(int(each.get(labels.GPU, 0)) for each in limits)


def shared_cards(lab, nodes):
    """Return cards that more than one running container of a node has, which the device plug-in must never do."""
    found = []
    for node in nodes:
        holders = defaultdict(list)
        done = lab.run(node, CARDS, timeout=30)
        for line in done.stdout.splitlines():
            name, *devices = line.split()
            for device in devices:
                if device.removeprefix("/dev/nvidia").isdigit():
                    holders[device].append(name)
        found += [f"{node}: {card} is held by {who}" for card, who in holders.items() if len(who) > 1]
    return found
