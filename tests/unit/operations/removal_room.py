"""A cluster that behaves: OSDs whose data move by weight, monitors, pods, Calico's nodes, and programs that are stopped."""

import json
import re
import shlex

from tests.unit.fakes.nodes import Nodes, answer, called, given
from tests.unit.operations.ava_room import Ava

SITE = """\
# The demo.
version: 1
name: t
profile: lab-bookworm
network: {management: 10.9.0.0/24, domain: example.test, api_vip: 10.9.0.250}
nodes:
  - {name: stor1, address: 10.9.0.11, roles: [mon, mgr, osd, mds], devices: [{serial: A1}]}
  - {name: stor2, address: 10.9.0.12, roles: [mon, mgr, osd, mds], devices: [{serial: A2}]}
  - {name: stor3, address: 10.9.0.13, roles: [mon, osd], devices: [{serial: A3}]}
  # Bought in 2024.
  - {name: stor4, address: 10.9.0.14, roles: [osd], devices: [{serial: A4}]}
  - {name: mast1, address: 10.9.0.31, roles: [etcd, master]}
  - {name: comp1, address: 10.9.0.21, roles: [client, worker, dns, prometheus, alertmanager]}
  - {name: comp2, address: 10.9.0.22, roles: [client, worker, prometheus, alertmanager]}
  - {name: comp3, address: 10.9.0.23, roles: [client, worker]}
"""
GIB = 1 << 20


