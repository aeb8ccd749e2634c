"""Storage nodes in memory whose disks are pulled and inserted, and a ceph that copies what its placement groups lack."""

import copy
import json
import shlex
from dataclasses import dataclass, field

from avadm.remote.reason import Reason, Why
from avadm.site.load import load
from tests.unit.fakes.nodes import answer, called, given

GB = 10**9
FSID = "11111111-2222-3333-4444-555555555555"
SITE = """# Our room.
version: 1
name: t
profile: lab-bookworm
network: {management: 10.0.0.0/24, domain: t.test}
nodes:
  - name: stor1
    address: 10.0.0.1
    roles: [mon, mgr, osd]
    devices:   # bought in May
      - by_id: "/dev/disk/by-id/wwn-A0"
      - by_id: "/dev/disk/by-id/wwn-A1"
  - name: stor2
    address: 10.0.0.2
    roles: [mon, osd]
    devices:
      - by_id: /dev/disk/by-id/wwn-B2
      - by_id: /dev/disk/by-id/wwn-B3
  - name: stor3
    address: 10.0.0.3
    roles: [mon, osd]
    devices: [{by_id: /dev/disk/by-id/wwn-C4}]
  - {name: c1, address: 10.0.0.4, roles: [client]}
components:
  ceph: {filesystem: null, rbd_pools: []}
"""


@dataclass
class Pushed:
    """A disk in a bay."""

    name: str
    size: int = 10 * GB
    state: str = "blank"
    osd: dict | None = None
    writes: int = 0


