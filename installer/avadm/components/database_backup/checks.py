"""PostgreSQL's backups: one is there in time, WAL is archived, the newest was proven; as its nodes reported last."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from avadm.checks.evidence import Snapshot
from avadm.checks.framework import Check, Judge, bad, warn
from avadm.components.database_backup.component import BACKED_UP
from avadm.findings import Finding

OLD_S, UNPROVEN_S, SILENT_S = 30 * 3600, 9 * 86400, 1800
"""Seconds, as the alerts DatabaseBackupOld, DatabaseNotVerified and DatabaseBackupUnknown have them."""
WAITS_BYTES = 4 << 30
"""As the alert DatabaseArchiveWaits."""


def _metric(s: Snapshot, name: str) -> list[float]:
    """Return what the nodes tell under a name; a standby tells nothing of what only the primary knows."""
    found = [s.part(n.name, "database_backup") for n in s.site.with_role(BACKED_UP)]
    return [one["values"][name] for one in found if one and name in one["values"]]


def _looked(s: Snapshot, node: str, data: Any) -> Iterator[Finding]:
    at = data["values"].get("looked_timestamp_seconds")
    if at is None:
        yield warn("they have not been checked yet")
    elif s.taken - at > SILENT_S:
        yield warn(f"they have not been checked for {(s.taken - at) / 60:.0f} minutes")


def _age(s: Snapshot, node: str, data: Any) -> Iterator[Finding]:
    made, count = _metric(s, "backup_timestamp_seconds"), _metric(s, "backups")
    if count and max(count) == 0 and made and s.taken - max(made) > 3600:
        yield bad("there is none", "cluster")
    elif made and s.taken - max(made) > OLD_S:
        yield bad(f"the newest is {(s.taken - max(made)) / 3600:.0f} hours old", "cluster")
    elif any(_metric(s, "backup_failed")):
        yield warn("the last try failed", "cluster")


def _archive(s: Snapshot, node: str, data: Any) -> Iterator[Finding]:
    waits = max(_metric(s, "archive_waiting_bytes"), default=0.0)
    if any(_metric(s, "archive_dropped")):
        yield bad("WAL was given up: no time between then and the next backup can be restored", "cluster")
    if waits > WAITS_BYTES:
        yield bad(f"{waits / 2**30:.1f} GiB of WAL wait", "cluster")
    elif any(_metric(s, "archive_failing")):
        yield bad("the last segment of WAL could not be archived", "cluster")
    if 0.0 in _metric(s, "repository_answers"):
        yield bad("the repository does not answer", "cluster")


def _proven(s: Snapshot, node: str, data: Any) -> Iterator[Finding]:
    at = _metric(s, "verified_timestamp_seconds")
    for n in s.site.with_role(BACKED_UP):
        found = s.part(n.name, "database_backup")
        if found and found["values"].get("verify_failed"):
            yield bad("; ".join(found["wrong"]) or "what was restored is not good", n.name)
    if at and s.taken - max(at) > UNPROVEN_S:
        yield warn(f"none was verified for {(s.taken - max(at)) / 86400:.0f} days", "cluster")


def _check(id_: str, title: str, remedy: str, judge: Judge, good: str, *, site: bool = True) -> Check:
    return Check(
        id_,
        title,
        ("database_backup",),
        judge,
        roles=(BACKED_UP,),
        scope="site" if site else "node",
        topic="database",
        remedy=remedy,
        requirement="I6",
        good=good,
    )


CHECKS = (
    _check(
        "database-backup-look",
        "PostgreSQL's backups are not checked",
        "`systemctl status avadm-database-look.timer` and `journalctl -u avadm-database-look -e` there.",
        _looked,
        "looked at in time",
        site=False,
    ),
    _check(
        "database-backup",
        "backups of PostgreSQL that are missing, old or fail",
        "`avadm database backup`; `journalctl -u avadm-database-backup -e` on the node of the primary says why one failed.",
        _age,
        "one is there in time",
    ),
    _check(
        "database-archive",
        "WAL of PostgreSQL that is not archived: the last hours could not be brought back, and the disk fills",
        "See that the repository answers (`avadm doctor --only objects`) and has room; `journalctl -u patroni -e` on the node of "
        "the primary has pgbackrest's words. After WAL was given up: `avadm database backup`.",
        _archive,
        "it is archived",
    ),
    _check(
        "database-verified",
        "backups of PostgreSQL that are unverified or bad",
        "`avadm database verify`; if it stays, `avadm database backup --full`, and keep the older ones until one is good.",
        _proven,
        "the newest that was restored is good",
    ),
)
