"""AVA's database before its migration: its revision, and a dump that is checked; for the primary's node."""

from __future__ import absolute_import

import calendar
import json
import os
import re
import subprocess
import time

from ..health.system import LONG_LINE, Failed, call, must

FOLDER = "/var/lib/avadm/ava-dumps"
NAME = re.compile(r"^ava-([0-9A-Za-z_]+)-([0-9]{8}T[0-9]{6}Z)\.dump\Z")
REVISION = re.compile(r"^[0-9A-Za-z_]{1,64}\Z")
KEPT = 3
DUMP_S = 3500
AS_POSTGRES = ["runuser", "-u", "postgres", "--"]
SQL = (
    "SELECT json_build_object('recovery', pg_is_in_recovery(), 'bytes', pg_database_size(current_database()), "
    "'revision', (SELECT version_num FROM alembic_version))"
)


def ask(params, folder=FOLDER):
    """Return what is known of the database here.

    Args:
        params: database.

    Returns:
        recovery (whether it is a standby), bytes (its size), revision, free (bytes on the file system of the dumps).
    """
    psql = ["psql", "--no-psqlrc", "-qAt", "--set=ON_ERROR_STOP=1", "--dbname=" + params["database"]]
    code, out, err = call(AS_POSTGRES + psql + ["--command", SQL], 30)
    if code != 0:
        # Its first line says why, the last one where in the statement.
        raise Failed((err.strip() or "psql ended with %d" % code).split("\n")[0][:LONG_LINE])
    return dict(json.loads(out), free=_free(folder))


def dumps(params, folder=FOLDER):
    """Return the whole dumps that are here.

    Args:
        params: nothing.

    Returns:
        dumps: revision and epoch seconds of each.
    """
    found = []
    for name in _names(folder):
        revision, taken = NAME.match(name).groups()
        if not _damage(os.path.join(folder, name), revision):
            found.append([revision, calendar.timegm(time.strptime(taken, "%Y%m%dT%H%M%SZ"))])
    return {"dumps": found}


def dump(params, folder=FOLDER, clock=time.time):
    """Dump the database and check that the dump is whole; the oldest are removed.

    Args:
        params: database; revision, that it must have.

    Returns:
        path, bytes, tables.
    """
    revision = params["revision"]
    if not REVISION.match(revision):
        raise ValueError("this is no revision: %r" % (revision,))
    found = ask(params, folder)
    if found["recovery"] or found["revision"] != revision:
        raise Failed(
            "expected the primary at revision %s, found %s" % (revision, json.dumps(found, sort_keys=True))
        )
    if not os.path.isdir(folder):
        os.makedirs(folder)
    os.chmod(folder, 0o700)
    for name in os.listdir(folder):
        if name.endswith(".part"):
            os.unlink(os.path.join(folder, name))
    name = "ava-%s-%s.dump" % (revision, time.strftime("%Y%m%dT%H%M%SZ", time.gmtime(clock())))
    path, part = os.path.join(folder, name), os.path.join(folder, name + ".part")
    try:
        _write(params["database"], part)
        why = _damage(part, revision)
        if why:
            raise Failed("the dump is not whole: " + why)
    except BaseException:
        if os.path.exists(part):
            os.unlink(part)
        raise
    tables = len(_listed(part))
    os.rename(part, path)
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
    for old in _names(folder)[:-KEPT]:
        os.unlink(os.path.join(folder, old))
    return {"path": path, "bytes": os.path.getsize(path), "tables": tables}


def _write(database, path):
    """Write a dump; root opens the file, so that no one else reads it."""
    argv = ["timeout", "-s", "KILL", str(DUMP_S)] + AS_POSTGRES
    argv += ["pg_dump", "--format=custom", "--no-password", "--dbname=" + database]
    handle = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
    try:
        # A folder that postgres may not enter pg_dump would warn of.
        process = subprocess.Popen(argv, stdout=handle, stderr=subprocess.PIPE, cwd="/")
        err = process.communicate()[1].decode("utf-8", "replace").strip()
        if process.returncode != 0:
            raise Failed(
                "pg_dump: %s" % ((err or "exit %d" % process.returncode).split("\n")[-1][:LONG_LINE])
            )
        os.fsync(handle)
    finally:
        os.close(handle)


def _listed(path):
    """Return the tables whose rows a dump has."""
    return [line for line in must(["pg_restore", "--list", path], 120).split("\n") if " TABLE DATA " in line]


def _damage(path, revision):
    """Return why a dump is not whole, or of another revision; "" where it is good. All of it is read."""
    try:
        if not _listed(path):
            return "it has no table"
        rows = must(["pg_restore", "--data-only", "--table=alembic_version", "--file=-", path], 120)
        if revision not in rows.split("\n"):
            return "it is not of revision %s" % revision
        code, _, err = call(["pg_restore", "--file=/dev/null", path], DUMP_S)
        return "" if code == 0 else (err.strip() or "exit %d" % code).split("\n")[-1][:LONG_LINE]
    except Failed as error:
        return str(error)


def _names(folder):
    names = os.listdir(folder) if os.path.isdir(folder) else []
    found = [name for name in names if NAME.match(name)]
    return sorted(found, key=lambda name: NAME.match(name).group(2))


def _free(folder):
    """Return the bytes that root may write on the file system that the folder is, or will be, on."""
    for _ in folder.split("/"):
        if os.path.isdir(folder):
            break
        folder = os.path.dirname(folder)
    seen = os.statvfs(folder)
    return seen.f_bfree * seen.f_frsize
