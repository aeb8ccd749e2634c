#!/usr/bin/python
# Runs on nodes: python 2.7 and 3.
from __future__ import absolute_import, division, print_function

DOCUMENTATION = r"""
---
module: avadm_ceph_wait
short_description: Wait until a monitor is in the quorum, or the cluster is healthy
description:
  - C(quorum) asks the monitor of this node over its own socket, which needs no key and no quorum.
  - C(health) asks the cluster until it says HEALTH_OK and no warning is muted; warnings that I(tolerate)
    names do not count, nor do the flags that hold scrubs off (C(noscrub), C(nodeep-scrub)), as people set them for
    the day, and an acceptance run sets them for its hours. Nor does C(OBJECT_MISPLACED), by which 13.2 warns while
    data move to OSDs that were added, for hours, since every copy is there and served.
  - Changes nothing.
options:
  until: {description: What to wait for., type: str, choices: [quorum, health], required: true}
  monitor: {description: The monitor of this node (C(quorum))., type: str}
  fsid: {description: The cluster that the monitor must belong to (C(quorum))., type: str}
  tolerate:
    description: Codes of health checks that may stand, e.g. C(OSD_NEARFULL).
    type: list
    elements: str
    default: []
  osds: {description: "How many OSDs must be up and in (C(health)).", type: int, default: 0}
  timeout: {description: Seconds to wait., type: int, default: 120}
  settled:
    description:
      - Seconds after which waiting ends early because nothing of what is missing changes any more.
      - A cluster that recovers changes its numbers all the time; a full disk or a dead monitor does not.
    type: int
    default: 90
"""

EXAMPLES = r"""
- name: Wait for a healthy cluster
  avadm_ceph_wait:
    until: health
    osds: 12
    timeout: 300
"""

RETURN = r"""
waited:
  description: Seconds.
  type: float
  returned: always
missing:
  description: Monitors that are not in the quorum, though this one is.
  type: list
  returned: until is quorum
"""

import json
import time

from ansible.module_utils.avadm_ceph import Ceph, CephError, NotThere, runner, tail, wait
from ansible.module_utils.basic import AnsibleModule


class Quorum(object):
    """Whether this node's monitor is in the quorum."""

    remedy = "See `systemctl status ceph-mon@NAME` on those monitors, and the network between them"

    def __init__(self, run, monitor, fsid):
        self.run, self.monitor, self.fsid = run, monitor, fsid
        self.missing = []

    def __call__(self):
        argv = ["ceph", "--admin-daemon", "/var/run/ceph/ceph-mon.%s.asok" % self.monitor, "mon_status"]
        rc, out, err = self.run(argv, None)
        if rc != 0:
            return "monitor %s does not answer on its socket: %s" % (self.monitor, tail(err or out, 1))
        status = json.loads(out)
        found = status["monmap"]["fsid"]
        if self.fsid and found != self.fsid:
            raise CephError(
                "monitor %s belongs to another cluster: found fsid %s, wanted %s. Its store "
                "/var/lib/ceph/mon/ceph-%s was made before; use another node, or move the store away"
                % (self.monitor, found, self.fsid, self.monitor)
            )
        quorum = set(status["quorum"])
        self.missing = [m["name"] for m in status["monmap"]["mons"] if m["rank"] not in quorum]
        if status["rank"] in quorum:
            return None
        return "monitor %s is %s; not in the quorum: %s" % (
            self.monitor,
            status["state"],
            ", ".join(self.missing) or "itself",
        )


MOVING = frozenset(["OBJECT_MISPLACED"])
"""Checks that say that data move: 13.2 warns by them, 14 and later only where mon_warn_on_misplaced asks for it."""


def scrubs_held_off(code, check):
    """Return whether a health check says no more than that scrubs are held off ("noscrub,nodeep-scrub flag(s) set")."""
    flags = check["summary"]["message"].partition(" flag")[0].split(",")
    return code == "OSDMAP_FLAGS" and set(flags) <= {"noscrub", "nodeep-scrub"}


class Health(object):
    """Whether the cluster is healthy."""

    remedy = "`ceph health detail` on a monitor node says more"

    def __init__(self, ceph, tolerate, osds):
        self.ceph, self.tolerate, self.osds = ceph, set(tolerate), osds

    def __call__(self):
        try:
            status = self.ceph.json("status")
        except CephError as error:
            return str(error)
        # Releases before 15 wrap the map once more.
        osdmap = status["osdmap"].get("osdmap", status["osdmap"])
        wrong = [
            "%s (%s)" % (code, check["summary"]["message"])
            for code, check in sorted(status["health"].get("checks", {}).items())
            if code not in self.tolerate | MOVING
            and not check.get("muted")
            and not scrubs_held_off(code, check)
        ]
        wrong += ["%s is muted" % mute["code"] for mute in status["health"].get("mutes", [])]
        up = min(osdmap["num_up_osds"], osdmap["num_in_osds"])
        if up < self.osds:
            wrong.insert(0, "%d of %d OSDs are up and in" % (up, self.osds))
        if not status["mgrmap"].get("available"):
            wrong.insert(0, "no manager is active")
        wrong += [
            "%d placement groups are %s" % (group["count"], group["state_name"])
            for group in status["pgmap"].get("pgs_by_state", [])
            if "active" not in group["state_name"]
        ]
        return "; ".join(wrong) or None

    def detail(self):
        """Return `ceph health detail`, or why it cannot be had."""
        try:
            return self.ceph.text("health", "detail").strip()
        except CephError as error:
            return str(error)


def main():
    """Run the module."""
    module = AnsibleModule(
        argument_spec={
            "until": {"type": "str", "choices": ["quorum", "health"], "required": True},
            "monitor": {"type": "str"},
            "fsid": {"type": "str"},
            "tolerate": {"type": "list", "elements": "str", "default": []},
            "osds": {"type": "int", "default": 0},
            "timeout": {"type": "int", "default": 120},
            "settled": {"type": "int", "default": 90},
        },
        required_if=[("until", "quorum", ["monitor"])],
        supports_check_mode=True,
    )
    params, run = module.params, runner(module)
    # A dry run on bare nodes has nothing to wait for.
    timeout = 0 if module.check_mode else params["timeout"]
    if params["until"] == "quorum":
        until = Quorum(run, params["monitor"], params["fsid"])
    else:
        until = Health(Ceph(run), params["tolerate"], params["osds"])
    start = time.time()
    result = {"changed": False, "missing": []}
    try:
        missing = wait(until, timeout, settled=params["settled"])
    except NotThere as error:
        missing = str(error)
    except CephError as error:
        module.fail_json(msg="%s." % error, **result)
    result.update(waited=round(time.time() - start, 1), missing=getattr(until, "missing", []))
    if missing and not module.check_mode:
        if isinstance(until, Health):
            result["detail"] = until.detail()
        wanted = "in the quorum" if params["until"] == "quorum" else "healthy"
        result["msg"] = "Not %s after %d s: %s. %s." % (wanted, result["waited"], missing, until.remedy)
        if result.get("detail"):
            result["msg"] += "\n" + result["detail"]
        module.fail_json(**result)
    module.exit_json(**result)


if __name__ == "__main__":
    main()
