"""A site file with comments, and a fleet whose nodes answer what a test says about their disks."""

from __future__ import annotations

import json

from avadm.runner.fleet import Result
from tests.unit.fakes.nodes import Nodes

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
    return {
        "name": f"by_id {link}",
        "path": link,
        "real": f"/dev/{kernel}",
        "size": 4 * 10**12,
        "state": "blank",
        "reasons": [],
        "osd": None,
        "kernel": kernel,
        "links": [link],
        "approval": {"by_id": link},
        "approved": [],
        "serial": f"SER-{kernel}",
        "wwn": f"0x{kernel}",
        "model": "DISK 4",
        "rotational": False,
        "content": [],
        "numbers": "8:16" if kernel == "sdb" else "8:32",
        **values,
    }


class Node:
    """Answers the functions of the nodes' code; notes what it was asked. Locks are kept in folders below ``root``."""

    def __init__(self, root):
        self.locks = Nodes(root)
        self.disks = [report()]
        self.answers = {"avadm_zap.look": {"reasons": [], "osds": [], "unread": ""}}
        self.answers["avadm_zap.zap"] = {"reasons": [], "wiped": [[0, 1]], "after": report()}
        self.osds = {"osds": []}
        self.asked = []
        self.error = None

    def run(self, node, command, *, timeout=60.0, stdin=None):
        def result(out, rc=0):
            return Result(node, command, rc, out, "", 0.0, 0.0, self.error)

        if self.error:
            return result("", 255)
        if " ceph " in command:
            if self.osds == "none":
                return result("", 66)
            self.asked.append(command)
            return result(json.dumps(self.osds)) if self.osds is not None else result("", 1)
        call = stdin.decode().rsplit("json.dumps(", 1)[1].partition("(")[0]
        if call == "main":
            return self.locks.run(node, command, stdin=stdin)
        self.asked.append(call)
        literal = stdin.decode().rsplit("json.loads(", 1)[1].rpartition(")) + ")[0]
        self.given = json.loads(json.loads(literal.rstrip(")")))
        return result(json.dumps({**self.answers, "avadm_disk_report.every": self.disks}[call]))

    def close(self, nodes=None):
        pass
