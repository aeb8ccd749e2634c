"""Which images that users have pushed are being deleted just now; the images themselves are the registry's."""

from __future__ import annotations

from sqlalchemy import Column, Index, Table

from ava.db.tables import metadata
from ava.db.types import ShortText, UtcDateTime

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
