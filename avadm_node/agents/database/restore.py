"""Brings a backup back, step by step; each step may be called again, and none removes data: what was there is kept aside.

The controller goes through them (installer/avadm/databases/restore.py): `prepare` on one node, while all continues; then, with
every member stopped, `finish` there, and `start` there and on the others.
"""

import json
import os
import subprocess
import time
from calendar import timegm

from .place import BackupError, ask
from .scratch import Scratch, clear
from .verify import LONGEST_S, bring, room

COPY = "/run/avadm/database-copy"
"""What lets a member without data copy the primary's (avadm-database-guard)."""
PATRONI = "/etc/patroni/config.yml"
ARCHIVE = "/usr/local/sbin/avadm-pgbackrest-archive %p"
"""The role's archive_command."""
FORGET_TRIES, FORGET_S = 10, 5
ARCHIVED_S = 120


def folders(place):
    """Return where a backup is restored to, and the folder of that server's socket and log."""
    return place["data"] + ".restoring", place["data"] + "-restoring-run"


def prepare(place, target):
    """Restore a backup beside the data, and replay WAL up to a time; the living database continues meanwhile.

    Args:
        place: this node.
        target: a time as PostgreSQL reads it, with its zone; "" for all there is.

    Returns:
        label of the backup, and the time of the last change that was replayed ("" where that is not known yet).
    """
    with place.alone("restore"):
        folder, run = folders(place)
        server = Scratch(place, folder, run)
        server.stop()
        backups = [
            one for one in place.backups() if not target or one["timestamp"]["stop"] <= seconds(target)
        ]
        if not backups:
            raise BackupError(
                "the repository has no backup that was through by %s. Remedy: `avadm database backups`"
                % (target or "now")
            )
        room(place, folder, backups[-1])
        if not target:
            bring(place, folder)
            return {"label": backups[-1]["label"], "last": ""}
        while True:
            one = backups.pop()
            try:
                return stopped_at(place, server, folder, one["label"], target)
            except BackupError as error:
                # Made after the time to which it was once restored, in what was given up then: an older one leads there.
                if "is not a child of this server's history" not in str(error) or not backups:
                    raise


def seconds(target):
    """Return a time, YYYY-MM-DD HH:MM:SS.MMM+00, in seconds since 1970."""
    return timegm(time.strptime(target[:19], "%Y-%m-%d %H:%M:%S"))


def stopped_at(place, server, folder, label, target):
    """Restore a backup and replay WAL up to a time; return which backup it was, and the last change that was replayed."""
    bring(place, folder, "--set=" + label, "--type=time", "--target=" + target, "--target-action=shutdown")
    # The same history as the living one's until now: nothing of it is archived before it is to be the database.
    server.prepare({"archive_command": "/bin/false"})
    try:
        runs = server.start(LONGEST_S)
    except BackupError as error:
        if "before configured recovery target was reached" not in str(error):
            raise
        raise BackupError(
            "the archive ends before %s: the last change in it is of %s. Remedy: take an earlier time, or `latest`"
            % (target, server.last() or "the backup itself")
        ) from None
    if runs:
        server.stop()
        raise BackupError("the restored server did not stop at %s. Remedy: try again" % target)
    return {"label": label, "last": server.last()}


def finish(place):
    """Make what was restored the data of this member; what was there is kept aside. Every member stands still.

    Returns:
        where the former data are ("" where there were none), and the timeline.
    """
    with place.alone("restore"):
        folder, run = folders(place)
        still(place)
        if os.path.exists(os.path.join(folder, "recovery.signal")):
            promote(place, Scratch(place, folder, run))
        if not os.path.exists(os.path.join(folder, "PG_VERSION")):
            raise BackupError(
                "there is nothing restored in %s. Remedy: `avadm database restore` from the beginning"
                % folder
            )
        aside = put_aside(place)
        os.rename(folder, place["data"])
        clear(place, run)
        shown = place.as_postgres([os.path.join(place["bin"], "pg_controldata"), place["data"]])
        line = next(x for x in shown.splitlines() if "TimeLineID" in x and "Latest" in x)
        return {"aside": aside, "timeline": int(line.rpartition(":")[2])}


def promote(place, server):
    """Have a restored server replay the rest, begin a history of its own and archive that; it stands still afterwards."""
    server.prepare({"archive_command": ARCHIVE})
    try:
        # What is on the command line counts more than what pgbackrest wrote.
        if not server.start(LONGEST_S, "-c recovery_target_action=promote -c archive_mode=on"):
            raise BackupError("the restored server stopped again instead of serving")
        server.forget_recovery()
        server.sql("CHECKPOINT")
        archived(place, server)
    finally:
        server.stop()