@dataclass
class Room:
    """The site: a fleet of ssh, and the cluster behind it. Placement groups have their home on two OSDs of two hosts.

    Attributes:
        path: the site file.
        osds: id to host, uuid, up, in, destroyed.
        disks: node to its disks.
        groups: (home, holders): OSDs that are to hold it, and those that have it whole.
        copied: how many copies of placement groups were made.
        stuck: whether nothing is copied.
        vague: how many questions the managers cannot answer yet.
        dead: nodes that do not answer.
        seen: the flags that were set when an OSD was destroyed or made.
        bad: names of disks that cannot be written; they are `left` in this state.
    """

    path: object
    osds: dict = field(default_factory=dict)
    disks: dict = field(default_factory=dict)
    groups: list = field(default_factory=list)
    copied: int = 0
    stuck: bool = False
    vague: int = 0
    dead: set = field(default_factory=set)
    noout: set = field(default_factory=set)
    lit: list = field(default_factory=list)
    changes: list = field(default_factory=list)
    seen: list = field(default_factory=list)
    bad: set = field(default_factory=set)
    left: str = "refused"

    @classmethod
    def of(cls, path):
        path.write_text(SITE)
        room = cls(path)
        homes = {0: "stor1", 1: "stor1", 2: "stor2", 3: "stor2", 4: "stor3"}
        for number, host in homes.items():
            room.osds[number] = {
                "host": host,
                "uuid": f"u{number}",
                "up": True,
                "in": True,
                "destroyed": False,
            }
            name = f"wwn-{'AABBC'[number]}{number}"
            disk = Pushed(name, state="osd", osd={"id": number, "fsid": f"u{number}", "cluster": FSID})
            room.disks.setdefault(host, []).append(disk)
        room.groups = [[[a, b], {a, b}] for a, b in [(0, 2), (0, 3), (0, 4), (1, 2), (1, 4), (2, 4), (3, 0)]]
        return room

    def held(self, number):
        return sum(number in home for home, _ in self.groups)

    def disk(self, node, name):
        return next(d for d in self.disks[node] if d.name == name)

    def insert(self, node, name, **more):
        self.disks[node].append(Pushed(name, **more))

    def die(self, number, *, recovered, pulled=True):
        """Let an OSD die with its disk, and its data be copied elsewhere or not."""
        osd = self.osds[number]
        osd["up"] = False
        if pulled:
            disks = self.disks[osd["host"]]
            disks[:] = [d for d in disks if not (d.osd and d.osd["id"] == number)]
        if recovered:
            osd["in"] = False
            while not self.clean():
                self.recover()
            self.copied = 0

    # Placement

    def targets(self, home):
        found = []
        for number in home:
            if self.osds[number]["in"]:
                found.append(number)
            else:
                taken = {self.osds[o]["host"] for o in home if o != number}
                spare = [i for i, o in self.osds.items() if o["in"] and o["up"] and o["host"] not in taken]
                found += [i for i in spare if i not in home][:1]
        return found

    def alive(self, holders):
        return {i for i in holders if self.osds[i]["up"]}

    def states(self):
        found = {}
        for home, holders in self.groups:
            if not self.alive(holders):
                name = "stale+undersized+degraded+peered"
            elif len(self.alive(holders) & set(self.targets(home))) == 2:
                name = "active+clean"
            else:
                name = "active+undersized+degraded"
            found[name] = found.get(name, 0) + 1
        return found

    def clean(self):
        return set(self.states()) == {"active+clean"}

    def recover(self):
        for home, holders in self.groups:
            lacking = [i for i in self.targets(home) if self.osds[i]["up"] and i not in holders]
            if lacking and self.alive(holders) and not self.stuck:
                holders.add(lacking[0])
                self.copied += 1
                break
        for home, holders in self.groups:
            wanted = set(self.targets(home))
            if len(self.alive(holders) & wanted) == 2:
                # What has moved away is removed where it was.
                holders &= wanted | {i for i in holders if not self.osds[i]["up"]}

    def kept(self, number):
        mapped = any(number in self.targets(home) for home, _ in self.groups)
        if mapped and self.osds[number]["up"]:
            return "active"
        return "" if self.clean() else "missing_stats"

    # Nodes

    def run(self, node, command, *, timeout=60.0, stdin=None):
        if node in self.dead:
            return answer(node, command, rc=255, error=Reason(Why.NO_ROUTE, "no route"))
        if stdin is not None:
            return answer(node, command, json.dumps(self.called(node, called(stdin), given(stdin))))
        if command.startswith("systemctl disable"):
            number = int(command.split("ceph-osd@")[1].split(";")[0])
            self.changes.append(f"stop {number}")
            if not any(d.osd and d.osd["id"] == number and d.osd["fsid"] == "new" for d in self.disks[node]):
                self.osds[number]["up"] = False
            return answer(node, command)
        words = shlex.split(command)
        assert words[0] == "timeout", command
        out, rc, err = self.ceph([w for w in words[3:] if w not in ("--connect-timeout", "15", "-f", "json")])
        return answer(node, command, out, rc, err)

    def map(self, commands, **more):
        return {node: self.run(node, command, **more) for node, command in commands.items()}

    def close(self, nodes=None):
        pass

    def called(self, node, function, asked):
        if function == "disks.locate.do":
            self.lit.append((node, asked["device"], asked["on"]))
            return {"done": True, "how": "ledctl"}
        assert function == "disks.report.every"
        approved = {one["by_id"].rpartition("/")[2]: one for one in asked["devices"]}
        return [self.report(n, d, approved) for n, d in enumerate(self.disks[node])]

    def report(self, index, disk, approved):
        link = f"/dev/disk/by-id/{disk.name}"
        names = {"name": f"by_id {link}", "path": link, "real": f"/dev/sd{'bcdefg'[index]}", "links": [link]}
        return {
            **names,
            "kernel": f"sd{'bcdefg'[index]}",
            "serial": f"S-{disk.name}",
            "wwn": None,
            "model": "D",
            "size": disk.size,
            "state": disk.state,
            "reasons": ["has partitions: sdx1"] if disk.state == "refused" else [],
            "osd": copy.deepcopy(disk.osd),
            "approval": {"by_id": link},
            "approved": [f"by_id {link}"] if disk.name in approved else [],
            "rotational": False,
            "content": [],
            "numbers": f"8:{16 * index}",
        }

    # Ceph

    def ceph(self, words):
        match words:
            case ["osd", "dump"]:
                found = {"fsid": FSID, "osds": [self.dumped(i, o) for i, o in self.osds.items()]}
            case ["osd", "tree"]:
                found = {"nodes": self.tree()}
            case ["status"]:
                self.recover()
                states = [{"state_name": s, "count": n} for s, n in self.states().items()]
                found = {"pgmap": {"pgs_by_state": states, "degraded_objects": 0 if self.clean() else 5}}
            case ["osd", "metadata", number]:
                found = (
                    {"bluestore_bdev_size": str(10 * GB)} if not self.osds[int(number)]["destroyed"] else {}
                )
            case ["osd", "df"]:
                found = {"nodes": [{"id": i, "pgs": self.held(i)} for i in self.osds]}
            case ["osd", "safe-to-destroy", name]:
                number = int(name.removeprefix("osd."))
                if self.vague:
                    self.vague -= 1
                    return "", 11, f"Error EAGAIN: OSD(s) {number} have no reported stats"
                kept = self.kept(number)
                found = {k: [] for k in ("safe_to_destroy", "active", "missing_stats", "stored_pgs")} | {
                    kept or "safe_to_destroy": [number]
                }
            case ["osd", "out", name]:
                self.changes.append(f"out {name}")
                self.osds[int(name.removeprefix("osd."))]["in"] = False
                return "", 0, ""
            case ["osd", "set-group", "noout", host]:
                self.noout.add(host)
                return "", 0, ""
            case ["osd", "unset-group", "noout", host]:
                self.noout.discard(host)
                return "", 0, ""
            case ["osd", "destroy", name, *force]:
                return self.destroy(int(name.removeprefix("osd.")), force)
        return json.dumps(found | {"crush_node_flags": {h: ["noout"] for h in self.noout}}), 0, ""

    def dumped(self, number, osd):
        state = ["exists"] + ["destroyed"] * osd["destroyed"] + ["up"] * osd["up"]
        return {
            "osd": number,
            "uuid": osd["uuid"],
            "up": int(osd["up"]),
            "in": int(osd["in"]),
            "state": state,
        }

    def tree(self):
        hosts = {}
        for number, osd in self.osds.items():
            hosts.setdefault(osd["host"], []).append(number)
        rows = [
            {"id": -2 - n, "type": "host", "name": h, "children": c} for n, (h, c) in enumerate(hosts.items())
        ]
        osd = {"type": "osd", "crush_weight": 10 * GB / (1 << 40), "device_class": "ssd"}
        return [*rows, *({"id": i, **osd} for i in self.osds)]

    def destroy(self, number, force):
        osd = self.osds[number]
        if osd["up"]:
            return "", 16, f"Error EBUSY: osd.{number} is not `down`."
        if self.kept(number) and not force:
            return "", 16, "Error EBUSY: not safe"
        # Whatever the code under test asked for: this must never be the last copy.
        lost = [home for home, holders in self.groups if not self.alive(holders - {number})]
        assert not lost, f"destroying osd.{number} loses {lost}"
        self.changes.append(f"destroy {number}")
        self.seen.append(("destroy", set(self.noout)))
        osd.update(destroyed=True, uuid=f"gone{number}")
        for _, holders in self.groups:
            holders.discard(number)
        return "", 0, ""

    # The phase

    def phase(self, cluster, site_file, phase, node, own, tell, command):
        """Do what the role ceph_osd does on a node: an OSD on each approved disk that is blank."""
        from avadm.catalogue import finding
        from avadm.errors import AvadmError

        assert phase == "ceph"
        self.changes.append("phase")
        reused = own["ceph_osd_reused_ids"]
        approved = [d.by_id for d in load(self.path).site.node(node).devices]
        for by_id in (entry["by_id"] for entry in own["ceph_osd_devices"]):
            assert by_id in approved
            name = by_id.rpartition("/")[2]
            disk = next((d for d in self.disks[node] if d.name == name), None)
            assert disk is not None, f"{name} is approved, and not in the node"
            if disk.state == "osd":
                assert disk.osd["fsid"] == self.osds[disk.osd["id"]]["uuid"], "a destroyed OSD was started"
                continue
            disk.writes += 1
            if name in self.bad:
                disk.state = self.left
                raise AvadmError(finding("phase-failed", found="failed", phase=phase), 1)
            number = reused[by_id]
            assert self.osds[number]["destroyed"], "its id is taken"
            disk.state, disk.osd = "osd", {"id": number, "fsid": f"new-{name}", "cluster": FSID}
            self.osds[number].update(uuid=f"new-{name}", up=True, destroyed=False)
            self.osds[number]["in"] = True
            self.seen.append(("make", set(self.noout)))
