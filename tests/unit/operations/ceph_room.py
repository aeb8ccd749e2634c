"""A ceph cluster in memory: daemons of a version on nodes, which change as the commands of an upgrade do."""

from dataclasses import dataclass, field

from avadm.catalogue import finding
from avadm.cluster.connection import Cluster
from avadm.cluster.kinds import Cordon
from avadm.cluster.settings import Settings
from avadm.errors import EXIT_FOUND_BAD, AvadmError
from avadm.operations import run as framework
from avadm.operations import upgrade as module
from avadm.operations import upgrade_ceph
from avadm.operations.ceph_nodes import CephFacts, CephNodes
from avadm.operations.drain import DrainPart
from avadm.operations.model import Step
from avadm.site.load import load
from avadm.state.site_state import PhaseState, SiteState
from tests.unit.fakes.clock import Clock

TO = "lab-bookworm-ceph-18"
OLD, NEW = "16.2.15", "18.2.7"
SITE = """
name: t
profile: lab-bookworm
network: {management: 10.0.0.0/24, domain: t.test, api_vip: 10.0.0.250}
components:
  ceph: {filesystem: {name: cephfs, active_mds: 2}, rbd_pools: [{name: rbd}]}
nodes:
  - {name: s1, address: 10.0.0.1, roles: [mon, mgr, osd, mds], devices: [{serial: A1}, {serial: B1}]}
  - {name: s2, address: 10.0.0.2, roles: [mon, mgr, osd, mds], devices: [{serial: A2}, {serial: B2}]}
  - {name: s3, address: 10.0.0.3, roles: [mon, mgr, osd, mds], devices: [{serial: A3}, {serial: B3}]}
  - {name: m1, address: 10.0.0.4, roles: [master, etcd]}
  - {name: w1, address: 10.0.0.5, roles: [worker, client, dns]}
  - {name: w2, address: 10.0.0.6, roles: [worker, client]}
"""
STORAGE = ("s1", "s2", "s3")


class Killed(KeyboardInterrupt):
    """avadm is killed: nothing after it runs, not even what undoes settings."""


