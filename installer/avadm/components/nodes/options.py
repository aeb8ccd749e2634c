"""How routes of pods leave a node: the part of a site file's network that Calico's BGP is reported (H3)."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from avadm.site.values import Address, Model, NodeName, Whole

AS_NUMBER = 64512
"""Calico's own: the first number for private use (RFC 6996)."""


class Peer(Model):
    """A switch or router that nodes tell the routes of pods, and hear others from."""

    address: Address
    """Its address, as the nodes reach it."""
    as_number: Whole = Field(ge=1, le=4294967295)
    """Its autonomous system; the nodes' own number where it reflects routes itself."""
    nodes: list[NodeName] = []
    """Masters or workers that speak to it, e.g. the route reflectors."""
    racks: list[str] = []
    """Racks whose masters and workers speak to it, e.g. those of a top-of-rack switch; without nodes and racks: all."""


class Bgp(Model):
    """Sessions with the switches on site."""

    as_number: Whole = Field(default=AS_NUMBER, ge=1, le=4294967295)
    """Autonomous system of the nodes. A change ends all sessions for some seconds."""
    peers: list[Peer] = []
    """Switches and routers."""
    mesh: bool | None = None
    """Whether each node also speaks to each; where absent, it does unless there are route reflectors."""


Ipip = Literal["never", "cross_subnet"]
