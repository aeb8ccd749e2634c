"""What is measured of an object store."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

SETTINGS = {
    "AWS_REQUEST_CHECKSUM_CALCULATION": "when_required",
    "AWS_RESPONSE_CHECKSUM_VALIDATION": "when_required",
}
"""What AWS' libraries since boto3 1.36 must be told: gateways of these releases refuse a body whose length is not said."""


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
        ca_pem: that certificate, for the controller; "" for those that the system trusts.
        quota_bytes: that quota; 0 where others run the store.
    """

    endpoint: str
    region: str
    keys: tuple[str, str] = field(repr=False)
    ca: str = ""
    gateways: Mapping[str, str] = field(default_factory=dict)
    limited: tuple[str, ...] = field(default=(), repr=False)
    quota_bytes: int = 0
    ca_pem: str = ""

    @property
    def direct(self) -> str:
        """URL at which the controller, which need not know the name, reaches the store."""
        return next(iter(self.gateways.values()), self.endpoint)
