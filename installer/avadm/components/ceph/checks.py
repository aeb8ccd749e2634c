"""The ceph cluster as it speaks of itself: its health codes, sorted by what has to be done; quorum; OSDs that come and go."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from avadm.checks.evidence import Snapshot
from avadm.checks.framework import Check, bad, warn
from avadm.findings import Finding
from avadm.quantity import quantity

BOOTS_WARN, BOOTS_BAD = 3, 5
"""Times that an OSD came up within half an hour: once is a restart, twice the fixing of one."""
DETAILS = 4


@dataclass(frozen=True, slots=True)
class Codes:
    """Health codes of ceph with one remedy (docs.ceph.com, Health checks).

    Attributes:
        id: id of the check.
        title: what the codes tell.
        remedy: what to do.
        codes: the codes, of all releases that are supported.
        requirement: ids.
        always_bad: whether they are bad though ceph only warns.
    """

    id: str
    title: str
    remedy: str
    codes: tuple[str, ...]
    requirement: str = "I3"
    always_bad: bool = False


FAMILIES = (
    Codes(
        "ceph-osd-down",
        "an OSD that is down",
        "Look at `journalctl -u ceph-osd@ID -e` and `dmesg -T` on its node, start it again, or replace the disk; "
        "where its process hangs in the kernel, restart the node.",
        ("OSD_DOWN", "OSD_HOST_DOWN", "OSD_RACK_DOWN", "OSD_ROOT_DOWN", "OSD_CHASSIS_DOWN", "OSD_ORPHAN"),
        "K5",
        True,
    ),
    Codes(
        "ceph-full",
        "OSDs, pools or the cluster nearly full, or full",
        "Delete data or add OSDs; where the others are emptier, balance (`ceph osd df`, `ceph balancer "
        "status`). At 95 % all writing stops.",
        (
            "OSD_NEARFULL",
            "OSD_BACKFILLFULL",
            "OSD_FULL",
            "POOL_NEAR_FULL",
            "POOL_NEARFULL",
            "POOL_FULL",
            "POOL_BACKFILLFULL",
            "PG_BACKFILL_FULL",
            "PG_RECOVERY_FULL",
            "MON_DISK_LOW",
            "MON_DISK_CRIT",
            "MON_DISK_BIG",
        ),
        "K3",
    ),
    Codes(
        "ceph-slow-ops",
        "operations that OSDs do not finish, or slow ways between them",
        "`ceph health detail` names the OSDs, `ceph osd perf` compares them; take the slow disk out, repair the network.",
        (
            "SLOW_OPS",
            "REQUEST_SLOW",
            "REQUEST_STUCK",
            "OSD_SLOW_PING_TIME_FRONT",
            "OSD_SLOW_PING_TIME_BACK",
            "BLUESTORE_SLOW_OP_ALERT",
        ),
        "K5",
    ),
    Codes(
        "ceph-mds-slow",
        "an MDS that is slow, or clients that keep what others wait for",
        "`ceph tell mds.NAME dump_ops_in_flight` and `session ls` name the client that others wait for: evict it "
        "(`ceph tell mds.NAME client evict id=N`) or restart its mount; else raise mds_cache_mib, look "
        "at the metadata pool's OSDs.",
        (
            "MDS_SLOW_REQUEST",
            "MDS_SLOW_METADATA_IO",
            "MDS_CLIENT_LATE_RELEASE",
            "MDS_CLIENT_LATE_RELEASE_MANY",
            "MDS_CLIENT_RECALL",
            "MDS_CLIENT_RECALL_MANY",
            "MDS_CLIENT_OLDEST_TID",
            "MDS_CLIENT_OLDEST_TID_MANY",
            "MDS_CACHE_OVERSIZED",
            "MDS_TRIM",
        ),
        "K6",
    ),
    Codes(
        "ceph-mds",
        "a file system without its MDS, or without one that stands by",
        "`ceph fs status` shows which is missing; `systemctl start ceph-mds@NODE` there, and read its journal.",
        (
            "FS_DEGRADED",
            "FS_WITH_FAILED_MDS",
            "MDS_ALL_DOWN",
            "MDS_UP_LESS_THAN_MAX",
            "MDS_INSUFFICIENT_STANDBY",
            "MDS_DAMAGE",
            "MDS_HEALTH_READ_ONLY",
            "FS_INLINE_DATA_DEPRECATED",
        ),
        "K6, K7",
    ),
    Codes(
        "ceph-clock",
        "monitors whose clocks differ",
        "`ceph time-sync-status` shows by how much; `chronyc tracking` on the mon nodes, `systemctl restart chrony`.",
        ("MON_CLOCK_SKEW",),
        "I1",
    ),
    Codes(
        "ceph-quorum",
        "monitors out of quorum",
        "Look at `journalctl -u 'ceph-mon@*' -e` on that node, at its clock, and at the space under /var/lib/ceph.",
        ("MON_DOWN", "MON_MSGR2_NOT_ENABLED"),
        "I3",
        True,
    ),
    Codes(
        "ceph-data",
        "data that lack copies, cannot be read, or differ between copies",
        "`ceph health detail` and `ceph osd tree` show which OSDs they wait for: bring those back. Copies that differ: "
        "`rados list-inconsistent-obj PGID`; decide which is right before `ceph pg repair`.",
        (
            "PG_AVAILABILITY",
            "PG_DEGRADED",
            "PG_DEGRADED_FULL",
            "PG_DAMAGED",
            "PG_NOT_SCRUBBED",
            "PG_NOT_DEEP_SCRUBBED",
            "OBJECT_UNFOUND",
            "OSD_SCRUB_ERRORS",
            "OSD_TOO_MANY_REPAIRS",
        ),
        "I3, K5",
    ),
)
KNOWN = frozenset(code for family in FAMILIES for code in family.codes)


def _of(family: Codes) -> Any:
    """Return the judgement of one family of codes."""

    def judge(s: Snapshot, node: str, data: Any) -> Iterator[Finding]:
        for code, check in sorted(data["checks"].items()):
            if code in family.codes and not check["muted"]:
                worse = family.always_bad or check["severity"] == "HEALTH_ERR"
                yield (bad if worse else warn)(_text(code, check), _where(s, data, code, check))

    return judge


def _rest(s: Snapshot, node: str, data: Any) -> Iterator[Finding]:
    for code, check in sorted(data["checks"].items()):
        flags = set(check["text"].partition(" flag")[0].split(","))
        held_off = code == "OSDMAP_FLAGS" and flags <= {"noscrub", "nodeep-scrub"}
        if code in KNOWN or check["muted"] or held_off:
            continue
        yield (bad if check["severity"] == "HEALTH_ERR" else warn)(_text(code, check), "ceph")


def _text(code: str, check: Any) -> str:
    detail = "; ".join(check["detail"][:DETAILS])
    return f"{code}: {check['text']}" + (f" ({detail})" if detail else "")


def _where(s: Snapshot, data: Any, code: str, check: Any) -> str:
    """Return the daemons that the details begin with, OSDs with their node."""
    daemons = []
    for line in check["detail"]:
        word = line.split(" ")[0].split("(")[0].rstrip(":")
        if not word.startswith(("osd.", "mds.", "mon.")):
            continue
        osd = data["osds"].get(word[4:]) if word.startswith("osd.") else None
        # Of one that is down the line itself names the host.
        host = re.search(r"\bhost=([\w.-]+)", line)
        place = host[1] if host else s.site.node_of(osd["address"]) if osd else ""
        daemons.append(f"{word} on {place}" if place else word)
    return ", ".join(daemons[:DETAILS]) or "ceph"


def _quorum(s: Snapshot, node: str, data: Any) -> Iterator[Finding]:
    monitors = [n.name for n in s.site.with_role("mon")]
    missing = [m for m in monitors if m not in data["quorum"]]
    spare = len(data["quorum"]) - (len(monitors) // 2 + 1)
    if len(monitors) > 1 and spare <= 0:
        yield bad(
            f"{len(data['quorum'])} of {len(monitors)} are in quorum: the loss of one more stops ceph",
            ", ".join(missing),
        )


def _flapping(s: Snapshot, node: str, data: Any) -> Iterator[Finding]:
    for osd, times in sorted(data["boots"].items(), key=lambda row: int(row[0])):
        if times < BOOTS_WARN:
            continue
        about = data["osds"].get(osd, {})
        where = f"osd.{osd} on {s.site.node_of(about['address'])}" if about else f"osd.{osd}"
        text = f"it came up {quantity(times, 'time')} within half an hour" + (
            "" if about.get("up", 1) else ", and is down now"
        )
        yield (bad if times >= BOOTS_BAD else warn)(text, where)


def _out(s: Snapshot, node: str, data: Any) -> Iterator[Finding]:
    for osd, about in sorted(data["osds"].items(), key=lambda row: int(row[0])):
        if about["up"] and not about["in"]:
            yield warn(
                "it is up and holds no data, since it is out",
                f"osd.{osd} on {s.site.node_of(about['address'])}",
            )
    wanted = sum(n.devices for n in s.site.nodes)
    if len(data["osds"]) < wanted:
        yield warn(f"{quantity(len(data['osds']), 'OSD')} of {quantity(wanted, 'approved device')}", "ceph")


def _ceph(id_: str, title: str, remedy: str, judge: Any, requirement: str, good: str) -> Check:
    return Check(
        id_,
        title,
        ("ceph",),
        judge,
        roles=("mon",),
        scope="site",
        topic="ceph",
        remedy=remedy,
        requirement=requirement,
        good=good,
    )


CHECKS = (
    *(_ceph(f.id, f.title, f.remedy, _of(f), f.requirement, "ceph tells of none") for f in FAMILIES),
    _ceph(
        "ceph-quorum-risk",
        "a quorum of monitors that tolerates no further loss",
        "Bring the missing monitors back now (`ceph quorum_status`); restart none of the others.",
        _quorum,
        "I3",
        "a monitor may be lost",
    ),
    _ceph(
        "ceph-osd-flapping",
        "an OSD that goes down and up again and again",
        "Check the network of its node first (errors, MTU, both ceph networks), then disk and memory. "
        "`ceph osd set noup` for the moment, "
        "stop the OSD if it does not settle, restart the node if its kernel hangs on the disk.",
        _flapping,
        "K5",
        "none came up more than twice within half an hour",
    ),
    _ceph(
        "ceph-osd-out",
        "an OSD that is out, or an approved device without one",
        "`ceph osd in ID` if its disk is well; `avadm disk list` shows devices without OSD, `avadm apply ceph` makes them.",
        _out,
        "I3",
        "every OSD holds data",
    ),
    _ceph(
        "ceph-health",
        "any other thing that ceph reports",
        "`ceph health detail` on a mon node; each code's meaning and cure is in ceph's documentation, Health checks.",
        _rest,
        "I3",
        "ceph tells of nothing else",
    ),
)
