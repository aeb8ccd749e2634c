"""Who people are at the site's login service, and which of its answers were used."""

from __future__ import annotations

from sqlalchemy import Column, ForeignKey, Index, Table

from ava.db.tables import PERSON, metadata, users
from ava.db.types import ShortText, UtcDateTime

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
