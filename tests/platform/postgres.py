"""A real PostgreSQL 15 of the distribution in a folder of its own, for tests."""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
import tempfile
from itertools import count
from pathlib import Path

import psycopg
from psycopg import sql

from bench.control_plane import free_port

PROGRAMS = Path("/usr/lib/postgresql/15/bin")
ACCOUNT = "postgres"
PASSWORD = "only-for-tests"


def installed() -> None:
    """Install the distribution's package where it is missing."""
    if not (PROGRAMS / "initdb").exists():
        environment = os.environ | {"DEBIAN_FRONTEND": "noninteractive"}
        for command in (
            ["update", "-q"],
            ["install", "-q", "-y", "--no-install-recommends", "postgresql-15"],
        ):
            subprocess.run(["apt-get", *command], check=True, env=environment, stdout=subprocess.DEVNULL)


class Server:
    """One server on a unix socket (no password) and on a loopback port (password).

    Args:
        durable: whether a commit waits for the disk, as in a room; for figures and for kills.
    """

    def __init__(self, *, durable: bool = False) -> None:
        installed()
        self.folder = Path(tempfile.mkdtemp(prefix="avapg-", dir="/tmp"))
        self.data = self.folder / "data"
        self.port = free_port()
        self._durable = durable
        self._numbers = count()
        account = pwd.getpwnam(ACCOUNT)
        os.chown(self.folder, account.pw_uid, account.pw_gid)
        password = self.folder / "password"
        password.write_text(PASSWORD)
        os.chown(password, account.pw_uid, account.pw_gid)
        self._run(
            "initdb", "-D", self.data, "-U", ACCOUNT, "--auth-local=trust", "--auth-host=scram-sha-256",
            f"--pwfile={password}", "--encoding=UTF8", "--locale=C.UTF-8", "--no-sync",
        )  # fmt: skip
        self.start()

    def start(self) -> None:
        """Start it and wait until it answers."""
        settings = {
            "listen_addresses": "127.0.0.1",
            "port": str(self.port),
            "unix_socket_directories": str(self.folder),
            "max_connections": "100",
            "shared_buffers": "64MB",
        }
        if not self._durable:
            settings |= {"fsync": "off", "synchronous_commit": "off", "full_page_writes": "off"}
        options = " ".join(f"-c {name}={value}" for name, value in settings.items())
        log = self.folder / "log"
        self._run("pg_ctl", "-D", self.data, "-w", "-t", "60", "-l", log, "-o", options, "start")

    def stop(self, mode: str = "immediate") -> None:
        """End it: ``fast`` in good order, ``immediate`` as a crash."""
        self._run("pg_ctl", "-D", self.data, "-w", "-t", "60", "-m", mode, "stop")

    def remove(self) -> None:
        """End it and remove its folder."""
        self.stop()
        shutil.rmtree(self.folder)

    def url(self, name: str) -> str:
        """Return the URL of a database by the unix socket."""
        return f"postgresql://{ACCOUNT}@/{name}?host={self.folder}&port={self.port}"

    def loopback_url(self, name: str) -> str:
        """Return the URL of a database by TCP, where a password is asked for."""
        return f"postgresql://{ACCOUNT}@127.0.0.1:{self.port}/{name}"

    def create(self, template: str = "template1") -> str:
        """Return the name of a new database."""
        name = f"database_{next(self._numbers)}"
        with psycopg.connect(self._admin(), autocommit=True) as connection:
            make = sql.SQL("CREATE DATABASE {} TEMPLATE {}")
            connection.execute(make.format(sql.Identifier(name), sql.Identifier(template)))
        return name

    def drop(self, name: str) -> None:
        """Remove a database with anyone who is connected."""
        with psycopg.connect(self._admin(), autocommit=True) as connection:
            connection.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(name)))

    def cut(self, name: str) -> None:
        """End all connections to a database."""
        with psycopg.connect(self._admin(), autocommit=True) as connection:
            connection.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s", (name,)
            )

    def _admin(self) -> str:
        return f"host={self.folder} port={self.port} user={ACCOUNT} dbname=postgres"

    def _run(self, program: str, *arguments: str | Path) -> None:
        command = ["runuser", "-u", ACCOUNT, "--", str(PROGRAMS / program), *map(str, arguments)]
        # pg_ctl's server keeps the pipe open: its output goes to the log, ours nowhere.
        done = subprocess.run(
            command,
            cwd="/",
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE if program == "initdb" else None,
        )
        if done.returncode:
            log = self.folder / "log"
            text = log.read_text()[-2000:] if log.exists() else (done.stderr or b"").decode()
            raise RuntimeError(f"{' '.join(command)}: {text}")
