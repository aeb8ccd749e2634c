"""The room with three masters, three members of etcd, PostgreSQL on three nodes, and two of each service."""

import json
import re
import shlex

from tests.unit.fakes.nodes import answer, called, given
from tests.unit.operations.removal_room import Room

SITE = """\
# The demo.
version: 1
name: t
profile: lab-bookworm
network: {management: 10.9.0.0/24, domain: example.test, api_vip: 10.9.0.250, ingress_vip: 10.9.0.251}
nodes:
  - {name: stor1, address: 10.9.0.11, roles: [mon, mgr, osd, mds], devices: [{serial: A1}]}
  - {name: stor2, address: 10.9.0.12, roles: [mon, mgr, osd, mds], devices: [{serial: A2}]}
  - {name: stor3, address: 10.9.0.13, roles: [mon, osd], devices: [{serial: A3}]}
  - {name: stor4, address: 10.9.0.14, roles: [osd], devices: [{serial: A4}]}
  - {name: mast1, address: 10.9.0.31, roles: [etcd, master, dns, registry]}
  - {name: mast2, address: 10.9.0.32, roles: [etcd, master, dns, registry]}
  - {name: mast3, address: 10.9.0.33, roles: [etcd, master]}
  - {name: comp1, address: 10.9.0.21, roles: [client, worker, database, ingress, prometheus, alertmanager]}
  - {name: comp2, address: 10.9.0.22, roles: [client, worker, database, ingress, prometheus, alertmanager]}
  - {name: comp3, address: 10.9.0.23, roles: [client, worker, database, grafana]}
components:
  database: {names: [shop], vip: 10.9.0.252}
  logs: {stores: [stor1, comp3]}
"""
MASTERS, DATABASES = ("mast1", "mast2", "mast3"), ("comp1", "comp2", "comp3")
ADDRESS = dict(re.findall(r"name: (\w+), address: ([\d.]+)", SITE))


class Services(Room):
    """A fleet whose etcd, PostgreSQL and API servers change as commands have them."""

    def __init__(self, root):
        super().__init__(root)
        self.kube = {*MASTERS, *DATABASES}
        self.calico, self.peers, self.pods = set(self.kube), {}, {}
        self.members = {name: 0xA0 + i for i, name in enumerate(MASTERS, start=1)}
        self.etcd_down, self.learners, self.leads = set(), set(), "mast1"
        self.apis, self.endpoints = set(MASTERS), set(MASTERS)
        self.patroni = {"comp1": "Leader", "comp2": "Sync Standby", "comp3": "Replica"}
        self.patroni_down, self.not_serving, self.mesh_why, self.mesh = set(), set(), "", 1
        self.brought = []

    def bring(self, site_file, phases, nodes, tell):
        names = {n.name for n in site_file.site.nodes}
        self.act(f"bring {' '.join(phases)} on {' '.join(sorted(set(nodes) & names))}")
        self.brought.append((tuple(phases), {n.name: n.roles for n in site_file.site.nodes}))

    def run(self, node, command, *, timeout=60.0, stdin=None):
        if node in self.silent:
            return answer(node, command, rc=255, error="no route")
        if stdin is not None and called(stdin) == "monitoring.ask":
            found = {"why": self.mesh_why, "members": self.mesh if given(stdin).get("mesh") else None}
            return answer(node, command, json.dumps(found))
        for start, method in (
            ("avadm-etcd ctl ", self.etcdctl),
            ("timeout 90 patronictl ", self.patronictl),
            ("timeout 20 kubectl ", self.healthz),
        ):
            if command.startswith(start):
                return method(node, command)
        if command.startswith(("curl ", "/usr/local/sbin/avadm-ingress-health")):
            return answer(node, command, rc=int(node in self.not_serving), err="Connection refused")
        done = super().run(node, command, timeout=timeout, stdin=stdin)
        for at, unit in self.stopped:
            if unit == "kube-apiserver":
                self.apis.discard(at)
                self.endpoints.discard(at)
            if unit == "patroni" and at in self.patroni:
                assert self.patroni[at] != "Leader", "a primary was stopped"
                del self.patroni[at]
                self.follow_up()
            if unit == "etcd":
                assert at not in self.members, "a member was stopped before it was removed"
        return done

    def follow_up(self):
        """Have one standby in sync, as Patroni sees to."""
        replicas = [n for n, role in self.patroni.items() if role == "Replica"]
        if replicas and "Sync Standby" not in self.patroni.values():
            self.patroni[replicas[0]] = "Sync Standby"

    def healthz(self, node, command):
        return answer(node, command, "ok" if node in self.apis else "", 0 if node in self.apis else 1)

    def kubectl(self, words):
        if words[:2] == ["get", "endpoints"]:
            return " ".join(ADDRESS[n] for n in sorted(self.endpoints))
        return super().kubectl(words)

    def etcdctl(self, node, command):
        if node not in self.members or node in self.etcd_down:
            return answer(node, command, rc=1, err="connection refused")
        words = shlex.split(command.removesuffix(" || true"))[2:]
        up = [n for n in self.members if n not in self.etcd_down]
        endpoint = {n: f"https://{ADDRESS.get(n, '10.9.0.34')}:2379" for n in self.members}
        match words:
            case ["member", "list", *_]:
                found = [
                    {
                        "ID": id,
                        "name": n,
                        "peerURLs": [endpoint[n].replace("2379", "2380")],
                        **({"isLearner": True} if n in self.learners else {}),
                    }
                    for n, id in self.members.items()
                ]
                return answer(node, command, json.dumps({"header": {"cluster_id": 1}, "members": found}))
            case ["member", "remove", id]:
                [name] = [n for n, one in self.members.items() if format(one, "x") == id]
                assert name != self.leads, "the leader was removed"
                self.act(f"etcd member remove {name}")
                del self.members[name]
                return answer(node, command)
            case ["move-leader", id]:
                self.act("move-leader")
                [self.leads] = [n for n, one in self.members.items() if format(one, "x") == id]
                return answer(node, command)
            case ["endpoint", "status", *_]:
                head = {n: {"member_id": self.members[n], "revision": 7} for n in up}
                found = [
                    {
                        "Endpoint": endpoint[n],
                        "Status": {"header": head[n], "leader": self.members.get(self.leads, 0)},
                    }
                    for n in up
                ]
            case ["endpoint", "hashkv", *_]:
                found = [{"Endpoint": endpoint[n], "HashKV": {"hash": 5}} for n in up]
        return answer(node, command, json.dumps(found))

    def patronictl(self, node, command):
        words = shlex.split(command)
        if words[5] == "list":
            found = [
                {
                    "Member": n,
                    "Role": role,
                    "State": "stopped"
                    if n in self.patroni_down
                    else ("running" if role == "Leader" else "streaming"),
                }
                for n, role in self.patroni.items()
            ]
            return answer(node, command, json.dumps(found))
        assert words[5:7] == ["switchover", "t"]
        heir = words[words.index("--candidate") + 1]
        assert self.patroni[heir] == "Sync Standby", "a standby that lacks something took over"
        self.act(f"switchover to {heir}")
        first = next(n for n, role in self.patroni.items() if role == "Leader")
        self.patroni |= {first: "Replica", heir: "Leader"}
        self.follow_up()
        return answer(node, command)
