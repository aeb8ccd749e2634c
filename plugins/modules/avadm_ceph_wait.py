#!/usr/bin/python
# Runs on nodes: python 2.7 and 3.
from __future__ import absolute_import, division, print_function

DOCUMENTATION = r"""
---
module: avadm_ceph_wait
short_description: Wait until a monitor is in the quorum, or the cluster is healthy
description:
  - C(quorum) asks the monitor of this node over its own socket, which needs no key and no quorum.
  - C(health) asks the cluster until it has what a phase needs. It fails without a quorum, an active manager, all OSDs up
    and in, and placement groups that serve, and where ceph refuses to read or write.
  - Warnings that a phase's own work brings (C(PG_DEGRADED) while data are copied) are waited for, but do not fail it, and
    those that an earlier wait left standing are not waited for again.
  - All other warnings (C(MON_DISK_LOW)) are for people, whom the doctor serves. They are returned and logged, without those
    that I(tolerate) names, flags that hold scrubs off, and C(OBJECT_MISPLACED) while data move to OSDs that were added.
  - Changes nothing of the cluster.
options:
  until: {description: What to wait for., type: str, choices: [quorum, health], required: true}
  monitor: {description: The monitor of this node (C(quorum))., type: str}
  fsid: {description: The cluster that the monitor must belong to (C(quorum))., type: str}
  tolerate:
    description: Codes of health checks that may stand, e.g. C(OSD_NEARFULL).
    type: list
    elements: str
    default: []
  stood:
    description: File in which the codes of warnings that were left standing are kept (C(health)).
    type: path
    default: /run/avadm/ceph-warnings.json
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
warnings_left:
  description: Health checks of ceph that still stand, with their texts.
  type: list
  returned: until is health
missing:
  description: Monitors that are not in the quorum, though this one is.
  type: list
  returned: until is quorum
"""

import json
import os
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
NEEDS = frozenset(["MDS_ALL_DOWN", "OSD_FULL", "PG_AVAILABILITY"])
"""Checks with which no phase can continue; avadm_node/probes/drift/cluster.py has them too."""
PAUSED = frozenset(["pauserd", "pausewr", "full", "noup", "noin"])
"""Flags with which OSDs serve nothing, or never will."""
AWAITED = frozenset(
    [
        "MON_DOWN",
        "MON_CLOCK_SKEW",
        "MGR_DOWN",
        "OSD_DOWN",
        "OSD_HOST_DOWN",
        "OSD_RACK_DOWN",
        "OSD_ROOT_DOWN",
        "PG_DEGRADED",
    ]
    + [
        "FS_DEGRADED",
        "FS_WITH_FAILED_MDS",
        "MDS_UP_LESS_THAN_MAX",
        "MDS_INSUFFICIENT_STANDBY",
        "SLOW_OPS",
        "REQUEST_SLOW",
    ]
    + ["POOL_APP_NOT_ENABLED", "TOO_FEW_OSDS", "TOO_FEW_PGS", "POOL_TOO_FEW_PGS"]
)
"""Checks that a phase's own work brings, and that pass."""


def flags(check):
    """Return the flags that OSDMAP_FLAGS names ("noscrub,nodeep-scrub flag(s) set")."""
    return set(check["summary"]["message"].partition(" flag")[0].split(","))


class Health(object):
    """Whether the cluster has what a phase needs.

    Attributes:
        lacking: what it needs and has not.
        warnings: (code, text) of all other checks that stand.
        judged: whether the cluster was ever asked.
    """

    remedy = "`ceph health detail` on a monitor node says more"

    def __init__(self, ceph, tolerate, osds, stood=()):
        self.ceph, self.tolerate, self.osds, self.stood = ceph, set(tolerate), osds, set(stood)
        self.lacking, self.warnings, self.judged = [], [], False

    def __call__(self):
        self.lacking, self.warnings = [], []
        try:
            status = self.ceph.json("status")
        except CephError as error:
            self.lacking = [str(error)]
            return self.lacking[0]
        self.judged = True
        # Releases before 15 wrap the map once more.
        osdmap = status["osdmap"].get("osdmap", status["osdmap"])
        if not status["mgrmap"].get("available"):
            self.lacking.append("no manager is active")
        up = min(osdmap["num_up_osds"], osdmap["num_in_osds"])
        if up < self.osds:
            self.lacking.append("%d of %d OSDs are up and in" % (up, self.osds))
        self.lacking += [
            "%d placement groups are %s" % (group["count"], group["state_name"])
            for group in status["pgmap"].get("pgs_by_state", [])
            if "active" not in group["state_name"]
        ]
        for code, check in sorted(status["health"].get("checks", {}).items()):
            self.judge(code, check)
        self.warnings += [(m["code"], "is muted") for m in status["health"].get("mutes", [])]
        awaited = [w for w in self.warnings if w[0] in AWAITED - self.stood and w[1] != "is muted"]
        return "; ".join(self.lacking + ["%s (%s)" % w for w in awaited]) or None

    def judge(self, code, check):
        """Sort one health check into what is lacking and what is a warning only."""
        text = check["summary"]["message"]
        if code in self.tolerate | MOVING or check.get("muted"):
            return
        set_flags = flags(check) if code == "OSDMAP_FLAGS" else set()
        if set_flags and set_flags <= {"noscrub", "nodeep-scrub"}:
            return
        if code in NEEDS or set_flags & PAUSED:
            self.lacking.append("%s (%s)" % (code, text))
        else:
            self.warnings.append((code, text))

    def detail(self):
        """Return `ceph health detail`, or why it is not available."""
        try:
            return self.ceph.text("health", "detail").strip()
        except CephError as error:
            return str(error)


def left_standing(path):
    """Return the codes of warnings that the last wait left standing; none where that is not known."""
    try:
        with open(path) as source:
            found = json.load(source)
    except (IOError, OSError, ValueError):
        return []
    return [str(code) for code in found] if isinstance(found, list) else []


def keep_standing(path, codes):
    """Keep the codes of warnings for the next wait, which without them only takes longer."""
    try:
        if not os.path.isdir(os.path.dirname(path)):
            os.makedirs(os.path.dirname(path), 0o755)
        with open(path + ".new", "w") as target:
            json.dump(sorted(set(codes)), target)
        os.rename(path + ".new", path)
    except (IOError, OSError):
        pass


def main():
    """Run the module."""
    module = AnsibleModule(
        argument_spec={
            "until": {"type": "str", "choices": ["quorum", "health"], "required": True},
            "monitor": {"type": "str"},
            "fsid": {"type": "str"},
            "tolerate": {"type": "list", "elements": "str", "default": []},
            "osds": {"type": "int", "default": 0},
            "stood": {"type": "path", "default": "/run/avadm/ceph-warnings.json"},
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
        until = Health(Ceph(run), params["tolerate"], params["osds"], left_standing(params["stood"]))
    start = time.time()
    result = {"changed": False, "missing": []}
    try:
        missing = wait(until, timeout, settled=params["settled"])
    except NotThere as error:
        missing = str(error)
    except CephError as error:
        module.fail_json(msg="%s." % error, **result)
    if isinstance(until, Health):
        # What was waited for and is not needed may stand; without `ceph` nothing was judged.
        if missing and until.judged:
            missing = "; ".join(until.lacking) or None
        result["warnings_left"] = ["%s (%s)" % w for w in until.warnings]
        if not missing and not module.check_mode:
            keep_standing(params["stood"], [code for code, _ in until.warnings])
            for text in result["warnings_left"]:
                module.warn("ceph warns: %s" % text)
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