@dataclass
class Ceph:
    """What the cluster reports, and what its commands change. Replies have the keys of 16.2 and 18.2 alike."""

    running: dict  # daemon to version
    down: set = field(default_factory=set)
    outside: set = field(default_factory=set)  # monitors
    checks: dict = field(default_factory=dict)
    pools: list = field(default_factory=lambda: [("rbd", 2, 1), ("cephfs_data", 2, 1)])
    clients: list = field(default_factory=lambda: [("luminous", 6)])
    states: dict = field(default_factory=lambda: {"active+clean": 60, "active+clean+scrubbing+deep": 2})
    max_mds: int = 2
    replay: bool = True
    order: list = field(default_factory=lambda: ["s1", "s2", "s3"])  # metadata servers: ranks first
    active: str = "s1"  # manager
    required: str = "pacific"
    v2: bool = True
    noout: set = field(default_factory=set)
    silent: str = ""
    no: str = ""  # what ok-to-stop says
    words: list = field(default_factory=list)

    def ceph(self, *words, timeout=60.0):
        if self.silent:
            raise AvadmError(finding("ceph-command", found=self.silent, words=" ".join(words)))
        name = "_".join(words[:2]).replace("-", "_")
        return getattr(self, name)(*words[2:]) if hasattr(self, name) else getattr(self, words[0])(*words[1:])

    def done(self, *words):
        self.words.append(" ".join(words))

    def number(self, daemon):
        return int(self.running[daemon].partition(".")[0] or 0)

    def status(self):
        rows = [{"state_name": s, "count": n} for s, n in self.states.items()]
        return {"pgmap": {"pgs_by_state": rows}}

    def quorum_status(self):
        return {
            "monmap": {"mons": [{"name": n} for n in STORAGE]},
            "quorum_names": [n for n in STORAGE if n not in self.outside],
        }

    def mon_dump(self):
        least = min(self.number(f"mon.{n}") for n in STORAGE if n not in self.outside)
        kinds = ["v2", "v1"] if self.v2 else ["v1"]
        addresses = {"addrvec": [{"type": kind, "addr": "10.0.0.1:0"} for kind in kinds]}
        return {
            "min_mon_release": least,
            "mons": [{"name": n, "public_addrs": addresses} for n in STORAGE],
        }

    def mon_enable_msgr2(self):
        self.done("mon enable-msgr2")
        self.v2 = True

    def health_detail(self):
        return {
            "status": "HEALTH_WARN" if self.checks else "HEALTH_OK",
            "checks": {
                code: {"severity": severity, "summary": {"message": text, "count": 1}, "muted": False}
                for code, (severity, text) in self.checks.items()
            },
        }

    def features(self):
        return {"client": [{"features": "0x1", "release": r, "num": n} for r, n in self.clients]}

    def osd_dump(self):
        return {
            "fsid": "f",
            "osds": [
                {"osd": i, "uuid": "u", "up": int(i not in self.down), "in": 1, "state": []} for i in range(6)
            ],
            "pools": [{"pool_name": n, "size": s, "min_size": m} for n, s, m in self.pools],
            "require_osd_release": self.required,
            "crush_node_flags": {host: ["noout"] for host in self.noout},
        }

    def osd_tree(self):
        hosts = [
            {"id": -1 - i, "type": "host", "name": n, "children": [2 * i, 2 * i + 1]}
            for i, n in enumerate(STORAGE)
        ]
        osds = [
            {"id": i, "type": "osd", "name": f"osd.{i}", "status": "down" if i in self.down else "up"}
            for i in range(6)
        ]
        return {"nodes": [*hosts, *osds]}

    def osd_set_group(self, flag, host):
        self.noout.add(host)

    def osd_unset_group(self, flag, host):
        self.noout.discard(host)

    def osd_ok_to_stop(self, *ids):
        if self.no:
            raise AvadmError(finding("ceph-command", found=f"Error EBUSY: {self.no}", words="ok-to-stop"))
        return {}

    def osd_require_osd_release(self, name):
        assert all(self.number(f"osd.{i}") == 18 for i in range(6)), "an OSD is older"
        self.done("require", name)
        self.required = name

    def mgr_dump(self):
        return {
            "available": bool(self.active),
            "active_name": self.active,
            "standbys": [{"name": n} for n in STORAGE if n != self.active],
        }

    def fs_dump(self):
        ranks = self.order[: self.max_mds]
        info = {n: {"name": n, "rank": i, "state": "up:active"} for i, n in enumerate(ranks)}
        rest = self.order[self.max_mds :]
        if self.replay and rest:
            info[rest[0]] = {"name": rest[0], "rank": 0, "state": "up:standby-replay"}
        one = {
            "fs_name": "cephfs",
            "max_mds": self.max_mds,
            "in": list(range(len(ranks))),
            "flags": 18 + 32 * self.replay,
            "info": info,
        }
        return {
            "filesystems": [{"mdsmap": one}],
            "standbys": [{"name": n} for n in rest if n not in info],
        }

    def fs_set(self, name, key, value):
        self.done("fs set", key, value)
        if key == "max_mds":
            self.max_mds = int(value)
        else:
            self.replay = value == "true"


class Nodes(CephNodes):
    """Nodes whose packages and daemons change in memory."""

    room: "CephRoom"

    def facts(self, nodes):
        return {n.name: self.room.facts_of(n) for n in nodes}

    def installed(self, nodes, packages):
        return {n.name: {p: self.room.package(n.name, p) for p in packages} for n in nodes}

    def has_packages(self, node):
        return node.name in self.room.packaged

    def install(self, name, tell):
        if name not in self.room.packaged:
            self.room.note("install", name)
            self.room.packaged.add(name)

    def restart(self, node, units):
        self.room.restart(node, units)

    def gateway_trouble(self, node):
        return ""

    def mount_users(self, node):
        return "fuse.ceph-fuse", self.room.users.get(node, [])

    def remount(self, node):
        self.room.note("remount", node)
        self.room.mounted[node] = NEW

    def mount_trouble(self, node):
        return self.room.unmounted.get(node, "")

    def drains(self, nodes, done):
        return {n: self._drain(n, done) for n in nodes}

    def _drain(self, node, done):
        def act(tell):
            assert node in self.room.cordoned, "cordoned first"
            self.room.note("drain", node)

        held = (Cordon(node),)
        step = Step(f"evict the pods of {node}", act, (node,), lambda: done(node), held)
        return DrainPart([step], held, [self.room.pods[node]] if node in self.room.pods else ())

    def collations(self, node):
        return self.room.sorts

    def due(self):
        return [] if self.room.applied else ["ceph"]

    def apply(self, nodes, tell):
        self.room.note("apply", ",".join(nodes))
        self.room.applied = True


