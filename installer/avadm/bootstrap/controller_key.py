"""The controller's own key: made once per site, never overwritten."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

import paramiko
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from avadm.errors import AvadmError
from avadm.remote.keyfile import usable


@dataclass(frozen=True, slots=True)
class ControllerKey:
    """The key pair: the private key, the line for authorized_keys, whether it was made just now."""

    path: Path
    private: paramiko.PKey
    line: str
    created: bool


def ensure(path: Path, comment: str) -> ControllerKey:
    """Return the controller's key, made (ed25519, 0600) where there is none.

    Args:
        path: private key file; the public half goes to the same name with ``.pub``.
        comment: what authorized_keys shows for it.

    Raises:
        AvadmError: the file is there but is no usable private key, is open to others, or cannot be written.
    """
    created = not path.exists()
    try:
        if created:
            _create(path, comment)
    except OSError as e:
        raise AvadmError.of("controller-key", where=str(path), strerror=e.strerror) from e
    private = usable(path)
    return ControllerKey(path, private, f"{private.get_name()} {private.get_base64()} {comment}", created)


def _create(path: Path, comment: str) -> None:
    """Write a new key pair."""
    key = Ed25519PrivateKey.generate()
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.OpenSSH, serialization.NoEncryption()
    )
    public = key.public_key().public_bytes(serialization.Encoding.OpenSSH, serialization.PublicFormat.OpenSSH)
    path.parent.mkdir(parents=True, exist_ok=True)
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as out:
        out.write(private)
    path.with_name(path.name + ".pub").write_text(f"{public.decode()} {comment}\n")
