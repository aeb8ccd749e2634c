"""Ceph as each node has it: versions of daemons and clients, MDS and their clients, cephfs where it is mounted."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from typing import Any

from avadm.doctor.base import Check, Trouble, bad, unknown, warn
from avadm.doctor.model import Snapshot
from avadm.quantity import quantity

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


def _versions(s: Snapshot, node: str, data: Any) -> Iterator[Trouble]:
    server = _servers(s)
    if server is None:
        yield unknown("no ceph server told its version")
        return
    rows = {
        **{f"the running {n}": v for n, v in data["running"].items()},
        "the installed ceph": data["installed"],
    }
    for what, version in sorted(rows.items()):
        if version and version != server:
            yield bad(f"{what} is {version}, the servers are {server}")


def _profile(s: Snapshot, node: str, data: Any) -> Iterator[Trouble]:
    wanted = s.site.versions.get("ceph", "")
    for text in data["versions"]:
        match = re.match(r"ceph version (\S+)", text)
        if match and not match[1].startswith(wanted):
            yield warn(f"ceph {match[1]} runs, the profile wants {wanted}…", "ceph")


def _replaced(s: Snapshot, node: str, data: Any) -> Iterator[Trouble]:
    for name in data["replaced"]:
        yield warn(f"{name} was replaced on disk, the old program runs on")


def _waiting(s: Snapshot, node: str, data: Any) -> Iterator[Trouble]:
    for name, row in data.items():
        if row["oldest_s"] > OLDEST_S:
            yield warn(
                f"the oldest of {row['operations']} operations has waited for {row['oldest_s']:.0f} s",
                f"{name} on {node}",
            )


def _clients(s: Snapshot, node: str, data: Any) -> Iterator[Trouble]:
    for name, row in data.items():
        count = sum(row["clients"].values())
        if count > SESSIONS:
            yield warn(quantity(count, "client"), f"{name} on {node}")
        for host, number in sorted(row["clients"].items()):
            if number > SESSIONS_OF_HOST:
                yield warn(f"{host} has {quantity(number, 'client')} of {name}", host)


def _mounted(s: Snapshot, node: str, data: Any) -> Iterator[Trouble]:
    if "ceph" not in data["kind"]:
        yield bad(f"{s.site.mount} is not mounted ({data['kind'] or 'nothing'} is there)")
    elif not data["answers"]:
        yield bad(f"{s.site.mount} does not answer within {data['seconds']:.0f} s {data['said']}".rstrip())
    elif data["seconds"] > SLOW_S:
        yield warn(f"{s.site.mount} took {data['seconds']:.0f} s to answer")


ANY = ("mon", "mgr", "osd", "mds", "client")
CHECKS = (
    Check(
        "ceph-versions",
        "ceph",
        "a ceph client or daemon of another version than the servers: probes of file systems fail so, data were lost so",
        "Bring the packages of all nodes to one version, restart or mount again what runs; map and format nothing before that.",
        "ceph_programs",
        _versions,
        ANY,
        requirement="K1, I7",
        good="of the servers' version",
    ),
    Check(
        "ceph-profile",
        "ceph",
        "ceph servers of another version than the profile's",
        "Finish the upgrade (`ceph versions` shows which kind lags), or choose the profile that fits.",
        "ceph",
        _profile,
        ("mon",),
        "site",
        "I7",
        "of the profile's version",
    ),
    Check(
        "ceph-replaced",
        "ceph",
        "a daemon that still runs a program that was replaced on disk",
        "Restart one daemon after another, HEALTH_OK between them.",
        "ceph_programs",
        _replaced,
        ANY,
        requirement="K1, I7",
        good="what is installed runs",
    ),
    Check(
        "ceph-mds-waiting",
        "ceph",
        "an MDS whose clients wait long",
        "`ceph tell mds.NAME dump_ops_in_flight` names what they wait for; a client that keeps "
        "capabilities: `session ls`, then evict it.",
        "mds",
        _waiting,
        ("mds",),
        requirement="K6",
        good="nobody waits long",
    ),
    Check(
        "cephfs-clients",
        "ceph",
        "too many cephfs clients, of one host or in all",
        "Mount cephfs once on each host and bind that into containers, never one client a pod.",
        "mds",
        _clients,
        ("mds",),
        requirement="K7",
        good="few clients from each host",
    ),
    Check(
        "cephfs-mount",
        "ceph",
        "cephfs that is not mounted where it should be, or does not answer",
        "`systemctl restart avadm-cephfs` there; where it fails, `journalctl -u avadm-cephfs -e` and the "
        "checks ceph-mds and cephfs-clients.",
        "cephfs",
        _mounted,
        ("client",),
        requirement="K7",
        good="mounted, and it answers",
    ),
)
