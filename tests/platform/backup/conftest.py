"""A real PostgreSQL with checksums, whose WAL a real pgbackrest archives into an encrypted folder."""

import os
import pwd
import shutil
import subprocess
import time

import psycopg
import pytest

from avadm_node.agents.database import place, restore
from tests.platform.postgres import ACCOUNT, PROGRAMS, Server

CONF = """
[global]
repo1-path={repo}
repo1-cipher-type=aes-256-cbc
repo1-cipher-pass=only-for-tests
repo1-retention-full=4
repo1-bundle=y
compress-type=zst
start-fast=y
archive-timeout=20
lock-path={folder}/lock
log-level-file=off
log-level-console=warn
[avadm]
pg1-path={data}
pg1-port={port}
pg1-socket-path={folder}
"""


def installed():
    """Install the distribution's pgbackrest where it is missing."""
    if not shutil.which("pgbackrest"):
        environment = os.environ | {"DEBIAN_FRONTEND": "noninteractive"}
        argv = ["apt-get", "install", "-q", "-y", "--no-install-recommends", "pgbackrest"]
        subprocess.run(argv, check=True, env=environment, stdout=subprocess.DEVNULL)


class Rig:
    """The server, its repository, and its node as avadm_node/agents/database sees it."""

    def __init__(self, folder, monkeypatch):
        installed()
        self.server = Server()
        self.repo, self.state = self.server.folder / "repo", folder
        home = pwd.getpwnam(ACCOUNT)
        for path in (self.repo, self.server.folder / "lock"):
            path.mkdir()
            os.chown(path, home.pw_uid, home.pw_gid)
        conf = self.server.folder / "pgbackrest.conf"
        conf.write_text(
            CONF.format(
                repo=self.repo, folder=self.server.folder, data=self.server.data, port=self.server.port
            )
        )
        monkeypatch.setenv("PGBACKREST_CONFIG", str(conf))
        monkeypatch.setenv("PGHOST", str(self.server.folder))
        self.archive = "pgbackrest --stanza=avadm archive-push %p"
        monkeypatch.setattr(restore, "ARCHIVE", self.archive)
        monkeypatch.setattr(restore, "ARCHIVED_S", 20)
        monkeypatch.setattr(restore, "active", lambda unit: False)
        self.role = "primary"
        monkeypatch.setattr(place.Place, "role", lambda here: self.role)
        self.sql(f"ALTER SYSTEM SET archive_command = '{self.archive}'")
        self.sql("ALTER SYSTEM SET archive_mode = on")
        self.server.stop("fast")
        self.server._run("pg_checksums", "--enable", "-D", self.server.data, "--no-sync")
        self.server.start()
        self.place = place.Place(
            {
                "name": "d1", "stanza": "avadm", "scope": "t", "data": str(self.server.data), "bin": str(PROGRAMS),
                "port": self.server.port, "api": "", "state": str(self.state), "metrics": str(self.state), "hour": 2,
                "full_days": 7, "heartbeat_s": 20,
            }
        )  # fmt: skip
        self.place.pgbackrest("stanza-create")

    def sql(self, text, *values):
        """Return the rows that the server answers."""
        with psycopg.connect(self.server._admin(), autocommit=True) as connection:
            found = connection.execute(text, values or None)
            return found.fetchall() if found.description else []

    def write(self, first, last):
        """Write rows, each in a transaction of its own."""
        with psycopg.connect(self.server._admin(), autocommit=True) as connection:
            for n in range(first, last + 1):
                connection.execute("INSERT INTO charge VALUES (%s)", (n,))

    def rows(self):
        """Return what the table has."""
        return [n for (n,) in self.sql("SELECT n FROM charge ORDER BY n")]

    def now(self):
        """Return the present as a restore takes it; what was written before is before it, what comes is after it."""
        time.sleep(0.05)
        ((text,),) = self.sql(
            "SELECT to_char(clock_timestamp() AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI:SS.MS') || '+00'"
        )
        time.sleep(0.05)
        return text

    def archived(self):
        """Have all WAL up to now archived."""
        ((segment,),) = self.sql("SELECT pg_walfile_name(pg_switch_wal())")
        end = time.monotonic() + 30
        while (self.sql("SELECT coalesce(last_archived_wal, '') FROM pg_stat_archiver")[0][0]) < segment:
            assert time.monotonic() < end
            time.sleep(0.1)


@pytest.fixture
def rig(tmp_path, monkeypatch):
    """A new one for each test: each leaves its repository otherwise."""
    made = Rig(tmp_path, monkeypatch)
    made.sql("CREATE TABLE charge (n bigint PRIMARY KEY)")
    yield made
    made.server.remove()
