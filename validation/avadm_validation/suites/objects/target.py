"""What is measured of an object store."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class ObjectTarget:
    """An S3 store.

    Attributes:
        endpoint: URL that clients use.
        region: region that requests are signed for.
        keys: access key and secret key of the suite's user, never shown; empty until this run has made its own (users.py).
        ca: path, on clients, of the authority's certificate; "" for those that the system trusts.
        gateways: node to the URL of its gateway; none for a store that others run.
        limited: keys of a user with a quota; () where there is none, or not yet.
        quota_bytes: that quota; 0 where others run the store.
    """

    endpoint: str
    region: str
    keys: tuple[str, str] = field(repr=False)
    ca: str = ""
    gateways: Mapping[str, str] = field(default_factory=dict)
    limited: tuple[str, ...] = field(default=(), repr=False)
    quota_bytes: int = 0
