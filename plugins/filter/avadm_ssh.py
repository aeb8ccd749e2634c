"""Filters for ssh keys that the site's vault holds."""

from __future__ import annotations

from typing import Any

from ansible.errors import AnsibleFilterError
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat, load_ssh_private_key


def avadm_ssh_public(private: str) -> str:
    """Return the public key of a private one in OpenSSH's format, as known_hosts has it; the private one is never reported."""
    try:
        key = load_ssh_private_key(str(private).encode("ascii"), None)
    except ValueError:
        raise AnsibleFilterError("avadm_ssh_public: this is no private key in OpenSSH's format") from None
    return key.public_key().public_bytes(Encoding.OpenSSH, PublicFormat.OpenSSH).decode("ascii")


class FilterModule:
    """What Ansible looks for."""

    def filters(self) -> dict[str, Any]:
        """Return the filters by name."""
        return {"avadm_ssh_public": avadm_ssh_public}
