"""The gate's settings."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from pydantic import Field

from ava.settings import Strict

Port = Annotated[int, Field(ge=0, le=65535)]


class Config(Strict):
    """All settings.

    Attributes:
        host, port: where browsers come, through the ingress.
        internal: port of health and metrics.
        api: URL of the API's internal port.
        secret: file with what the gate shows there.
        site: URL of the site, where people log in.
        below: workbenches have the origins ``https://ID.BELOW``.
        every: seconds between two questions whether what is open may stay open.
        sockets: websockets that one session may have open to one workbench.
        held: bytes of messages that all websockets may hold together; beyond that the one that holds most is cut.
        deaf: seconds after which all that is open is closed where the API does not answer that question.
    """

    host: str = "127.0.0.1"
    port: Port = 8080
    internal: Port = 9090
    api: Annotated[str, Field(pattern=r"^https?://[^\s/]+$")]
    secret: Path
    site: Annotated[str, Field(pattern=r"^https://[^\s/]+$")]
    below: Annotated[str, Field(pattern=r"^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$")]
    every: Annotated[float, Field(gt=0, le=60)] = 5
    sockets: Annotated[int, Field(ge=1, le=1000)] = 20
    held: Annotated[int, Field(ge=2**20)] = 256 * 2**20
    deaf: Annotated[float, Field(gt=0, le=600)] = 60
