"""Ceph as each node has it: versions of daemons and clients, MDS and their clients, cephfs where it is mounted."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from functools import partial
from typing import Any

from avadm.checks.evidence import Snapshot
from avadm.checks.framework import Check, bad, unknown, warn
from avadm.components.ceph import backfill
from avadm.components.ceph.component import LIMITED
from avadm.findings import Finding
from avadm.quantity import quantity

LATE_MINUTES, MINUTES = 10, 1440
"""Minutes that the timers of monitor nodes may need, of five each; minutes of a day."""
SESSIONS_OF_HOST = 8
"""Clients of one host: one mount each is right, a client a pod is not."""
SESSIONS = 1000
"""Clients of one MDS, as the alert CephMdsManyClients."""
OLDEST_S = 30.0
"""Seconds that an operation may wait: as ceph's mds_op_complaint_time."""
SLOW_S = 5.0


def _servers(s: Snapshot) -> str | None:
    """Return the version that most ceph servers run."""
    seen: Counter[str] = Counter()
    for facts in s.nodes.values():
        running = (facts.parts.get("ceph_programs") or {}).get("running", {})
        seen.update(v for name, v in running.items() if not name.startswith("client."))
    return seen.most_common(1)[0][0] if seen else None


def _versions(s: Snapshot, node: str, data: Any) -> Iterator[Finding]:
    server = _servers(s)
    if server is None:
        yield unknown("no ceph server reported its version")
        return
    rows = {
        **{f"the running {n}": v for n, v in data["running"].items()},
        "the installed ceph": data["installed"],
    }
    for what, version in sorted(rows.items()):
        if version and version != server:
            yield bad(f"{what} is {version}, the servers are {server}")


def _profile(s: Snapshot, node: str, data: Any) -> Iterator[Finding]:
    wanted = s.site.versions.get("ceph", "")
    for text in data["versions"]:
        match = re.match(r"ceph version (\S+)", text)
        if match and not match[1].startswith(wanted):
            yield warn(f"ceph {match[1]} runs, the profile wants {wanted}…", "ceph")


def _replaced(s: Snapshot, node: str, data: Any) -> Iterator[Finding]:
    for name in data["replaced"]:
        yield warn(f"{name} was replaced on disk, the old program runs on")


def _waiting(s: Snapshot, node: str, data: Any) -> Iterator[Finding]:
    for name, row in data.items():
        if row["oldest_s"] > OLDEST_S:
            yield warn(
                f"the oldest of {row['operations']} operations has waited for {row['oldest_s']:.0f} s",
                f"{name} on {node}",
            )


def _clients(s: Snapshot, node: str, data: Any) -> Iterator[Finding]:
    for name, row in data.items():
        count = sum(row["clients"].values())
        if count > SESSIONS:
            yield warn(quantity(count, "client"), f"{name} on {node}")
        for host, number in sorted(row["clients"].items()):
            if number > SESSIONS_OF_HOST:
                yield warn(f"{host} has {quantity(number, 'client')} of {name}", host)


def _limits(s: Snapshot, node: str, data: Any) -> Iterator[Finding]:
    """Limits of OSDs that are not those of the hour; what was in force minutes ago is still good, and what is soon to be."""
    minute = data["minute"]
    good = [backfill.wanted(s.site.backfill, (minute + late) % MINUTES) for late in (-LATE_MINUTES, 0, 1)]
    # mClock takes no pauses.
    options = [o for _, o in backfill.LIMITS if not (s.site.backfill["mclock"] and o == "osd_recovery_sleep")]
    wrong: dict[tuple[str, str, str], list[str]] = {}
    for osd, limits in sorted(data["osds"].items(), key=lambda row: int(row[0].partition(".")[2])):
        for option in options:
            wanted = [one.get(option) for one in good]
            if option not in limits or None in wanted:
                continue  # ceph's own, which differs by kind of disk
            if not any(backfill.same(limits[option], one) for one in wanted):
                wrong.setdefault((option, limits[option], str(wanted[1])), []).append(osd)
    hours = s.site.backfill["hours"]
    when = (
        f"within {hours}"
        if backfill.inside(hours, minute)
        else f"outside {hours}"
        if hours
        else "at all hours"
    )
    for (option, value, limit), osds in sorted(wrong.items()):
        yield warn(f"{option} is {value}, expected {limit} {when} UTC", f"{', '.join(osds)} on {node}")


def _mounted(s: Snapshot, node: str, data: Any) -> Iterator[Finding]:
    if "ceph" not in data["kind"]:
        yield bad(f"{s.site.mount} is not mounted ({data['kind'] or 'nothing'} is there)")
    elif not data["answers"]:
        yield bad(f"{s.site.mount} does not answer within {data['seconds']:.0f} s {data['said']}".rstrip())
    elif data["seconds"] > SLOW_S:
        yield warn(f"{s.site.mount} took {data['seconds']:.0f} s to answer")


ANY = ("mon", "mgr", "osd", "mds", "client")
_check = partial(Check, topic="ceph")


CHECKS = (
    _check(
        "ceph-versions",
        "a ceph client or daemon of another version than the servers: probes of file systems fail so, data were lost so",
        ("ceph_programs",),
        _versions,
        roles=ANY,
        remedy="Bring the packages of all nodes to one version, restart or mount again what runs; map and "
        "format nothing before that.",
        requirement="K1, I7",
        good="of the servers' version",
    ),
    _check(
        "ceph-profile",
        "ceph servers of another version than the profile's",
        ("ceph",),
        _profile,
        roles=("mon",),
        scope="site",
        remedy="Finish the upgrade (`ceph versions` shows which kind lags), or choose the profile that fits.",
        requirement="I7",
        good="of the profile's version",
    ),
    _check(
        "ceph-replaced",
        "a daemon that still runs a program that was replaced on disk",
        ("ceph_programs",),
        _replaced,
        roles=ANY,
        remedy="Restart one daemon after another, HEALTH_OK between them.",
        requirement="K1, I7",
        good="what is installed runs",
    ),
    _check(
        "ceph-backfill-limits",
        "OSDs whose limits of backfill and recovery are not those of the hour",
        ("osd_limits",),
        _limits,
        roles=(LIMITED,),
        remedy="`ceph config dump` shows a value that was set by hand: it is left until `ceph config rm osd OPTION`. Otherwise "
        "`systemctl list-timers avadm-ceph-backfill.timer` and `journalctl -u avadm-ceph-backfill -e` on mon nodes.",
        requirement="K5",
        good="those of the hour",
    ),
    _check(
        "ceph-mds-waiting",
        "an MDS whose clients wait long",
        ("mds",),
        _waiting,
        roles=("mds",),
        remedy="`ceph tell mds.NAME dump_ops_in_flight` names what they wait for; a client that keeps "
        "capabilities: `session ls`, then evict it.",
        requirement="K6",
        good="no long waits",
    ),
    _check(
        "cephfs-clients",
        "too many cephfs clients, of one host or in all",
        ("mds",),
        _clients,
        roles=("mds",),
        remedy="Mount cephfs once on each host and bind that into containers, never one client a pod.",
        requirement="K7",
        good="few clients from each host",
    ),
    _check(
        "cephfs-mount",
        "cephfs that is not mounted where it should be, or does not answer",
        ("cephfs",),
        _mounted,
        roles=("client",),
        remedy="`systemctl restart avadm-cephfs` there; where it fails, `journalctl -u avadm-cephfs -e` and the "
        "checks ceph-mds and cephfs-clients.",
        requirement="K7",
        good="mounted, and it answers",
    ),
)
