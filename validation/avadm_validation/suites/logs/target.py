"""What is measured of the logs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class LogTarget:
    """What is measured of the logs.

    Attributes:
        stores: node of each store to the URL under which it is reached.
        user: name that they want; the password is read on the node.
        unit: the store's unit.
    """

    stores: Mapping[str, str]
    user: str
    unit: str = "avadm-log-store"
