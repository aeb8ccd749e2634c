"""Services."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

from pydantic import Field

from ava.schemas.common import Amounts, Answer, Request, Worded


class ServiceOut(Answer):
    """A service's replicas.

    Attributes:
        wanted, ready: replicas.
        revision: of the definition that is wanted; ``settled`` is that which last had all its replicas ready.
        address: where it answers; null where the site gives services none.
        access: who may call: ``group`` (a member, by a token of theirs) or ``public``.
        charged: what is charged for it at the moment.
        trouble: why an update has stopped; empty for nothing.
    """

    run: str
    wanted: int
    ready: int
    revision: int
    settled: int
    address: str | None
    access: str
    charged: Amounts
    scaled: datetime
    trouble: Worded


class Scale(Request):
    """How many replicas are wanted."""

    replicas: Annotated[int, Field(ge=1, le=512)]
