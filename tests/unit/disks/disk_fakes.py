"""A site file with comments, and a fleet whose nodes answer what a test says about their disks."""

import json

from tests.unit.fakes.nodes import Nodes, answer, called, given

SITE = """# Our room.
version: 1
name: t
profile: lab-bookworm   # the lab's
network: {management: 10.0.0.0/24, domain: t.test}
nodes:
  - name: stor1
    address: 10.0.0.1
    roles: [mon, mgr, osd]
    devices:   # bought in May
      - by_id: "/dev/disk/by-id/wwn-0x5000000000000001"  # slot 1
  - name: stor2
    address: 10.0.0.2
    roles: [osd]
    # none yet
  - {name: c1, address: 10.0.0.3, roles: [client]}
components:
  ceph:
    filesystem: null
    rbd_pools: []
"""


def report(kernel="sdb", **values):
    link = f"/dev/disk/by-id/wwn-{kernel}"
    names = {
        "name": f"by_id {link}",
        "path": link,
        "real": f"/dev/{kernel}",
        "kernel": kernel,
        "links": [link],
    }
    made = {"serial": f"SER-{kernel}", "wwn": f"0x{kernel}", "model": "DISK 4", "size": 4 * 10**12}
    state = {"state": "blank", "reasons": [], "osd": None, "approved": [], "approval": {"by_id": link}}
    more = {"rotational": False, "content": [], "numbers": "8:16" if kernel == "sdb" else "8:32"}
    return {**names, **made, **state, **more, **values}


class Node:
    """Answers the functions of the nodes' code; notes what it was asked. Locks are kept in folders below ``root``."""

    def __init__(self, root):
        self.locks = Nodes(root)
        self.disks = [report()]
        self.answers = {"disks.zap.look": {"reasons": [], "osds": [], "unread": ""}}
        self.answers["disks.zap.zap"] = {"reasons": [], "wiped": [[0, 1]], "after": report()}
        self.osds = {"osds": []}
        self.asked, self.error = [], None

    @property
    def erased(self):
        return "disks.zap.zap" in self.asked

    def run(self, node, command, *, timeout=60.0, stdin=None):
        if self.error:
            return answer(node, command, rc=255, error=self.error)
        if " ceph " in command:
            if self.osds == "none":
                return answer(node, command, rc=66)
            return answer(node, command, json.dumps(self.osds), rc=1 if self.osds is None else 0)
        call = called(stdin)
        if call == "lock.do":
            return self.locks.run(node, command, stdin=stdin)
        self.asked.append(call)
        self.given = given(stdin)
        return answer(node, command, json.dumps({**self.answers, "disks.report.every": self.disks}[call]))

    def close(self, nodes=None):
        pass
