"""The database's tables as they are after the last migration; a test holds both to each other."""

from __future__ import annotations

from typing import Any

from sqlalchemy import (
    Boolean,
    CheckConstraint,
    Column,
    Float,
    ForeignKey,
    Index,
    MetaData,
    Table,
    TextClause,
    UniqueConstraint,
    text,
)

from ava.db.types import SERIAL, JsonDocument, LongText, ShortText, UnsignedBigInt, UtcDateTime
from ava.domain.names import ID_LENGTH

NAMES = {
    "ix": "%(table_name)s_%(column_0_N_name)s_idx",
    "uq": "%(table_name)s_%(column_0_N_name)s_key",
    "ck": "%(table_name)s_%(constraint_name)s_check",
    "fk": "%(table_name)s_%(column_0_N_name)s_fkey",
    "pk": "%(table_name)s_pkey",
}
metadata = MetaData(naming_convention=NAMES)
ID = ShortText(ID_LENGTH)
PERSON = ShortText(32)
NAME = ShortText(200)


def _only(condition: TextClause) -> dict[str, Any]:
    """Return the options of an index over some rows alone."""
    return {"postgresql_where": condition, "sqlite_where": condition}


def _limits(storage: bool) -> list[Any]:
    """Return columns and checks of a quota; what is used can never be more, whichever program writes."""
    parts = ("gpu", "cpu", "memory")
    columns: list[Any] = [
        Column(f"quota_{name}", UnsignedBigInt)
        for name in (*parts, *(["storage", "disk"] if storage else []))
    ]
    columns += [
        Column(f"used_{name}", UnsignedBigInt, nullable=False, server_default=text("0")) for name in parts
    ]
    columns += [
        CheckConstraint(
            f"used_{name} >= 0 AND (quota_{name} IS NULL OR used_{name} <= quota_{name})", name=f"used_{name}"
        )
        for name in parts
    ]
    return columns


numbers = Table(
    "numbers",
    metadata,
    Column("name", ShortText(20), primary_key=True),
    Column("last", UnsignedBigInt, nullable=False),
    comment="the last uid and gid given; a row is locked by who takes the next",
)
groups = Table(
    "groups",
    metadata,
    Column("name", PERSON, primary_key=True),
    Column("id", ID, nullable=False, unique=True),
    Column("gid", UnsignedBigInt, nullable=False, unique=True),
    *_limits(storage=True),
    Column("created", UtcDateTime, nullable=False),
    Column("deleted", UtcDateTime, comment="kept for its charges; neither name nor gid is given again"),
)
users = Table(
    "users",
    metadata,
    Column("name", PERSON, primary_key=True),
    Column("id", ID, nullable=False, unique=True),
    Column("email", ShortText(254), nullable=False, unique=True),
    Column("password", ShortText(500), nullable=False),
    Column("uid", UnsignedBigInt, nullable=False, unique=True),
    Column("admin", Boolean, nullable=False),
    Column("state", ShortText(20), nullable=False),
    Column("default_group", PERSON, ForeignKey(groups.c.name)),
    Column("created", UtcDateTime, nullable=False),
    Column("quota_storage", UnsignedBigInt),
    Column("entered", UtcDateTime),
    Column("email_confirmed", UtcDateTime),
    CheckConstraint("state IN ('pending', 'active', 'disabled')", name="state"),
)
Index("users_state_name_idx", users.c.state, users.c.name)
members = Table(
    "members",
    metadata,
    Column("group_name", PERSON, ForeignKey(groups.c.name), primary_key=True),
    Column("user_name", PERSON, ForeignKey(users.c.name), primary_key=True),
    Column("since", UtcDateTime, nullable=False),
)
Index(None, members.c.user_name, members.c.group_name)
pools = Table(
    "pools",
    metadata,
    Column("name", NAME, primary_key=True),
    Column("id", ID, nullable=False, unique=True),
    Column("gpu", Boolean, nullable=False),
    Column("selector", JsonDocument, nullable=False),
    Column("cpu_ratio", Float, nullable=False),
    Column("memory_ratio", Float, nullable=False),
    Column("gpu_slots", UnsignedBigInt, nullable=False),
)
queues = Table(
    "queues",
    metadata,
    Column("name", NAME, primary_key=True),
    Column("id", ID, nullable=False, unique=True),
    Column("pool", NAME, ForeignKey(pools.c.name)),
    *_limits(storage=False),
    Column("priority", UnsignedBigInt, nullable=False),
    Column("deleted", UtcDateTime),
)
definitions = Table(
    "definitions",
    metadata,
    Column("id", ID, primary_key=True),
    Column("kind", ShortText(20), nullable=False),
    Column("owner", PERSON, ForeignKey(users.c.name), nullable=False),
    Column("name", NAME, nullable=False),
    Column("spec", JsonDocument, nullable=False),
    Column("outline", JsonDocument, nullable=False, server_default=text("'{}'")),
    Column("created", UtcDateTime, nullable=False),
    Column("deleted", UtcDateTime),
    CheckConstraint("kind IN ('workbench', 'training', 'service')", name="kind"),
)
_KEPT = text("deleted IS NULL")
Index(
    "definitions_owner_kind_name_key",
    definitions.c.owner,
    definitions.c.kind,
    definitions.c.name,
    unique=True,
    **_only(_KEPT),
)
_columns: tuple[str, ...]
for _columns in (("owner", "id"), ("owner", "kind", "id"), ("kind", "id"), ("name", "id")):
    Index(None, *(definitions.c[c] for c in _columns))

