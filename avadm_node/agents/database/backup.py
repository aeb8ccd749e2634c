"""Makes a backup on the primary: a full one once a week, what changed since in between."""

import time

from .look import DAY_S, look, timeline
from .place import BackupError

LONGEST_S = 12 * 3600


def kind(backups, now, full_days, current):
    """Return full or diff: which backup is made now.

    Args:
        backups: what the repository has.
        now: seconds since 1970.
        full_days: days after which a full one is made.
        current: the primary's timeline.
    """
    full = [one for one in backups if one["type"] == "full" and timeline(one) <= current]
    if not full:
        return "full"
    # An hour less: the next one of a week must not come a day late.
    age = now - max(one["timestamp"]["start"] for one in full)
    return "full" if age >= full_days * DAY_S - 3600 else "diff"


def make(place, wanted="", now=None):
    """Make a backup and return it as pgbackrest tells it; BackupError where this is not the primary, or it fails.

    Args:
        place: this node.
        wanted: full or diff; what is due where "".
        now: for tests.
    """
    if place.role() != "primary":
        raise BackupError("%s is not the primary: backups are made there" % place["name"])
    with place.alone("backup"):
        now = now or time.time()
        # As long as it has not ended well, the last try failed: one that is killed is reported too.
        place.remember("backup", {"failed_at": int(now)})
        backups = place.backups()
        current = int(place.sql("SELECT timeline_id FROM pg_control_checkpoint()")[0])
        before = set(one["label"] for one in backups)
        place.pgbackrest(
            "backup",
            "--type=" + (wanted or kind(backups, now, place["full_days"], current)),
            timeout=LONGEST_S,
        )
        made = [one for one in place.backups() if one["label"] not in before]
        if not made:
            raise BackupError("pgbackrest made no backup that the repository has")
        place.remember("backup", {"failed_at": 0, "label": made[-1]["label"]})
    look(place)
    return made[-1]
