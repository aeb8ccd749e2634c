"""What the packet filter lets through beside what components need: the part `filter` of a site file's network."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from avadm.site.values import Address, Model, Whole, Words

Source = Annotated[str, Field(pattern=r"^(all|nodes|pods|outside|\d{1,3}(\.\d{1,3}){3}/\d{1,2})$")]


class Allowed(Model):
    """A port of nodes on which something listens that avadm does not know of."""

    port: Whole = Field(ge=1, le=65535)
    """The port."""
    last: Whole | None = Field(default=None, ge=1, le=65535)
    """Last port, where it is a range."""
    protocol: Literal["tcp", "udp"] = "tcp"
    """TCP or UDP."""
    sources: list[Source] = Field(min_length=1)
    """Who may come: networks (10.1.2.0/24, 10.1.2.3/32), `nodes`, `pods`, `outside` (neither nodes nor pods), or `all`."""
    nodes: list[str] = Field(default=["all"], min_length=1)
    """Where: names of nodes, patterns (`stor*`), roles, or `all`."""
    why: Words
    """Reason."""


class PacketFilter(Model):
    """Who may come to which port of a node: what no component needs is dropped (docs/reference/ports.md)."""

    enabled: bool = True
    """Whether nodes filter. With `false` the filter is removed."""
    allow: list[Allowed] = []
    """What passes beside what components need."""
    prometheus: list[Address] = []
    """Addresses of the site's own Prometheus servers, where `components.monitoring.existing` names them by host name."""
