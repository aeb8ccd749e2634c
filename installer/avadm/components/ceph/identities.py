"""Identities of ceph (cephx): names, and the vault's variables of their keys."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Entity:
    """One cephx identity: its name, and what it may do."""

    name: str
    caps: dict[str, str]

    @property
    def secret(self) -> str:
        """The vault variable that holds its key; one for each entity, so that a new node adds its own."""
        return "vault_ceph_key_" + re.sub(r"[^a-z0-9]", "_", self.name.lower()).strip("_")

    @property
    def key(self) -> str:
        """The key as Ansible reads it."""
        return f"{{{{ {self.secret} }}}}"

    def as_vars(self) -> dict[str, Any]:
        """Return the entity as avadm_ceph_auth takes it."""
        return {"entity": self.name, "key": self.key, "caps": self.caps}


def fs_entity(name: str) -> str:
    """Return the entity that mounts a file system: client.cephfs for a file system named cephfs."""
    return f"client.{name}"


def rbd_entity(pool: str) -> str:
    """Return the entity that uses a pool's images: client.rbd for the pool rbd, else client.rbd-POOL."""
    return "client.rbd" if pool == "rbd" else f"client.rbd-{pool}"
