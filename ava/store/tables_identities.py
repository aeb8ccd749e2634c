"""Who people are at the site's log-in service, and which of its answers were used."""

from __future__ import annotations

from sqlalchemy import Column, ForeignKey, Index, Table

from ava.store.tables import PERSON, metadata, users
from ava.store.types import Moment, Word

identities = Table(
    "identities",
    metadata,
    Column("issuer", Word(500), primary_key=True),
    Column("subject", Word(255), primary_key=True),
    Column("user_name", PERSON, ForeignKey(users.c.name), nullable=False),
    Column("created", Moment, nullable=False),
    comment="an issuer never gives a subject to another person (OpenID Connect Core, 2), as it may do with names",
)
Index(None, identities.c.user_name)
spent = Table(
    "spent",
    metadata,
    Column("digest", Word(64), primary_key=True),
    Column("until", Moment, nullable=False),
    comment="what is good for one log-in alone, and was used; forgotten when it would be over anyway",
)
Index(None, spent.c.until)
