"""Opening the database, and bringing its tables to what this version needs."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, Engine, make_url, text
from sqlalchemy.engine import URL
from sqlalchemy.exc import ArgumentError

from ava.db.allocations import Allocations
from ava.db.audit import AuditLog
from ava.db.base import WRITES
from ava.db.charges import Charges
from ava.db.data_sets import DataSets
from ava.db.definitions import Definitions
from ava.db.disks import Disks
from ava.db.engine import make_engine
from ava.db.errors import translated
from ava.db.external_sources import ExternalSources
from ava.db.folders import Folders
from ava.db.groups import Groups
from ava.db.heartbeats import Heartbeats
from ava.db.identities import Identities
from ava.db.images import Images
from ava.db.keys import Keys
from ava.db.model_services import ModelServices
from ava.db.node_drains import NodeDrains
from ava.db.outbox import Outbox
from ava.db.pods import Pods
from ava.db.pools import Pools
from ava.db.queues import Queues
from ava.db.runs import Runs
from ava.db.secrets import Secrets
from ava.db.submissions import Submissions
from ava.db.uploads import Uploads
from ava.db.users import Users
from ava.db.workbenches import Workbenches
from ava.domain.problems import ApiError, Problem

MIGRATIONS = Path(__file__).parent / "migrations"
MIGRATION_LOCK = 0x617661
"""Key of the advisory lock (the letters ``ava``) that one replica holds while it migrates."""


class Database:
    """The database; each attribute has what can be done with one noun."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self.users = Users(engine)
        self.identities = Identities(engine)
        self.secrets = Secrets(engine)
        self.keys = Keys(engine)
        self.audit = AuditLog(engine)
        self.groups = Groups(engine)
        self.queues = Queues(engine)
        self.pools = Pools(engine)
        self.images = Images(engine)
        self.definitions = Definitions(engine)
        self.runs = Runs(engine)
        self.submissions = Submissions(engine)
        self.model_services = ModelServices(engine)
        self.workbenches = Workbenches(engine)
        self.disks = Disks(engine)
        self.charges = Charges(engine)
        self.allocations = Allocations(engine)
        self.folders = Folders(engine)
        self.data_sets = DataSets(engine)
        self.uploads = Uploads(engine)
        self.external_sources = ExternalSources(engine)
        self.pods = Pods(engine)
        self.node_drains = NodeDrains(engine)
        self.heartbeats = Heartbeats(engine)
        self.outbox = Outbox(engine)

    def close(self) -> None:
        """Give its connections back."""
        self.outbox.close()
        self.engine.dispose()


def open_database(url: str, *, password_file: Path | None = None) -> Database:
    """Return the database at a URL; nothing is connected to yet.

    Args:
        url: ``postgresql://USER@HOST/NAME`` with libpq's parameters (``?sslmode=verify-full&passfile=…``), or
            ``sqlite:///PATH``; ``sqlite://`` is in memory, migrated, and gone with the process.
        password_file: holds PostgreSQL's password; read at each connection, so that it may be replaced.
    """
    engine = _engine(url, password_file)
    if engine.url.database in (None, "", ":memory:") and engine.dialect.name == "sqlite":
        _migrate(engine)
    return Database(engine)


def migrate(url: str, *, password_file: Path | None = None) -> None:
    """Bring the tables to this version's state; of several replicas that start at once one does, the others wait."""
    engine = _engine(url, password_file, patient=True)
    try:
        _migrate(engine)
    finally:
        engine.dispose()


def revisions(url: str, *, password_file: Path | None = None) -> tuple[str | None, str | None]:
    """Return the revision that the database has and the one that this version wants."""
    engine = _engine(url, password_file)
    try:
        with translated(), engine.begin() as connection:
            found = MigrationContext.configure(connection).get_current_revision()
    finally:
        engine.dispose()
    return found, ScriptDirectory.from_config(config()).get_current_head()


def config(attributes: Mapping[str, Any] | None = None) -> Config:
    """Return Alembic's settings."""
    settings = Config(attributes=dict(attributes or {}))
    settings.set_main_option("script_location", str(MIGRATIONS).replace("%", "%%"))
    settings.set_main_option("path_separator", "os")
    return settings


def _engine(url: str, password_file: Path | None, *, patient: bool = False) -> Engine:
    return make_engine(_parsed(url), password_file, patient=patient)


def _parsed(url: str) -> URL:
    try:
        parsed = make_url(url)
    except ArgumentError as error:
        # The text itself may hold a password.
        problem = Problem(
            "url-invalid", "This is no URL of a database.", "database URL", "", "postgresql:// or sqlite://"
        )
        raise ApiError(400, problem) from error
    if parsed.password is not None:
        problem = Problem(
            "password-in-url",
            "The URL of the database has a password, which others can read in the list of processes.",
            "database URL",
            parsed.render_as_string(hide_password=True),
            "a URL without password",
            "Put it into a file and name that (password_file, or passfile= in the URL).",
        )
        raise ApiError(400, problem)
    names = {"postgresql": "postgresql+psycopg", "sqlite": "sqlite+pysqlite"}
    backend = parsed.get_backend_name()
    if backend not in names:
        wanted = "postgresql:// or sqlite://"
        raise ApiError(
            400, Problem("database-unknown", "Unknown kind of database.", "database URL", backend, wanted)
        )
    return parsed.set(drivername=names[backend])


def _migrate(engine: Engine) -> None:
    writer = engine.execution_options(**{WRITES: True})
    with translated(), writer.begin() as connection:
        _lock(connection)
        _refuse_newer(connection)
        command.upgrade(config({"connection": connection}), "head")


def _refuse_newer(connection: Connection) -> None:
    """Refuse a database of a newer version: there are no migrations backwards, and its tables are not those of this code."""
    scripts = ScriptDirectory.from_config(config())
    found = MigrationContext.configure(connection).get_current_revision()
    if found is None or found in {script.revision for script in scripts.walk_revisions()}:
        return
    raise ApiError(
        409,
        Problem(
            "database-newer",
            "A newer version has migrated the database.",
            "database",
            f"revision {found}",
            f"revision {scripts.get_current_head()} or older",
            "Install that version or a newer one, or restore a backup from before its migration.",
        ),
    )


def _lock(connection: Connection) -> None:
    if connection.dialect.name == "postgresql":
        connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": MIGRATION_LOCK})
