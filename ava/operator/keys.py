"""Key pairs for ssh between a run's pods, and deploy keys as the API sealed them."""

from __future__ import annotations

from pathlib import Path

from cryptography.fernet import Fernet, InvalidToken, MultiFernet
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
)


class Sealed(Exception):
    """A deploy key cannot be opened; says why, never what."""


def pair() -> tuple[str, str]:
    """Return a new Ed25519 pair: private and public in OpenSSH's format."""
    key = Ed25519PrivateKey.generate()
    private = key.private_bytes(Encoding.PEM, PrivateFormat.OpenSSH, NoEncryption())
    public = key.public_key().public_bytes(Encoding.OpenSSH, PublicFormat.OpenSSH)
    return private.decode("ascii"), public.decode("ascii")


def opened(sealed: str, keys: Path | None) -> str:
    """Return a deploy key in the clear; ``keys`` holds the API's Fernet keys, one a line. Raises Sealed."""
    if keys is None:
        raise Sealed("this operator has no sealing_keys, so it cannot open deploy keys")
    try:
        box = MultiFernet([Fernet(line) for line in keys.read_bytes().split()])
        return box.decrypt(sealed.encode("ascii")).decode()
    except OSError as error:
        raise Sealed(f"{keys}: {error.strerror}") from None
    except (InvalidToken, ValueError):
        raise Sealed(f"the deploy key was not sealed with a key of {keys}") from None