runs = Table(
    "runs",
    metadata,
    Column("id", ID, primary_key=True),
    Column("definition", ID, ForeignKey(definitions.c.id), nullable=False),
    Column("kind", ShortText(20), nullable=False),
    Column("name", NAME, nullable=False),
    Column("owner", PERSON, ForeignKey(users.c.name), nullable=False),
    Column("group_name", PERSON, ForeignKey(groups.c.name), nullable=False),
    Column("queue", NAME, ForeignKey(queues.c.name), nullable=False),
    Column("priority", UnsignedBigInt, nullable=False),
    Column("cluster", NAME, nullable=False),
    Column("key", ShortText(200), nullable=False),
    Column("spec", JsonDocument, nullable=False),
    Column("outline", JsonDocument, nullable=False, server_default=text("'{}'")),
    Column("gpu", UnsignedBigInt, nullable=False),
    Column("cpu", UnsignedBigInt, nullable=False),
    Column("memory", UnsignedBigInt, nullable=False),
    Column("phase", ShortText(20), nullable=False),
    Column("created", UtcDateTime, nullable=False),
    Column("admitted", UtcDateTime),
    Column("stop", UtcDateTime),
    Column("finished", UtcDateTime),
    Column("outcome", ShortText(20)),
    Column("reason", LongText, nullable=False, server_default=text("''")),
    Column("reason_phrase", JsonDocument, comment="what makes the reason, for readers of other languages"),
    Column("attempt", UnsignedBigInt, nullable=False, server_default=text("0")),
    Column("started", UtcDateTime, comment="when all its pods first had their nodes"),
    Column("pools", JsonDocument, comment="where its pods go, as it was admitted"),
    Column("waits_for", JsonDocument, nullable=False),
    UniqueConstraint("owner", "key"),
    CheckConstraint("phase IN ('queued', 'admitted', 'finished')", name="phase"),
    CheckConstraint(
        "(phase = 'finished') = (finished IS NOT NULL) AND (phase = 'finished') = (outcome IS NOT NULL)",
        name="finished",
    ),
    CheckConstraint("phase <> 'admitted' OR admitted IS NOT NULL", name="admitted"),
)
_ONE_WORKBENCH = text("kind = 'workbench' AND phase <> 'finished'")
Index("runs_one_workbench_key", runs.c.definition, unique=True, **_only(_ONE_WORKBENCH))
_OPEN_RUN = text("phase <> 'finished'")
Index("runs_open_idx", runs.c.phase, runs.c.id, **_only(_OPEN_RUN))
_QUEUED = text("phase = 'queued'")
Index("runs_queued_idx", runs.c.owner, **_only(_QUEUED))
for _columns in (
    ("owner", "id"),
    ("owner", "kind", "id"),
    ("group_name", "id"),
    ("group_name", "kind", "id"),
    ("definition", "id"),
    ("kind", "id"),
):
    Index(None, *(runs.c[c] for c in _columns))

