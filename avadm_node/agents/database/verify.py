"""Proves the newest backup by restoring it, with all WAL since, into a server beside the living one; then removes that."""

import json
import os
import shutil
import time

from .look import look
from .place import BackupError
from .scratch import Scratch, clear

ROOM = 1.3
"""What a restore takes of the disk, as a multiple of the data: the data, and WAL that is being replayed."""
SPARE_BYTES = 1 << 30
"""What stays free for the living server besides."""
LONGEST_S = 6 * 3600
FRESH = 3
"""Heartbeats that the newest restored row may be old: what is not archived yet is not in the archive."""
ROWS_OFF, ROWS_PART = 1000, 0.5
"""How far a table's rows may be from what the living server's planner takes them for: that is an estimate, and it was written."""
DATABASES = "SELECT datname FROM pg_database WHERE datallowconn AND datname <> 'template1' ORDER BY 1"
TABLES = """
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE c.relkind = 'r' AND c.relpersistence = 'p' AND n.nspname NOT IN ('pg_catalog', 'information_schema', 'pg_toast')
ORDER BY n.nspname, c.relname
"""
# On the living server nothing of a database's owner is evaluated, for it would be as the administrator: what he calls a table
# may be a view a moment later, and call his functions. The restored one has no one but us.
ESTIMATED = "SELECT json_build_array(n.nspname || '.' || c.relname, c.reltuples::bigint) " + TABLES
COUNTED = (
    """
SELECT json_build_array(n.nspname || '.' || c.relname, (xpath('/row/n/text()', query_to_xml(
  format('SELECT count(*) AS n FROM ONLY %I.%I', n.nspname, c.relname), false, true, '')))[1]::text::bigint)
"""
    + TABLES
)
# Unlike SELECT it takes no view.
REVISION = "COPY public.alembic_version TO STDOUT"


def room(place, folder, backup):
    """BackupError where the disk has not the room for a restore."""
    wanted = int(backup["info"]["size"] * ROOM) + SPARE_BYTES
    free = shutil.disk_usage(os.path.dirname(folder)).free
    if free < wanted:
        raise BackupError(
            "%s has %d MiB free, and a restore wants %d MiB. Remedy: free space there, or verify on another node"
            % (os.path.dirname(folder), free >> 20, wanted >> 20)
        )


def bring(place, folder, *words):
    """Have pgbackrest write a backup into a folder, which is recreated."""
    clear(place, folder)
    place.as_postgres(["mkdir", "-m", "0700", folder])
    place.pgbackrest("restore", "--pg1-path=" + folder, *words, timeout=LONGEST_S)


def facts(sql, rows):
    """Return what a server has: database to its tables' rows and its revision.

    Args:
        sql: callable(text, database) -> lines.
        rows: COUNTED, or ESTIMATED (-1 where no one has estimated them yet).
    """
    found = {}
    for database in sql(DATABASES, "postgres"):
        report = dict(json.loads(line) for line in sql(rows, database))
        found[database] = {"rows": report}
        if "public.alembic_version" in report:
            found[database]["revision"] = sql(REVISION, database)
    return found


def compared(restored, living):
    """Return what is wrong with what was restored, in words, beside the living server's."""
    wrong = []
    for database, there in sorted(living.items()):
        here = restored.get(database)
        if here is None:
            wrong.append("the database %s is missing" % database)
            continue
        if here.get("revision") != there.get("revision"):
            wrong.append(
                "%s has the revision %s, wanted %s" % (database, here.get("revision"), there.get("revision"))
            )
        for table, rows in sorted(there["rows"].items()):
            got = here["rows"].get(table)
            if got is None:
                wrong.append("%s: the table %s is missing" % (database, table))
            elif rows >= 0 and abs(got - rows) > max(ROWS_OFF, rows * ROWS_PART):
                wrong.append("%s: %s has %d rows, the living one some %d" % (database, table, got, rows))
    return wrong


def verify(place, anywhere=False, say=print):
    """Verify the newest backup on a standby, and return what was found; it is remembered and reported as metrics.

    Args:
        place: this node.
        anywhere: whether the primary may do it too, at low priority.
        say: called with each step.

    Returns:
        good, wrong (in words), seconds, lag_s, label.

    Raises:
        BackupError: it is not done here: this is not a standby, or another one is at work.
    """
    role = place.role()
    if role != "standby" and not anywhere:
        raise BackupError(
            "%s is %s: backups are verified on a standby" % (place["name"], role or "no member that runs")
        )
    with place.alone("verify"):
        folder = os.path.join(os.path.dirname(place["data"]), "avadm-verify")
        server = Scratch(place, folder, folder + "-run")
        begun = time.time()
        result = {
            "at": int(begun),
            "good": False,
            "wrong": [],
            "good_at": place.remembered("verify").get("good_at"),
        }
        try:
            result.update(judged(place, server, folder, begun, say))
        except BackupError as error:
            result["wrong"] = [str(error)]
        except (ValueError, IndexError, TypeError) as error:
            result["wrong"] = ["what the restored server says cannot be read: %r" % error]
        except BaseException:
            result["wrong"] = ["it was stopped before it was through"]
            raise
        finally:
            server.stop()
            server.remove()
            result["seconds"] = int(time.time() - begun)
            result["good"] = not result["wrong"]
            if result["good"]:
                result["good_at"] = int(begun)
            elif result["good_at"] is None:
                del result["good_at"]
            place.remember("verify", result)
        look(place)
    return result


def judged(place, server, folder, begun, say):
    """Restore, look at everything, and return what was found."""
    backups = place.backups()
    if not backups:
        raise BackupError("there is no backup yet. Remedy: `avadm database backup`")
    room(place, folder, backups[-1])
    say("restoring %s and the WAL since" % backups[-1]["label"])
    # Nothing of it may ever be archived: it is another history.
    bring(place, folder, "--archive-mode=off")
    server.prepare()
    server.start(LONGEST_S)
    say("comparing it with the living server")
    wrong = compared(facts(server.sql, COUNTED), facts(place.sql, ESTIMATED))
    lag = int(begun - float(server.sql("SELECT extract(epoch FROM at) FROM avadm.heartbeat")[0]))
    if lag > FRESH * place["heartbeat_s"]:
        wrong.append(
            "the newest restored row is %d s old, wanted %d: WAL is missing in the archive, or is not archived"
            % (lag, FRESH * place["heartbeat_s"])
        )
    say("looking at indexes and tables")
    # Without the extension of the living one: it is made in this server alone.
    amcheck = [os.path.join(place["bin"], "pg_amcheck"), "--all", "--install-missing", "--no-strict-names"]
    amcheck += ["--host=" + server.run, "--port=%d" % place["port"], "--heapallindexed"]
    wrong += tried(place, amcheck)
    server.stop()
    say("reading every page's checksum")
    wrong += tried(place, [os.path.join(place["bin"], "pg_checksums"), "--check", "--pgdata=" + folder])
    return {"wrong": wrong, "label": backups[-1]["label"], "lag_s": lag}


def tried(place, argv):
    """Return what a program of PostgreSQL found to be wrong; nothing where it is content."""
    if not os.path.exists(argv[0]):
        return []  # pg_amcheck came with release 14
    try:
        place.as_postgres(argv, LONGEST_S)
    except BackupError as error:
        return [str(error)]
    return []
