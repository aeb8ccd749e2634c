"""How archive and backups do, as metrics for the node exporter; and whether a backup is due."""

import os
import time

from .place import SEGMENT_BYTES, BackupError, write

DAY_S = 86400
AGAIN_S = 3600
"""Seconds after a backup that failed until the next try."""
ARCHIVER = """
SELECT coalesce(extract(epoch FROM last_archived_time), 0)::bigint || '|' ||
       coalesce(last_failed_time > coalesce(last_archived_time, '-infinity'), false)::int || '|' ||
       (SELECT count(*) FROM pg_ls_archive_statusdir() WHERE name LIKE '%.ready') || '|' ||
       (SELECT timeline_id FROM pg_control_checkpoint())
FROM pg_stat_archiver
"""
# By this row a restored server tells how far it came: there is one commit each few minutes, however quiet the site is.
HEARTBEAT = """
CREATE SCHEMA IF NOT EXISTS avadm;
CREATE TABLE IF NOT EXISTS avadm.heartbeat (one boolean PRIMARY KEY DEFAULT true CHECK (one), at timestamptz NOT NULL);
INSERT INTO avadm.heartbeat (at) VALUES (now()) ON CONFLICT (one) DO UPDATE SET at = excluded.at;
"""
ABOUT = {
    "looked_timestamp_seconds": "When this node last looked at the backups.",
    "repository_answers": "Whether the repository of backups answers.",
    "backup_timestamp_seconds": "When the newest backup ended; without any, when backups were set up.",
    "backup_failed": "Whether the last try to make a backup failed.",
    "backup_bytes": "What the newest backup holds of the database, bytes.",
    "backups": "Backups in the repository.",
    "archive_failing": "Whether the last segment of WAL could not be archived.",
    "archive_waiting_bytes": "WAL on this node that waits to be archived, bytes.",
    "archive_timestamp_seconds": "When a segment of WAL was last archived.",
    "archive_dropped": "Whether WAL was given up since the newest backup, for the disk would have filled.",
    "verified_timestamp_seconds": "When a backup was last verified by restoring it; without any, when backups were set up.",
    "verify_failed": "Whether the last verification found something wrong.",
    "verify_seconds": "How long the last verification took.",
    "verify_lag_seconds": "How old the newest row was that the last verification restored.",
}
"""Name, after `avadm_database_`, to what it is."""


def nightly(now, hour):
    """Return when a backup was last due, seconds since 1970: today at that hour (UTC), or yesterday."""
    at = now - now % DAY_S + hour * 3600
    return at if at <= now else at - DAY_S


def timeline(backup):
    """Return on which timeline a backup was made."""
    return int(backup["archive"]["start"][:8], 16)


def due(backups, now, hour, current, dropped, tried):
    """Return why a backup is due; "" where none is.

    Args:
        backups: what the repository has.
        now: seconds since 1970.
        hour: when the nightly one is made, UTC.
        current: the primary's timeline.
        dropped: when WAL was last given up; 0 where none was.
        tried: when a backup last failed; 0 where the last one did not.
    """
    if now - tried < AGAIN_S:
        return ""
    if not backups:
        return "there is none"
    newest = max(backups, key=lambda one: one["timestamp"]["start"])
    if timeline(newest) != current:
        # What the former primary had not archived yet is in no archive.
        return "the primary is another one since"
    if dropped > newest["timestamp"]["start"]:
        return "WAL was given up since"
    return "the last one is of yesterday" if newest["timestamp"]["start"] < nightly(now, hour) else ""


def dropped_at(place):
    """Return when WAL was last given up; 0 where none was (avadm-pgbackrest-archive leaves the mark)."""
    try:
        return os.path.getmtime(os.path.join(place["state"], "archive/dropped"))
    except OSError:
        return 0


def archiver(place):
    """Return when WAL was archived last, whether that failed since, segments that wait, and the timeline."""
    return [int(word) for word in place.sql(ARCHIVER)[0].split("|")]


def look(place, now=None, complain=print):
    """Tell node_exporter how it is; return why a backup is due, "" where none is or this is not the primary."""
    now = now or time.time()
    since = place.remembered("since").get("at")
    if since is None:
        since = int(now)
        place.remember("since", {"at": since})
    report = {"looked_timestamp_seconds": int(now)}
    verified = place.remembered("verify")
    # Each node reports what it verified itself, whichever is the primary now; alerts take the newest of all.
    report["verified_timestamp_seconds"] = verified.get("good_at", since)
    report["verify_failed"] = 0 if verified.get("good", True) else 1
    for name, key in (("verify_seconds", "seconds"), ("verify_lag_seconds", "lag_s")):
        if verified.get(key) is not None:
            report[name] = verified[key]
    why = ""
    if place.role() == "primary":
        place.sql(HEARTBEAT)
        archived, report["archive_failing"], waiting, current = archiver(place)
        report["archive_timestamp_seconds"] = archived
        report["archive_waiting_bytes"] = waiting * SEGMENT_BYTES
        tried = place.remembered("backup").get("failed_at", 0)
        report["backup_failed"] = 1 if tried else 0
        try:
            backups = place.backups()
        except BackupError as error:
            complain("The repository of backups does not answer: %s" % error)
            report["repository_answers"] = 0
        else:
            newest = max(backups, key=lambda one: one["timestamp"]["stop"]) if backups else None
            dropped = dropped_at(place)
            report["repository_answers"], report["backups"] = 1, len(backups)
            report["backup_timestamp_seconds"] = newest["timestamp"]["stop"] if newest else since
            report["backup_bytes"] = newest["info"]["size"] if newest else 0
            report["archive_dropped"] = 1 if dropped > (newest["timestamp"]["start"] if newest else 0) else 0
            why = due(backups, now, place["hour"], current, dropped, tried)
    tell(place["metrics"], report)
    return why


def tell(folder, values):
    """Write the file for node_exporter; no one is informed while its folder is not there."""
    if not os.path.isdir(folder):
        return
    lines = []
    for name, value in sorted(values.items()):
        full = "avadm_database_" + name
        lines += ["# HELP %s %s" % (full, ABOUT[name]), "# TYPE %s gauge" % full, "%s %d" % (full, value)]
    write(os.path.join(folder, "avadm-database.prom"), "\n".join(lines) + "\n", 0o644)
