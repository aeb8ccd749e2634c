"""A running site whose units stop and start: what they serve is there only while they run, as the cluster itself reports."""

import copy
import json
import threading
from dataclasses import dataclass, field
from datetime import timedelta
from fnmatch import fnmatchcase

import pytest

from avadm.cluster.connection import Cluster
from avadm.cluster.settings import Settings
from avadm.components.ava.component import NAMESPACE, PARTS, doors, mount
from avadm.components.catalog import daemons
from avadm.errors import AvadmError
from avadm.kube.node_runs import NodeRuns, Run, utc
from avadm.operations import run as runner
from avadm.operations.power_down import Down, down
from avadm.operations.power_nodes import PowerNodes  # noqa: F401 - for tests
from avadm.operations.power_up import up
from avadm.site import profile as profiles
from avadm.site.load import SiteFile
from avadm.state.power import powered_down
from avadm.state.site_state import SiteState
from tests.unit.fakes import sites
from tests.unit.fakes.clock import Clock as SteppedClock
from tests.unit.fakes.nodes import answer, called, given
from tests.unit.operations.ava_room import processes
from tests.unit.operations.running_site import RunningSite
from tests.unit.operations.running_site import nodes as running_nodes

FSID = "11111111-2222-3333-4444-555555555555"
COMPONENTS = {"database": {}, "ava": {}, "ceph": {"filesystem": {"mount": "/cephfs"}}}
ONE = threading.RLock()
ROLES = {
    "osd": "ceph-osd@*.service",
    "mon": "ceph-mon@*.service",
    "mgr": "ceph-mgr@*.service",
    "mds": "ceph-mds@*.service",
    "etcd": "etcd.service",
    "master": "kube-apiserver.service",
    "alertmanager": "prometheus-alertmanager.service",
}


def site():
    """Return a site with AVA and a database of two nodes."""
    nodes = running_nodes()
    for one in nodes:
        if one["name"] in ("mast1", "mast2"):
            one["roles"].append("database")
    network = {"ingress_vip": "10.0.0.251"}
    return sites.site(*nodes, network=network, components=COMPONENTS)


