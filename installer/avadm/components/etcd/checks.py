"""etcd: members, leader, size of its database, alarms, how long its disk takes, snapshots."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from avadm.checks.evidence import Snapshot
from avadm.checks.framework import Check, bad, warn
from avadm.findings import Finding
from avadm.quantity import quantity

SIZE_WARN, SIZE_BAD = 0.7, 0.9
SYNC_S = 0.5
"""Seconds of a write to its log, as the alert EtcdSyncSlow; etcd's own advice is 10 ms (Hardware recommendations)."""
SYNCS = 3
MISSED = 3
"""Snapshots in a row, as the alert EtcdSnapshotOld."""


def _leader(s: Snapshot, node: str, data: Any) -> Iterator[Finding]:
    if not data["metrics"].get("etcd_server_has_leader"):
        yield bad("no leader")


def _members(s: Snapshot, node: str, data: Any) -> Iterator[Finding]:
    wanted = {n.name: n.address for n in s.site.with_role("etcd")}
    report = {
        name: any(f"//{address}:" in url for urls in data["members"].values() for url in urls)
        for name, address in wanted.items()
    }
    answers = [n for n in wanted if s.part(n, "etcd") is not None]
    for name, member in report.items():
        if not member:
            yield bad(
                "it is no member of the cluster",
                name,
                f"`avadm apply etcd --replace {name}` puts it in again.",
            )
    if len(data["members"]) > len(wanted):
        yield warn(f"{quantity(len(data['members']), 'member')}, the site file has {len(wanted)}", "cluster")
    spare = len(answers) - (len(wanted) // 2 + 1)
    if len(wanted) > 1 and spare <= 0:
        missing = ", ".join(n for n in wanted if n not in answers)
        yield bad(
            f"{len(answers)} of {quantity(len(wanted), 'member')} answer: the loss of one more stops Kubernetes",
            missing,
        )


def _size(s: Snapshot, node: str, data: Any) -> Iterator[Finding]:
    m = data["metrics"]
    size = m.get("etcd_mvcc_db_total_size_in_bytes", m.get("etcd_debugging_mvcc_db_total_size_in_bytes", 0.0))
    most = m.get("etcd_server_quota_backend_bytes") or 2 * 1024**3
    text = f"{size / 2**20:.0f} of {most / 2**20:.0f} MiB"
    if size > SIZE_BAD * most:
        yield bad(text)
    elif size > SIZE_WARN * most:
        yield warn(text)


def _alarms(s: Snapshot, node: str, data: Any) -> Iterator[Finding]:
    for line in data["alarms"]:
        yield bad(line)


def _slow(s: Snapshot, node: str, data: Any) -> Iterator[Finding]:
    if data["sync_s"] is not None and data["syncs"] >= SYNCS and data["sync_s"] > SYNC_S:
        yield warn(
            f"its log took {data['sync_s'] * 1000:.0f} ms to be safe on disk, on average of {data['syncs']:.0f} writes"
        )


def _snapshots(s: Snapshot, node: str, data: Any) -> Iterator[Finding]:
    held = [at for at in data["snapshots"] if at]
    begun = data["metrics"].get("process_start_time_seconds", s.taken)
    late = MISSED * 60 * s.site.snapshot_minutes
    if s.taken - max([*held[-1:], begun]) > late:
        text = f"{(s.taken - held[-1]) / 3600:.1f} hours old" if held else "there is none"
        yield warn(f"the last snapshot: {text}; one is to be taken each {s.site.snapshot_minutes} minutes")


def _etcd(id_: str, title: str, remedy: str, judge: Any, good: str, *, site: bool = False) -> Check:
    return Check(
        id_,
        title,
        ("etcd",),
        judge,
        roles=("etcd",),
        scope="site" if site else "node",
        topic="etcd",
        remedy=remedy,
        requirement="I5, K2",
        good=good,
    )


CHECKS = (
    _etcd(
        "etcd-leader",
        "a member without a leader",
        "See whether more than half of the members run and reach each other (port 2380): `avadm-etcd ctl "
        "endpoint health --cluster`.",
        _leader,
        "it knows its leader",
    ),
    _etcd(
        "etcd-members",
        "a member that is missing or does not answer, a quorum that tolerates no further loss",
        "Look at `journalctl -u etcd -e` there; a member whose data are lost is replaced, one at a time "
        "(docs/how-to/change-a-site.md).",
        _members,
        "all members answer",
        site=True,
    ),
    _etcd(
        "etcd-size",
        "a database that is nearly full: Kubernetes then takes no more changes",
        "Find what fills it (events, jobs that are not removed), then `avadm-etcd defrag` on one member after another.",
        _size,
        "database size OK",
    ),
    _etcd(
        "etcd-alarms",
        "an alarm (no space, corrupt data)",
        "NOSPACE: make room as for etcd-size, then `avadm-etcd ctl alarm disarm`. CORRUPT: replace that member, never disarm.",
        _alarms,
        "none",
    ),
    _etcd(
        "etcd-disk",
        "a disk that is slow to write: leaders change, nodes turn NotReady",
        "Give etcd a disk of its own (an SSD), or find what else writes to it (`pidstat -d 5`).",
        _slow,
        "fsync latency OK",
    ),
    _etcd(
        "etcd-snapshot",
        "snapshots that are not taken",
        "Look at `journalctl -u avadm-etcd-snapshot -e` there, and at the space under /var/lib/etcd.",
        _snapshots,
        "taken in time",
    ),
)