def archived(place, server, seconds=ARCHIVED_S):
    """Wait until the new history is in the archive: without it no one could follow it from there."""
    server.sql("SELECT pg_switch_wal()")
    end = time.monotonic() + seconds
    while True:
        waiting = server.sql("SELECT count(*) FROM pg_ls_archive_statusdir() WHERE name LIKE '%.ready'")
        if waiting == ["0"]:
            return
        if time.monotonic() > end:
            raise BackupError(
                "the archive takes no WAL: %s segments wait after %d s. Remedy: see that the repository answers"
                " (`avadm database backups`), then the same command again" % (waiting[0], seconds)
            )
        time.sleep(1)


def still(place):
    """BackupError where a server of PostgreSQL runs on the data of this member."""
    if active("patroni"):
        raise BackupError("Patroni runs on %s: its data are not touched" % place["name"])
    argv = [os.path.join(place["bin"], "pg_ctl"), "status", "--pgdata=" + place["data"], "--silent"]
    if os.path.isdir(place["data"]) and place.call(argv, 30, None, "postgres")[0] == 0:
        raise BackupError("PostgreSQL runs on %s: its data are not touched" % place["name"])


def put_aside(place):
    """Rename the data that are there; return their new name, "" where there are none."""
    if not os.path.lexists(place["data"]):
        return ""
    if not os.listdir(place["data"]):
        os.rmdir(place["data"])
        return ""
    aside = "%s.before-%s" % (place["data"], time.strftime("%Y%m%dT%H%M%SZ", time.gmtime()))
    os.rename(place["data"], aside)
    return aside


def forget(place):
    """Remove what Patroni keeps in etcd of the cluster: who leads, how far it was, its history; all of that was before."""
    answers = "%s\nYes I am aware\n" % place["scope"]
    for left in range(FORGET_TRIES, 0, -1):
        code, out, err = place.call(["patronictl", "-c", PATRONI, "remove", place["scope"]], 60, answers)
        if code == 0:
            return {}
        # Of one that was killed the lease has to end first: it asks for the leader's name as well.
        if left > 1:
            time.sleep(FORGET_S)
    reply = " ".join((err or out).split())[-300:]
    raise BackupError(
        "what Patroni keeps in etcd was not removed: %s. Remedy: `avadm doctor --only etcd`" % reply
    )


def leader(place):
    """Return who Patroni's store says that leads: a name, or ""; BackupError where the store does not answer."""
    out = place.call(["patronictl", "-c", PATRONI, "list", "--format=json"], 60, None)
    if out[0] != 0:
        raise BackupError("etcd does not say who leads: %s" % " ".join(out[2].split())[-300:])
    try:
        members = json.loads(out[1] or "[]")
    except ValueError:
        members = []
    return next((one["Member"] for one in members if one.get("Role") == "Leader"), "")


def start(place, copy, seconds=900):
    """Start this member, and wait until it serves as it should.

    Args:
        place: this node.
        copy: whether it copies the primary's data; those that it has are put aside. Else it is the first one.
        seconds: how long that may take.

    Returns:
        where its former data are, "" where there were none, or where nothing was to be copied.
    """
    aside = ""
    if copy and place.role() != "standby":
        still(place)
        aside = put_aside(place)
        if not os.path.isdir(os.path.dirname(COPY)):
            os.makedirs(os.path.dirname(COPY), 0o700)
        open(COPY, "w").close()
    subprocess.check_call(["systemctl", "start", "--no-block", "patroni"])
    end, wanted = time.monotonic() + seconds, "/replica" if copy else "/primary"
    while ask(place["api"] + wanted)[0] != 200:
        if time.monotonic() > end:
            raise BackupError(
                "%s does not serve after %d s. Remedy: `journalctl -u patroni -e` there"
                % (place["name"], seconds)
            )
        time.sleep(1)
    return {"aside": aside}


def stop(place):
    """Stop this member; what it was is the answer."""
    role = place.role()
    if role == "primary":
        # What was acknowledged up to now is in the archive, should it be wanted again.
        try:
            place.sql("SELECT pg_switch_wal()")
        except BackupError:
            pass
    subprocess.check_call(["systemctl", "stop", "patroni"])
    still(place)
    return {"role": role}


def active(unit):
    """Return whether a unit of systemd runs."""
    return subprocess.call(["systemctl", "is-active", "--quiet", unit]) == 0
