"""What is certified: authorities, and the certificates that they give out."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import ClassVar

ADMIN, PROMETHEUS, GRAFANA = "admin", "prometheus", "grafana"
"""Owners of keys that belong to no node."""
SERVICE_ACCOUNTS = "service-accounts"
"""Owner of the key that signs the tokens of service accounts; it has no certificate."""


class Authority(str):
    """A certificate authority, by its name; each is trusted for its own purpose alone.

    Those that several components use are named here. One that a single component uses is a constant of its module.
    """

    __slots__ = ()

    ETCD: ClassVar[Authority]
    ETCD_PEERS: ClassVar[Authority]
    KUBERNETES: ClassVar[Authority]
    FRONT_PROXY: ClassVar[Authority]
    OBJECTS: ClassVar[Authority]
    LOGS: ClassVar[Authority]
    MONITORING: ClassVar[Authority]
    """Members of Alertmanager's mesh, and who sends alerts there."""
    METRICS: ClassVar[Authority]
    """Who reads node exporters and Prometheus: Prometheus itself, and grafana."""
    IMAGES: ClassVar[Authority]
    """Readers of the image registry: the nodes' engines."""
    IMAGE_WRITERS: ClassVar[Authority]
    IMAGE_TOKENS: ClassVar[Authority]
    """Who gives out tokens for the image registry: the platform's API."""

    @property
    def key(self) -> str:
        """The vault variable that holds its private key."""
        return key_variable(f"ca-{self}")


for _name in Authority.__annotations__:
    setattr(Authority, _name, Authority(_name.lower().replace("_", "-")))


def key_variable(owner: str) -> str:
    """Return the vault variable that holds an owner's private key; one of each owner, so `a-b` and `a--b` differ."""
    return "vault_pki_key_" + re.sub(r"[^a-z0-9]", "_", owner.lower())


@dataclass(frozen=True, slots=True)
class Leaf:
    """One certificate.

    Attributes:
        name: what it is called in the store, e.g. ``kubelet-client-comp1``.
        authority: who signs it.
        owner: whose private key it certifies; certificates of one owner share a key.
        user: common name: for Kubernetes and etcd the user's name; "" for none, as etcd's gateway of JSON demands.
        group: organization: for Kubernetes the user's group; "" for none.
        names: DNS names under which it serves.
        addresses: IP addresses under which it serves.
        server: whether it may serve.
        client: whether it may be shown to a server.
    """

    name: str
    authority: Authority
    owner: str
    user: str
    group: str = ""
    names: tuple[str, ...] = ()
    addresses: tuple[str, ...] = ()
    server: bool = False
    client: bool = True

    @property
    def key(self) -> str:
        """The vault variable that holds its private key."""
        return key_variable(self.owner)