charges = Table(
    "charges",
    metadata,
    Column("id", SERIAL, primary_key=True),
    Column("run", ID, ForeignKey(runs.c.id), nullable=False),
    Column("group_name", PERSON, ForeignKey(groups.c.name), nullable=False),
    Column("queue", NAME, ForeignKey(queues.c.name), nullable=False),
    Column("user_name", PERSON, ForeignKey(users.c.name), nullable=False),
    Column("gpu", UnsignedBigInt, nullable=False),
    Column("cpu", UnsignedBigInt, nullable=False),
    Column("memory", UnsignedBigInt, nullable=False),
    Column("began", UtcDateTime, nullable=False),
    Column("ended", UtcDateTime),
    CheckConstraint("ended IS NULL OR ended >= began", name="ended"),
    comment="append only: a trigger lets nothing change but the end, once",
)
_OPEN_CHARGE = text("ended IS NULL")
Index("charges_one_open_key", charges.c.run, unique=True, **_only(_OPEN_CHARGE))
Index(None, charges.c.run)
Index(None, charges.c.group_name, charges.c.id)
Index(None, charges.c.user_name, charges.c.id)
Index(None, charges.c.ended)

messages = Table(
    "messages",
    metadata,
    Column("seq", SERIAL, primary_key=True),
    Column("topic", ShortText(20), nullable=False),
    Column("kind", ShortText(40), nullable=False),
    Column("object", NAME, nullable=False),
    Column("payload", JsonDocument, nullable=False),
    Column("created", UtcDateTime, nullable=False),
    Column("done", UtcDateTime),
    sqlite_autoincrement=True,
    comment="the outbox",
)
_OPEN_MESSAGE = text("done IS NULL")
Index("messages_open_idx", messages.c.topic, messages.c.seq, **_only(_OPEN_MESSAGE))
Index(None, messages.c.done)
pods = Table(
    "pods",
    metadata,
    Column("run", ID, ForeignKey(runs.c.id), primary_key=True),
    Column("pod", ShortText(253), primary_key=True),
    Column("state", JsonDocument, nullable=False),
)
signs = Table(
    "signs",
    metadata,
    Column("part", ShortText(100), primary_key=True),
    Column("at", UtcDateTime, nullable=False),
    Column("detail", JsonDocument, nullable=False),
)
secrets = Table(
    "secrets",
    metadata,
    Column("id", ID, primary_key=True),
    Column("user_name", PERSON, ForeignKey(users.c.name), nullable=False),
    Column("kind", ShortText(20), nullable=False),
    Column("digest", ShortText(64), nullable=False),
    Column("label", ShortText(200), nullable=False),
    Column("created", UtcDateTime, nullable=False),
    Column("until", UtcDateTime),
    Column("used", UtcDateTime),
    Column("scopes", ShortText(40)),
    UniqueConstraint("kind", "digest"),
)
Index(None, secrets.c.user_name, secrets.c.kind, secrets.c.id)
Index(None, secrets.c.until)
keys = Table(
    "keys",
    metadata,
    Column("user_name", PERSON, ForeignKey(users.c.name), primary_key=True),
    Column("kind", ShortText(20), primary_key=True),
    Column("name", NAME, primary_key=True),
    Column("value", ShortText(20_000), nullable=False),
    Column("created", UtcDateTime, nullable=False),
)
audit = Table(
    "audit",
    metadata,
    Column("id", SERIAL, primary_key=True),
    Column("at", UtcDateTime, nullable=False),
    Column("who", ShortText(254), nullable=False),
    Column("action", NAME, nullable=False),
    Column("object", ShortText(500), nullable=False),
    Column("outcome", NAME, nullable=False),
    Column("address", NAME, nullable=False),
    Column("detail", JsonDocument, nullable=False),
    sqlite_autoincrement=True,
    comment="append only: triggers refuse change and removal",
)
Index(None, audit.c.who, audit.c.id)
Index(None, audit.c.object, audit.c.id)