@dataclass
class PowerRoom(RunningSite):
    """Nodes with units.

    Attributes:
        stopped: (node, unit) of those that do not run, of all that are enabled.
        order: (node, unit) of what was stopped, in order, and of what was started, with a plus sign.
        pod_names: node to its pods.
        without: pods without a controller.
        cephfs: nodes that have the file system mounted.
        holders: node to what uses it.
        off: nodes that were switched off, with the seconds.
        own: the node that avadm runs on.
        standby: the database's node that follows; the other one is the primary, as long as it runs.
        way: what AVA's way in answers while it runs.
        watch: is called after each change, for kills in the middle of a step.
    """

    stopped: set = field(default_factory=set)
    order: list = field(default_factory=list)
    pod_names: dict = field(
        default_factory=lambda: {"comp1": ["shop/a", f"{NAMESPACE}/api"], "comp2": ["shop/b"]}
    )
    without: set = field(default_factory=set)
    containers: dict = field(default_factory=lambda: {"comp3": 2})
    cephfs: set = field(default_factory=lambda: {"comp1", "comp2", "comp3"})
    holders: dict = field(default_factory=dict)
    site_noout: bool = False
    off: list = field(default_factory=list)
    own: str = ""
    standby: str = "mast1"
    flapping: set = field(default_factory=set)
    way: int = 200
    watch: object = None

    def copy(self):
        return copy.deepcopy({k: v for k, v in vars(self).items() if k not in ("site", "watch", "asked")})

    def changed(self):
        if self.watch:
            self.watch()

    def units(self, node):
        """Return pattern to the units of a node that are enabled."""
        one = next(n for n in self.site.nodes if n.name == node)
        found = {}
        for daemon in daemons(self.site, one):
            for pattern in daemon.units:
                names = [node] if pattern != ROLES["osd"] else [str(i) for i in self.osds(node)]
                found[pattern] = [pattern.replace("*", name) for name in names]
        return found

    def runs(self, node, pattern):
        return node not in self.dead and all(
            (node, u) not in self.stopped for u in self.units(node).get(pattern, [""])
        )

    def alive(self, role):
        pattern = ROLES.get(role)
        return [n for n in super().alive(role) if pattern is None or self.runs(n, pattern)]

    def up(self, number):
        """Return whether monitors call an OSD up: the last of all they never mark down (mon_osd_min_up_ratio)."""
        last = number == 0 and all(
            (h, f"ceph-osd@{i}.service") in self.stopped for h in self.names("osd") for i in self.osds(h)
        )
        return last or self._runs_osd(number)

    def _runs_osd(self, number):
        host = self.names("osd")[number // 2]
        return (
            host not in self.dead
            and number not in self.down
            and (host, f"ceph-osd@{number}.service") not in self.stopped
        )

    @property
    def all_units(self):
        return {(n.name, u) for n in self.site.nodes for units in self.units(n.name).values() for u in units}

    @property
    def marks(self):
        return (self.site_noout, set(self.cordoned), sorted(self.silences.values()), set(self.stopped))

    def run(self, node, command, *, timeout=60.0, stdin=None):
        # Nodes are asked side by side; what a kill leaves is one moment.
        with ONE:
            return self._one(node, command, timeout, stdin)

    def _one(self, node, command, timeout, stdin):
        if node in self.dead or stdin is None:
            return super().run(node, command, timeout=timeout, stdin=stdin)
        self.asked.append((node, command))
        name = called(stdin)
        if self.broken & {name, f"{name} {given(stdin).get('do')}"}:
            return answer(node, command, json.dumps({"error": "no"}))
        if name == "kube.drain.answer":
            return self._masters(node, command) or self._drain(node, command, given(stdin))
        if name == "kube.ending.answer":
            return self._masters(node, command) or answer(
                node, command, json.dumps(self._ending(given(stdin)))
            )
        found = getattr(self, f"_{name.replace('.', '_')}")(node, given(stdin))
        return answer(node, command, json.dumps(found))

    def _masters(self, node, command):
        if not self.alive("master") or len(self.alive("etcd")) * 2 <= len(self.names("etcd")):
            return answer(node, command, json.dumps({"error": "connection refused", "nodes": {}}))
        return None

    def _power_units(self, node, asked):
        mine = {u: (node, u) in self.stopped for units in self.units(node).values() for u in units}
        mine = {u: gone for u, gone in mine.items() if any(fnmatchcase(u, p) for p in asked["units"])}
        for unit, gone in sorted(mine.items()):
            if asked["do"] == "stop" and not gone:
                self.stopped.add((node, unit))
                self.order.append((node, unit))
                self.changed()
            elif asked["do"] == "start" and gone and unit not in self.flapping:
                self.stopped.discard((node, unit))
                self.order.append((node, "+" + unit))
                if unit == "avadm-cephfs.service":
                    self.cephfs.add(node)
                self.changed()
        running = {u: "active" for u in mine if (node, u) not in self.stopped}
        return {"running": running, "missing": [u for u in mine if (node, u) in self.stopped]}

    def _power_containers(self, node, asked):
        if asked["do"] == "stop" and self.containers.pop(node, 0):
            self.order.append((node, "containers"))
            self.changed()
        return {"left": self.containers.get(node, 0)}

    def _power_storage(self, node, asked):
        assert (asked["fsid"], asked["mount"]) == (FSID, "/cephfs")
        if asked["do"] == "release" and node in self.cephfs and not self.holders.get(node):
            assert self.alive("mds"), "a mount is taken away after the metadata servers"
            self.cephfs.discard(node)
            self.stopped.add((node, "avadm-cephfs.service"))
            self.order.append((node, "avadm-cephfs.service"))
            self.changed()
        mounts = ["/cephfs"] if node in self.cephfs else []
        return {"mounts": mounts, "mapped": [], "holders": self.holders.get(node, []), "failed": []}

    def _power_fsid(self, node, asked):
        return {"fsid": FSID}

    def _power_identity(self, node, asked):
        return {"ours": node == self.own}

    def _power_off(self, node, asked):
        self.off.append((node, asked["seconds"]))
        if asked["seconds"] < 60:
            self.switch_off(node)
        return {"off": True}

    def switch_off(self, node):
        self.dead.add(node)
        self.cephfs.discard(node)

    def switch_on(self):
        """Switch all nodes on: what is enabled starts by itself."""
        self.dead.clear()
        self.stopped.clear()
        self.cephfs |= set(self.names("client"))

    def _ava_processes_ask(self, node, asked):
        parts = [*PARTS, *doors(self.site), *(["storage"] if mount(self.site) else [])]
        return processes(parts, self._platform_runs, self.way if self._platform_runs else 0)

    @property
    def _platform_runs(self):
        return (
            "comp1" not in self.cordoned
            and self.runs("comp1", "kubelet.service")
            and bool(self.alive("master"))
        )

    def _ending(self, asked):
        def chosen(pod):
            space = pod.partition("/")[0]
            return space == asked["namespace"] if asked["namespace"] else space not in asked["except"]

        pods = [(n, p) for n in asked["names"] for p in self.pod_names.get(n, []) if chosen(p)]
        lost = [p for _, p in pods if p in self.without]
        refused = {"without-controller": lost} if lost and not asked["force"] else {}
        if asked["do"] == "end" and not refused:
            for node, pod in pods:
                assert node in self.cordoned, "its controller makes it again there"
                self.pod_names[node].remove(pod)
                self.order.append((node, f"pod {pod}"))
                self.changed()
            pods = []
        runs = {p: p.partition("/")[2] for _, p in pods if p.startswith("ava-g")}
        return {"left": [{"pod": p, "node": n, "why": ""} for n, p in pods], "refused": refused, "runs": runs}

    def _drain(self, node, command, asked):
        found = {}
        for name in asked["names"]:
            if asked["do"] == "look":
                pods = {p: p.partition("/")[2] for p in self.pod_names.get(name, []) if p.startswith("ava-g")}
                found[name] = {"cordoned": name in self.cordoned, "going": [], "refused": {}, "runs": pods}
            else:
                wanted = asked["do"] == "cordon"
                found[name] = {"changed": (name in self.cordoned) != wanted}
                (self.cordoned.add if wanted else self.cordoned.discard)(name)
                self.changed()
        return answer(node, command, json.dumps({"nodes": found}))

    def _mountpoint(self, node, words):
        return "", int(node not in self.cephfs), ""

    def _avadm_etcd(self, node, words):
        out, rc, err = super()._avadm_etcd(node, words)
        return out, int(bool(rc) or not self.runs(node, ROLES["etcd"])), err

    def _avadm_database_health(self, node, words):
        running = [n for n in self.names("database") if self.runs(n, "patroni.service")]
        first = [n for n in running if n != self.standby] or running
        return "", int(node not in first[:1]), ""

    def _kubectl(self, node, words):
        if not self.runs(node, ROLES["master"]):
            return "", 1, "connection refused"
        out, rc, err = super()._kubectl(node, words)
        for name in [*self.names("master"), *self.names("worker")]:
            if not self.runs(name, "kubelet.service"):
                out = out.replace(f"{name} True", f"{name} Unknown")
        return out, rc, err

    def _ceph(self, node, words):
        quorum = len(self.alive("mon")) * 2 > len(self.names("mon"))
        match words[2:-2] if words[:1] == ["--connect-timeout"] else words:
            case ["osd", "set" | "unset" as verb, "noout"] if quorum:
                self.site_noout = verb == "set"
                self.changed()
                return "", 0, ""
            case ["osd", "dump"] if quorum:
                return json.dumps({"flags": "sortbitwise" + ",noout" * self.site_noout}), 0, ""
            case ["fs", "dump"] if quorum:
                up = self.alive("mds")
                info = {f"gid_{i}": {"name": n, "state": "up:active"} for i, n in enumerate(up[:1])}
                maps = [{"mdsmap": {"max_mds": 1, "info": info}}]
                return json.dumps({"standbys": [{"name": n} for n in up[1:]], "filesystems": maps}), 0, ""
        return super()._ceph(node, words)

    def _amtool(self, node, words):
        if not self.runs(node, ROLES["alertmanager"]):
            return "", 1, "connection refused"
        return super()._amtool(node, words)


@dataclass
class FakePlatform:
    """AVA with runs whose pods end once their notice was begun, where that may be."""

    room: PowerRoom
    begun: dict = field(default_factory=dict)
    broken: bool = False
    stubborn: bool = False

    def add(self, node, kind, name, owner="ann"):
        self.room.pod_names.setdefault(node, []).append(f"ava-g/{name}")
        self.kinds = {**getattr(self, "kinds", {}), name: (kind, owner)}

    def node(self, node):
        if self.broken:
            raise AvadmError.of("power-silent", where="ava")
        found = []
        for pod in self.room.pod_names.get(node, []):
            if pod.startswith("ava-g/"):
                kind, owner = self.kinds[pod[6:]]
                since = utc() - timedelta(hours=5)
                found.append(
                    Run(pod[6:], kind, pod[6:], owner, "g", "ava-g", since, utc() - timedelta(seconds=1))
                )
        over = utc() - timedelta(seconds=1)
        return NodeRuns(found, over if node in self.begun else None)

    def close(self):
        pass

    def begin(self, node, notice):
        self.begun[node] = notice
        assert node in self.room.cordoned, "a drain of a node that takes pods is withdrawn"
        if not self.stubborn:
            pods = self.room.pod_names.get(node, [])
            self.room.pod_names[node] = [p for p in pods if not p.startswith("ava-g/")]

    def withdraw(self, node):
        self.begun.pop(node, None)


@dataclass
class Bench:
    """A site on which both verbs are run without its lock."""

    fleet: PowerRoom
    site_file: SiteFile
    state: SiteState
    lines: list = field(default_factory=list)

    def __post_init__(self):
        self.platform = FakePlatform(self.fleet)

    def cluster(self):
        platforms = dict.fromkeys(("", "root"), self.platform)
        return Cluster(self.site_file, self.fleet, self.state, platforms=platforms)

    def down(self, *, accept=(), **more):
        asked = Down(accepted=frozenset(accept), **more)
        return self.run(down(asked), accept)

    def up(self, *, accept=()):
        return self.run(up(frozenset(accept)), accept)

    def run(self, build, accept=()):
        """Do what `operations.run.run` does under the lock."""
        settings = Settings(self.cluster(), self.lines.append)
        left = settings.recover()
        operation = build(self.cluster())
        blocked = runner.half_done(self.state, operation.components, operation.command)
        if findings := [*left, *blocked, *runner.refused(operation, accept)]:
            raise AvadmError(findings)
        clock = SteppedClock()
        runner._recorded(
            self.cluster(), operation, settings, self.lines.append, runner.Clock(clock, clock.sleep)
        )
        return operation

    @property
    def note(self):
        return powered_down(self.state)


def bench(tmp_path):
    """Return a running site in a folder."""
    one = site()
    site_file = SiteFile(tmp_path / "site.yml", one, profiles.load("lab-bookworm"))
    return Bench(PowerRoom(one), site_file, SiteState.of(site_file.path, "demo"))


def refusals(call, *, code=2, **more):
    """Return the ids of what refused or ended a call."""
    with pytest.raises(AvadmError) as error:
        call(**more)
    assert error.value.exit_code == code, error.value
    return [f.check for f in error.value.findings]


def kills(room, call):
    """Run a command; return the site and its state after each change of either, as a kill there would leave them."""
    held, plain = [], SiteState._save

    def keep():
        held.append((room.fleet.copy(), json.dumps(room.state.as_dict())))

    def save(self):
        plain(self)
        keep()

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(SiteState, "_save", save)
        room.fleet.watch = keep
        call()
        room.fleet.watch = None
    return held


def killed(room, tmp_path, name, held):
    """Return a bench whose site is as a kill left it."""
    fleet, state = held
    again = Bench(PowerRoom(room.fleet.site), room.site_file, SiteState(tmp_path / f"{name}.json", "demo"))
    again.fleet.restore(fleet)
    again.state.replace(json.loads(state))
    return again