class Masters:
    """Kubernetes, as cordons need it."""

    def __init__(self, room):
        self.room = room

    def ask(self, do, names, **given):
        if do == "cordon":
            self.room.cordoned |= set(names)
        if do == "uncordon":
            self.room.cordoned -= set(names)
        return {n: {"cordoned": n in self.room.cordoned} for n in names}


class CephRoom:
    """A site with a cluster of the former release."""

    def __init__(self, path):
        self.path = path
        daemons = [f"{kind}.{n}" for kind in ("mon", "mgr", "mds") for n in STORAGE]
        self.ceph = Ceph(dict.fromkeys([*daemons, *(f"osd.{i}" for i in range(6))], OLD))
        self.packaged, self.mounted = set(), dict.fromkeys(("w1", "w2"), OLD)
        self.users, self.unmounted, self.sorts, self.cordoned = {}, {}, ["C.UTF-8"], set()
        self.events, self.killed_at, self.applied, self.after_restart = [], "", False, lambda unit: None
        self.patroni, self.pods = "4.0.7-1", {}
        self.reload()

    def reload(self):
        """As the next command sees the site."""
        self.site_file = load(self.path)
        self.state = SiteState.of(self.path, "t")
        self.cluster = _Cluster(self.site_file, None, self.state)
        self.cluster.__dict__.update(room=self, masters=Masters(self))

    def make(self, asked):
        nodes = Nodes(asked)
        object.__setattr__(nodes, "room", self)
        return nodes

    def note(self, what, where):
        """Record what is done, and be killed there where that was asked for."""
        event = f"{what} {where}"
        if event == self.killed_at:
            self.killed_at = ""
            raise Killed(event)
        self.events.append(event)

    def package(self, node, package):
        if package == "patroni":
            return self.patroni
        return f"{NEW}+ds-1" if node in self.packaged else f"{OLD}+ds-0"

    def facts_of(self, node):
        index = STORAGE.index(node.name) if node.name in STORAGE else -1
        mine = {f"{kind}.{node.name}" for kind in ("mon", "mgr", "mds")} | (
            {f"osd.{2 * index}", f"osd.{2 * index + 1}"} if index >= 0 else set()
        )
        found = {d: v for d, v in self.ceph.running.items() if d in mine and v}
        if node.name in self.mounted:
            found["client.cephfs.1"] = self.mounted[node.name]
        return CephFacts(found, NEW if node.name in self.packaged else OLD)

    def restart(self, node, units):
        assert node in self.packaged, "its packages came before"
        for unit in units:
            kind, _, name = unit.removeprefix("ceph-").partition("@")
            self.note("restart", f"{kind}.{name}")
            if kind == "osd":
                assert node in self.ceph.noout, "its data stay where they are"
            if kind == "mds":
                assert (self.ceph.max_mds, self.ceph.replay) == (1, False)
                self.ceph.order.sort(key=lambda n: n == name)
            if kind == "mgr" and self.ceph.active == name:
                self.ceph.active = next(n for n in STORAGE if n != name)
            self.ceph.running[f"{kind}.{name}"] = NEW
            self.after_restart(f"{kind}.{name}")

    def plan(self, to=TO):
        own = {"ceph": lambda asked: upgrade_ceph.plan(asked, self.make)}
        return module.build(["ceph"], to, lambda cluster: None, own)(self.cluster)

    def refused(self, accepted=(), to=TO):
        return sorted({f.check for f in framework.refused(self.plan(to), accepted)})

    def run(self, accepted=()):
        """Run it as the command does, settings of a command that was killed undone first."""
        self.lines = []
        settings = Settings(self.cluster, self.lines.append)
        assert settings.recover() == []
        operation = self.plan()
        assert framework.refused(operation, accepted) == []
        clock = Clock()
        framework._recorded(
            self.cluster, operation, settings, self.lines.append, framework.Clock(clock, clock.sleep)
        )
        return operation

    def settle(self):
        """Have the phases of the installer recorded as done."""
        for phase in ("base", "ceph", "cephfs"):
            self.state.start(phase, {"s1": "d"}, "r")
            self.state.finish(phase, {"s1": PhaseState.DONE})


class _Cluster(Cluster):
    def ceph(self, *words, timeout=60.0):
        return self.__dict__["room"].ceph.ceph(*words)


def failure(room):
    """Return the ids of findings with which a run ends, and what they found; its exit status is 1."""
    try:
        room.run()
    except AvadmError as error:
        assert error.exit_code == EXIT_FOUND_BAD
        return [(f.check, f.found) for f in error.findings]
    raise AssertionError("it ended well")