allocations = Table(
    "allocations",
    metadata,
    Column("id", SERIAL, primary_key=True),
    Column("charge", SERIAL, ForeignKey(charges.c.id), nullable=False),
    Column("run", ID, ForeignKey(runs.c.id), nullable=False),
    Column("gpu", UnsignedBigInt, nullable=False),
    Column("cpu", UnsignedBigInt, nullable=False),
    Column("memory", UnsignedBigInt, nullable=False),
    Column("began", UtcDateTime, nullable=False),
    Column("ended", UtcDateTime),
    CheckConstraint("ended IS NULL OR ended >= began", name="ended"),
    comment="what is billed; append only, as charges",
)
_OPEN_ALLOCATION = text("ended IS NULL")
Index("allocations_one_open_key", allocations.c.run, unique=True, **_only(_OPEN_ALLOCATION))
Index(None, allocations.c.run)
Index(None, allocations.c.charge)
Index(None, allocations.c.ended)
benches = Table(
    "benches",
    metadata,
    Column("definition", ID, ForeignKey(definitions.c.id), primary_key=True),
    Column("host_key", ShortText(4000), nullable=False, comment="sealed"),
    Column("host_public", ShortText(1000), nullable=False),
    Column("token", ShortText(1000), nullable=False, comment="sealed"),
    Column("created", UtcDateTime, nullable=False),
    Column("active", UtcDateTime),
    Column("warned", UtcDateTime),
)
disks = Table(
    "disks",
    metadata,
    Column("definition", ID, ForeignKey(definitions.c.id), primary_key=True),
    Column("group_name", PERSON, ForeignKey(groups.c.name), nullable=False),
    Column("cluster", NAME, nullable=False),
    Column("wanted", UnsignedBigInt, nullable=False),
    Column("size", UnsignedBigInt, nullable=False, server_default=text("0")),
    Column("node", ShortText(253), nullable=False, server_default=text("''")),
    Column("trouble", LongText, nullable=False, server_default=text("''")),
    Column("trouble_phrase", JsonDocument),
    Column("created", UtcDateTime, nullable=False),
    Column("promised", UnsignedBigInt, nullable=False, server_default=text("0")),
    CheckConstraint("wanted > 0 AND size >= 0 AND wanted >= size", name="size"),
    comment="a row goes when nothing of the disk is left in the cluster",
)
Index(None, disks.c.group_name)
idle_exempt = Table(
    "idle_exempt",
    metadata,
    Column("definition", ID, ForeignKey(definitions.c.id), primary_key=True),
    Column("since", UtcDateTime, nullable=False),
    comment="workbenches that are never stopped for being idle",
)
# By hash: a long RSA key is more than a page of a B-tree takes.
Index("keys_value_idx", keys.c.value, postgresql_using="hash")
services = Table(
    "services",
    metadata,
    Column("run", ID, ForeignKey(runs.c.id), primary_key=True),
    Column("wanted", UnsignedBigInt, nullable=False),
    Column("target", UnsignedBigInt, nullable=False),
    Column("settled", UnsignedBigInt, nullable=False),
    Column("since", UtcDateTime, nullable=False),
    Column("scaled", UtcDateTime, nullable=False),
    Column("trouble", LongText, nullable=False, server_default=text("''")),
    Column("trouble_phrase", JsonDocument),
    Column(
        "address", ShortText(63), comment="first label of its host name; NULL: the former one, of 40 bits"
    ),
)
revisions = Table(
    "revisions",
    metadata,
    Column("run", ID, ForeignKey(runs.c.id), primary_key=True),
    Column("revision", UnsignedBigInt, primary_key=True),
    Column("spec", JsonDocument, nullable=False),
    Column("created", UtcDateTime, nullable=False),
    comment="what a service was configured to be, append only",
)
predecessors = Table(
    "predecessors",
    metadata,
    Column("run", ID, ForeignKey(runs.c.id), primary_key=True),
    Column("before", ID, ForeignKey(runs.c.id), primary_key=True),
)
Index(None, predecessors.c.before)
_ONE_SERVICE = text("kind = 'service' AND phase <> 'finished'")
Index("runs_one_service_key", runs.c.definition, unique=True, **_only(_ONE_SERVICE))
folders = Table(
    "folders",
    metadata,
    Column("kind", ShortText(20), primary_key=True),
    Column("name", PERSON, primary_key=True),
    Column("made", UtcDateTime),
    Column("quota", UnsignedBigInt),
    Column("used", UnsignedBigInt),
    Column("files", UnsignedBigInt),
    Column("seen", UtcDateTime),
    Column("trouble", LongText, nullable=False, server_default=text("''")),
    CheckConstraint("kind IN ('user', 'group', 'data-set')", name="kind"),
    comment="what was last seen of folders of the shared file system; quota is the one in force",
)
data_sets = Table(
    "data_sets",
    metadata,
    Column("id", ID, primary_key=True),
    Column("owner", PERSON, ForeignKey(users.c.name), nullable=False),
    Column("name", NAME, nullable=False),
    Column("source", JsonDocument, nullable=False),
    Column("quota", UnsignedBigInt),
    Column("readers", UnsignedBigInt, nullable=False, server_default=text("0")),
    Column("writers", UnsignedBigInt, nullable=False, server_default=text("0")),
    Column("created", UtcDateTime, nullable=False),
    Column("deleted", UtcDateTime),
    Column("removed", UtcDateTime),
    CheckConstraint(
        "readers >= 0 AND writers >= 0 AND writers <= 1 AND (writers = 0 OR readers = 0)", name="one_writer"
    ),
    CheckConstraint("removed IS NULL OR deleted IS NOT NULL", name="removed"),
    comment="one writer or many readers at a time",
)
Index(
    "data_sets_owner_name_key",
    data_sets.c.owner,
    data_sets.c.name,
    unique=True,
    **_only(_KEPT),
)
Index(None, data_sets.c.owner, data_sets.c.id)
elsewhere = Table(
    "elsewhere",
    metadata,
    Column("data_set", ID, ForeignKey(data_sets.c.id), primary_key=True),
    Column("volume", ShortText(63), nullable=False, server_default=text("''")),
    Column("size", UnsignedBigInt),
    Column("cached", UnsignedBigInt),
    Column("seen", UtcDateTime),
    Column("trouble", LongText, nullable=False, server_default=text("''")),
    Column("trouble_phrase", JsonDocument),
    comment="what was last seen of data sets whose bytes lie elsewhere",
)
shares = Table(
    "shares",
    metadata,
    Column("data_set", ID, ForeignKey(data_sets.c.id), primary_key=True),
    Column("kind", ShortText(20), primary_key=True),
    Column("who", PERSON, primary_key=True),
    Column("since", UtcDateTime, nullable=False),
    CheckConstraint("kind IN ('user', 'group')", name="kind"),
    comment="who may read a data set beside its owner",
)
Index(None, shares.c.kind, shares.c.who)
holds = Table(
    "holds",
    metadata,
    Column("run", ID, ForeignKey(runs.c.id), primary_key=True),
    Column("data_set", ID, ForeignKey(data_sets.c.id), primary_key=True),
    Column("write", Boolean, nullable=False),
    Column("since", UtcDateTime),
    comment="data sets of runs that have not finished; since is empty until the run is admitted",
)
Index(None, holds.c.data_set)
uploads = Table(
    "uploads",
    metadata,
    Column("id", ID, primary_key=True),
    Column("data_set", ID, ForeignKey(data_sets.c.id), nullable=False),
    Column("user_name", PERSON, ForeignKey(users.c.name), nullable=False),
    Column("path", ShortText(4096), nullable=False),
    Column("length", UnsignedBigInt, nullable=False),
    Column("created", UtcDateTime, nullable=False),
    comment="files that are being sent; how much has come is the file's size",
)
Index(None, uploads.c.data_set, uploads.c.id)
image_deletions = Table(
    "image_deletions",
    metadata,
    Column("id", ShortText(40), primary_key=True),
    Column("repository", ShortText(255), nullable=False),
    Column("until", UtcDateTime, nullable=False),
    comment="deletions of pushed images that are being made; one that broke off counts until its time",
)
Index(None, image_deletions.c.repository)
Index(None, image_deletions.c.until)
identities = Table(
    "identities",
    metadata,
    Column("issuer", ShortText(500), primary_key=True),
    Column("subject", ShortText(255), primary_key=True),
    Column("user_name", PERSON, ForeignKey(users.c.name), nullable=False),
    Column("created", UtcDateTime, nullable=False),
    comment="an issuer never gives a subject to another person (OpenID Connect Core, 2), as it may do with names",
)
Index(None, identities.c.user_name)
spent = Table(
    "spent",
    metadata,
    Column("digest", ShortText(64), primary_key=True),
    Column("until", UtcDateTime, nullable=False),
    comment="what is good for one login alone, and was used; forgotten when it would be over anyway",
)
Index(None, spent.c.until)
node_drains = Table(
    "node_drains",
    metadata,
    Column("cluster", NAME, primary_key=True),
    Column("node", ShortText(253), primary_key=True),
    Column("asked_by", PERSON, ForeignKey(users.c.name), nullable=False),
    Column("begun", UtcDateTime, nullable=False),
    Column("until", UtcDateTime, nullable=False),
    Column("runs_until", UtcDateTime, comment="when trainings are ended; NULL: they end by themselves"),
    comment="nodes that their runs shall leave; a row goes when pods may come again",
)
node_drain_runs = Table(
    "node_drain_runs",
    metadata,
    Column("cluster", NAME, primary_key=True),
    Column("node", ShortText(253), primary_key=True),
    Column("run", ID, ForeignKey(runs.c.id), primary_key=True),
    Column("consented", UtcDateTime, comment="when its owner agreed to its end"),
    comment="runs whose owners were notified",
)
Index(None, node_drain_runs.c.run)