class Room(Nodes):
    """A fleet before a cluster; what commands change is seen by later ones.

    Data of an OSD without weight leave it at each look at the status, one group after the other; an OSD that is down has
    nothing on it once all is clean again.
    """

    def __init__(self, root):
        super().__init__(root)
        self.osds = {
            n: {"host": f"stor{n + 1}", "up": True, "weight": 1.0, "pgs": 4, "used": 2} for n in range(4)
        }
        self.buckets = {"stor1", "stor2", "stor3", "stor4"}
        self.mons = {"stor1", "stor2", "stor3"}
        self.quorum = set(self.mons)
        self.mgrs, self.mdss = ["stor1", "stor2"], ["stor1", "stor2"]
        self.entities = {f"{kind}.{n}" for kind in ("mgr", "mds") for n in ("stor1", "stor2")}
        self.entities |= {f"osd.{n}" for n in self.osds}
        self.racks = {}
        self.asked_for_ceph = set()
        self.size, self.kb, self.bad_groups, self.unsafe = 3, 10, {}, set()
        self.kube = {"mast1", "comp1", "comp2", "comp3"}
        self.calico = set(self.kube)
        self.peers = {"avadm-switch-a-comp3": "comp3", "avadm-switch-b": ""}
        self.volumes = {}
        self.pods = {"comp3": ["shop/a", "shop/b"]}
        self.refused, self.ava, self.stopped = {}, Ava(), []
        self.cordons = []
        self.killed_after = None
        self.acts = 0

    # What is asked.

    def run(self, node, command, *, timeout=60.0, stdin=None):
        if node in self.silent:
            return answer(node, command, rc=255, error="no route")
        if " ceph --connect-timeout" in command:
            words = shlex.split(command)
            self.asked_for_ceph.add(node)
            return self._json(node, command, self.ceph(words[words.index("15") + 1 : -2]))
        if command.startswith("kubectl"):
            return answer(node, command, self.kubectl(shlex.split(command)[4:]))
        if command.startswith("/usr/local/sbin/avadm-calicoctl"):
            return self._json(node, command, self.calicoctl(shlex.split(command)[1:]))
        if command == "true":
            return answer(node, command)
        if stdin is not None and called(stdin) == "kube.drain.answer":
            return self._json(node, command, {"nodes": self.drain(given(stdin))})
        if stdin is None and not command.startswith("cat "):
            self.act(f"{node}: {command}")
            self.stopped += [(node, unit) for unit in re.findall(r"disable --now ([^ ]+) 2", command)]
            for _, unit in self.stopped:
                if unit.startswith("ceph-osd@"):
                    self.osds.get(int(unit.partition("@")[2]), {})["up"] = False
            return answer(node, command)
        return super().run(node, command, timeout=timeout, stdin=stdin)

    def map(self, commands, *, timeout=60.0, stdin=None):
        return {
            node: self.run(node, command, timeout=timeout, stdin=stdin) for node, command in commands.items()
        }

    def put(self, node, content, path, *, mode=0o644):
        return super().put(node, content, path, mode=mode)

    def _json(self, node, command, found):
        return answer(node, command, "" if found is None else json.dumps(found))

    def act(self, what):
        """Count something that changes; a test has the command killed after some of them."""
        self.acts += 1
        self.did = [*getattr(self, "did", []), what]
        if self.killed_after is not None and self.acts > self.killed_after:
            raise KeyboardInterrupt

    # Ceph.

    def ceph(self, words):
        name = "_".join(words[:2]).replace("-", "_")
        if words[0] == "status":
            return self.status()
        if words[:3] == ["osd", "df", "tree"]:
            return self.tree()
        if words[:2] == ["osd", "crush"]:
            self.act(" ".join(words))
            if words[2] == "reweight":
                self.osds[int(words[3].removeprefix("osd."))]["weight"] = float(words[4])
            else:
                self.buckets.discard(words[3])
            return None
        return getattr(self, f"ceph_{name}", self.ceph_quorum_status)(*words[2:])

    def status(self):
        moving = [one for one in self.osds.values() if one["weight"] == 0 and one["pgs"]]
        states = dict(self.bad_groups) or {"active+clean": 12, "active+clean+scrubbing": 1}
        if moving:
            moving[0]["pgs"] -= 1
            states = {"active+clean": 11, "active+remapped+backfilling": 1}
        groups = [{"state_name": state, "count": count} for state, count in states.items()]
        return {"pgmap": {"pgs_by_state": groups, "misplaced_objects": len(moving)}}

    def tree(self):
        hosts = sorted(self.buckets)
        top = [] if self.racks else [-10 - i for i in range(len(hosts))]
        nodes = [{"id": -1, "name": "default", "type": "root", "children": top}]
        for i, host in enumerate(hosts):
            own = [n for n, one in self.osds.items() if one["host"] == host]
            nodes.append({"id": -10 - i, "name": host, "type": "host", "children": own})
        for i, rack in enumerate(sorted(set(self.racks.values()))):
            held = [-10 - hosts.index(host) for host in hosts if self.racks.get(host) == rack]
            nodes.append({"id": -50 - i, "name": rack, "type": "rack", "children": held})
        for n, one in self.osds.items():
            used = one["used"] * GIB
            about = {"kb": self.kb * GIB, "kb_used": used, "crush_weight": one["weight"], "pgs": one["pgs"]}
            nodes.append({"id": n, "name": f"osd.{n}", "type": "osd", **about})
        return {"nodes": nodes, "stray": []}

    def ceph_osd_dump(self):
        osds = [{"osd": n, "up": int(one["up"]), "in": 1} for n, one in self.osds.items()]
        return {"osds": osds, "pools": [{"size": self.size}], "nearfull_ratio": 0.85}

    def ceph_osd_safe_to_destroy(self, *ids):
        return {
            "safe_to_destroy": [n for n in map(int, ids) if not self.osds[n]["pgs"] and n not in self.unsafe]
        }

    def ceph_osd_down(self, n):
        self.act(f"osd down {n}")

    def ceph_osd_purge(self, n, sure):
        assert sure == "--yes-i-really-mean-it"
        assert not self.osds[int(n)]["up"]
        assert not self.osds[int(n)]["pgs"], "data were lost"
        self.act(f"osd purge {n}")
        del self.osds[int(n)]
        self.entities.discard(f"osd.{n}")

    def ceph_fs_dump(self):
        active, *standbys = self.mdss
        info = {"gid_1": {"name": active, "state": "up:active", "rank": 0}}
        return {
            "filesystems": [{"mdsmap": {"max_mds": 1, "info": info}}],
            "standbys": [{"name": name} for name in standbys],
        }

    def ceph_mgr_dump(self):
        return {
            "available": True,
            "active_name": self.mgrs[0],
            "standbys": [{"name": n} for n in self.mgrs[1:]],
        }

    def ceph_mds_fail(self, name):
        self.act(f"mds fail {name}")

    def ceph_mgr_fail(self, name):
        self.act(f"mgr fail {name}")
        self.mgrs.remove(name)

    def ceph_auth_ls(self):
        return {"auth_dump": [{"entity": one} for one in sorted(self.entities)]}

    def ceph_auth_rm(self, entity):
        self.act(f"auth rm {entity}")
        self.entities.discard(entity)
        kind, _, name = entity.partition(".")
        for running in {"mds": [self.mdss], "mgr": [self.mgrs]}.get(kind, []):
            if name in running:
                running.remove(name)

    def ceph_quorum_status(self):
        return {
            "quorum_names": sorted(self.quorum),
            "monmap": {"mons": [{"name": n} for n in sorted(self.mons)]},
        }

    def ceph_mon_remove(self, name):
        self.act(f"mon remove {name}")
        self.mons.discard(name)
        self.quorum.discard(name)

    # Kubernetes.

    def kubectl(self, words):
        if words[:2] == ["get", "pv"]:
            return json.dumps({"items": [self.volume(*one) for one in self.volumes.items()]})
        if words[:2] == ["get", "node"]:
            return f"node/{words[2]}\n" if words[2] in self.kube else ""
        assert words[0] == "delete"
        self.act(" ".join(words))
        {"node": self.kube.discard, "pv": lambda name: self.volumes.pop(name, None)}[words[1]](words[2])
        return ""

    @staticmethod
    def volume(name, host):
        rule = {"key": "kubernetes.io/hostname", "operator": "In", "values": [host]}
        terms = {"nodeSelectorTerms": [{"matchExpressions": [rule]}]}
        noted = json.dumps({"requiredDuringSchedulingIgnoredDuringExecution": terms})
        affinity = {"volume.alpha.kubernetes.io/node-affinity": noted} if host else {}
        return {"metadata": {"name": name, "annotations": affinity}, "spec": {}}

    def calicoctl(self, words):
        if words[0] == "get":
            if words[1] == "node":
                return {"items": [{"metadata": {"name": name}} for name in sorted(self.calico)]}
            peers = self.peers.items()
            return {
                "items": [{"metadata": {"name": n}, "spec": {"node": at} if at else {}} for n, at in peers]
            }
        self.act(" ".join(words))
        assert words[0] == "delete"
        {"node": self.calico.discard, "bgppeer": lambda name: self.peers.pop(name, None)}[words[1]](words[2])
        return None

    def drain(self, asked):
        [name] = asked["names"]
        if asked["do"] == "look":
            allowed = {"without-controller": asked.get("force"), "local-data": asked.get("delete_local_data")}
            runs = self.ava.pods(name)
            bare = {"without-controller": list(runs)} if runs else {}
            refused = {why: pods for why, pods in {**bare, **self.refused}.items() if not allowed[why]}
            going = [*self.pods.get(name, []), *runs]
            return {name: {"cordoned": False, "going": going, "refused": refused, "runs": runs}}
        if asked["do"] == "drain":
            assert asked.get("runs") or not self.ava.pods(name), "kubectl would refuse"
            self.act(f"drain {name}")
            gone = self.pods.pop(name, [])
            return {name: {"done": True, "evicted": gone, "left": [], "refused": {}, "cordoned": True}}
        self.cordons.append(f"{asked['do']} {name}")
        return {name: {"changed": True}}
