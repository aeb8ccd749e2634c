"""A running site in memory: ceph, etcd, Kubernetes and Alertmanager that answer and change as the commands of steps do."""

import copy
import json
import re
import shlex
from dataclasses import dataclass, field

from avadm.remote.reason import Reason, Why
from tests.unit.fakes import sites
from tests.unit.fakes.nodes import answer, called, given
from tests.unit.operations.ava_room import Ava, processes

TEXTFILES = "/var/lib/prometheus/node-exporter"


def nodes(masters=3):
    """Return three storage nodes, masters and three workers, as the lab has them."""
    storage = [sites.node(f"stor{i}", i, "mon", "mgr", "osd", "mds", rack=f"r{i}") for i in (1, 2, 3)]
    control = [sites.node(f"mast{i}", 10 + i, "etcd", "master") for i in range(1, masters + 1)]
    roles = {
        1: ("prometheus", "alertmanager", "ingress", "dns"),
        2: ("prometheus", "alertmanager", "ingress"),
    }
    work = [sites.node(f"comp{i}", 20 + i, "client", "worker", *roles.get(i, ())) for i in (1, 2, 3)]
    return [*storage, *control, *work]


@dataclass
class RunningSite:
    """The site's nodes; a dead one answers nothing, and what runs on it is away.

    Attributes:
        dead: nodes without power.
        down: OSDs that are down though their node runs.
        out: OSDs that hold nothing any more.
        size: copies of each placement group, one on each host; at least `least` are needed.
        refused: node to what speaks against draining it, as kube.drain names it.
        pods: node to its pods that a drain moves.
        strangers: node to pods with AVA's labels, and the run that each names; AVA knows none of them.
        ava: the platform, where the site has it.
        broken: words of which a command has one fails, e.g. ``set-group``.
    """

    site: object
    dead: set = field(default_factory=set)
    down: set = field(default_factory=set)
    out: set = field(default_factory=set)
    noout: set = field(default_factory=set)
    cordoned: set = field(default_factory=set)
    pods: dict = field(
        default_factory=lambda: {"comp1": ["shop/a"], "comp2": ["shop/b"], "comp3": ["shop/c"]}
    )
    refused: dict = field(default_factory=dict)
    strangers: dict = field(default_factory=dict)
    ava: Ava = field(default_factory=Ava)
    silences: dict = field(default_factory=dict)
    files: dict = field(default_factory=dict)
    broken: set = field(default_factory=set)
    out_of_quorum: set = field(default_factory=set)
    least: int = 2
    asked: list = field(default_factory=list)
    now: float = 1_790_000_000.0
    number: int = 0

    def names(self, role):
        return [n.name for n in self.site.with_role(role)]

    def alive(self, role):
        return [n for n in self.names(role) if n not in self.dead]

    def copy(self):
        return copy.deepcopy({k: v for k, v in vars(self).items() if k != "site"})

    def restore(self, held):
        vars(self).update(copy.deepcopy(held))

    @property
    def marks(self):
        """What operations set: compared before and after."""
        return (set(self.noout), set(self.cordoned), sorted(self.silences.values()), dict(self.files))

    def osds(self, host):
        index = self.names("osd").index(host)
        return [2 * index, 2 * index + 1]

    def up(self, number):
        host = self.names("osd")[number // 2]
        return host not in self.dead and number not in self.down

    def map(self, commands, *, timeout=60.0, stdin=None):
        return {n: self.run(n, c, timeout=timeout, stdin=stdin) for n, c in commands.items()}

    def put(self, node, content, path, *, mode=0o644):
        if node in self.dead:
            return answer(node, "put", rc=255, error=Reason(Why.NO_ROUTE, "no route"))
        self.files[node, path] = content.decode()
        return answer(node, "put")

    def close(self, nodes=None):
        pass

    def run(self, node, command, *, timeout=60.0, stdin=None):
        if node in self.dead:
            return answer(node, command, rc=255, error=Reason(Why.NO_ROUTE, "no route"))
        self.asked.append((node, command))
        words = shlex.split(command)
        if words[0] == "timeout":
            words = words[2:]
        if self.broken & set(words):
            return answer(node, command, rc=22, err="Error EINVAL: no")
        if stdin is not None and called(stdin) == "ava.processes.ask":
            return answer(node, command, json.dumps(processes(["api"], not self.ava.silent)))
        if stdin is not None:
            return self._drain(node, command, given(stdin))
        name = words[0].rpartition("/")[2].replace("-", "_")
        out, rc, err = getattr(self, f"_{name}")(node, words[1:])
        return answer(node, command, out, rc, err)

    def _true(self, node, words):
        return "", 0, ""

    def _test(self, node, words):
        return "", 0, ""

    def _rm(self, node, words):
        self.files.pop((node, words[-1]), None)
        return "", 0, ""

    def _avadm_etcd(self, node, words):
        bad = node in self.out_of_quorum or len(self.alive("etcd")) * 2 <= len(self.names("etcd"))
        return "", int(bad), "unhealthy" if bad else ""

    def _kubectl(self, node, words):
        if len(self.alive("etcd")) * 2 <= len(self.names("etcd")):
            return "", 1, "etcdserver: request timed out"
        known = [*self.names("master"), *self.names("worker")]
        rows = [f"{n} {'Unknown' if n in self.dead else 'True'}" for n in known]
        return "\n".join(rows) + "\n", 0, ""

    def _ceph(self, node, words):
        if len(self.alive("mon")) * 2 <= len(self.names("mon")):
            return "", 1, "[errno 110] RADOS timed out"
        words = [w for w in words if w not in ("--connect-timeout", "15", "-f", "json")]
        mons = [{"name": n} for n in self.names("mon")]
        inside = [n for n in self.alive("mon") if n not in self.out_of_quorum]
        match words:
            case ["quorum_status"]:
                found = {"quorum_names": inside, "monmap": {"mons": mons}}
            case ["osd", "tree"]:
                found = {"nodes": self._tree()}
            case ["osd", "dump"]:
                found = {"crush_node_flags": {h: ["noout"] for h in self.noout}}
            case ["osd", "set-group", "noout", host]:
                self.noout.add(host)
                return "", 0, ""
            case ["osd", "unset-group", "noout", host]:
                self.noout.discard(host)
                return "", 0, ""
            case ["osd", "ok-to-stop", *ids]:
                gone = {self.names("osd")[int(i) // 2] for i in ids}
                left = {h for h in self.names("osd") if all(map(self.up, self.osds(h)))} - gone
                if len(left) < self.least:
                    bad = (
                        "Error EBUSY: unsafe to stop osd(s) at this time (8 PGs are or would become offline)"
                    )
                    return "", 16, bad
                found = {"ok_to_stop": True, "osds": list(map(int, ids))}
            case ["status"]:
                well = all(self.up(i) or i in self.out for h in self.names("osd") for i in self.osds(h))
                states = [("active+clean", 30), ("active+clean+scrubbing+deep", 2)]
                states = states if well else [("active+undersized+degraded", 32)]
                rows = [{"state_name": s, "count": n} for s, n in states]
                found = {"pgmap": {"pgs_by_state": rows, **({} if well else {"degraded_objects": 7})}}
            case ["fs", "dump"]:
                up = self.alive("mds")
                info = {f"gid_{i}": {"name": n} for i, n in enumerate(up[:1])}
                found = {
                    "standbys": [{"name": n} for n in up[1:]],
                    "filesystems": [{"mdsmap": {"max_mds": 1, "info": info}}],
                }
        return json.dumps(found), 0, ""

    def _tree(self):
        hosts = self.names("osd")
        rows = [
            {"id": -1, "type": "root", "name": "default", "children": [-2 - i for i in range(len(hosts))]}
        ]
        for i, host in enumerate(hosts):
            rows.append({"id": -2 - i, "type": "host", "name": host, "children": self.osds(host)})
            rows += [
                {
                    "id": o,
                    "type": "osd",
                    "name": f"osd.{o}",
                    "status": "up" if self.up(o) else "down",
                    "reweight": 0.0 if o in self.out else 1.0,
                }
                for o in self.osds(host)
            ]
        return rows

    def _amtool(self, node, words):
        if words[:2] == ["silence", "query"]:
            return json.dumps([{"id": i, "comment": c} for i, (c, _, _) in self.silences.items()]), 0, ""
        if words[:2] == ["silence", "add"]:
            options = dict(w[2:].split("=", 1) for w in words if w.startswith("--"))
            self.number += 1
            self.silences[f"id{self.number}"] = (options["comment"], options["end"], words[-1])
            return f"id{self.number}\n", 0, ""
        assert words[:2] == ["silence", "expire"]
        for one in words[2:]:
            del self.silences[one]
        return "", 0, ""

    def _drain(self, node, command, asked):
        if len(self.alive("etcd")) * 2 <= len(self.names("etcd")):
            return answer(node, command, json.dumps({"error": "etcdserver: request timed out", "nodes": {}}))
        found = {name: self._of(asked, name) for name in asked["names"]}
        return answer(node, command, json.dumps({"nodes": found}))

    def _of(self, asked, name):
        runs = self.ava.pods(name) | self.strangers.get(name, {})
        bare = {"without-controller": list(runs)} if runs and not asked.get("runs") else {}
        flags = {"without-controller": "force", "local-data": "delete_local_data"}
        planted = self.refused.get(name, {})
        against = {why: [*bare.get(why, []), *planted.get(why, [])] for why in {**bare, **planted}}
        against = {why: pods for why, pods in against.items() if not asked.get(flags.get(why))}
        match asked["do"]:
            case "look":
                return {
                    "cordoned": name in self.cordoned,
                    "going": [*runs, *self.pods.get(name, [])],
                    "refused": against,
                    "runs": runs,
                }
            case "cordon" | "uncordon":
                wanted = asked["do"] == "cordon"
                changed = (name in self.cordoned) != wanted
                (self.cordoned.add if wanted else self.cordoned.discard)(name)
                if changed:
                    self.ava.log.append(f"{asked['do']} {name}")
                return {"changed": changed}
        assert name not in self.dead, "a dead node was drained"
        assert name in self.cordoned
        gone = []
        if not against:
            gone = [*runs, *self.pods.pop(name, [])]
            self.ava.on.pop(name, None)
            self.strangers.pop(name, None)
            self.ava.log.append(f"evict {name}")
        return {"done": not against, "evicted": gone, "left": [], "refused": against, "cordoned": True}


def of_node(text, node):
    """Return whether a silence's matcher takes a node."""
    name, _, pattern = text.partition("=~")
    return name == "node" and re.fullmatch(pattern, node) is not None
