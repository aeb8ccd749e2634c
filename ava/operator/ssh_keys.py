"""Key pairs for ssh, and keys as the API seals them."""

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
    """A key cannot be sealed or opened; says why, never what."""


def pair() -> tuple[str, str]:
    """Return a new Ed25519 pair: private and public in OpenSSH's format."""
    key = Ed25519PrivateKey.generate()
    private = key.private_bytes(Encoding.PEM, PrivateFormat.OpenSSH, NoEncryption())
    public = key.public_key().public_bytes(Encoding.OpenSSH, PublicFormat.OpenSSH)
    return private.decode("ascii"), public.decode("ascii")


def opened(sealed: str, keys: Path | None) -> str:
    """Return a key in the clear; ``keys`` holds the API's Fernet keys, one a line. Raises Sealed."""
    try:
        return _box(keys).decrypt(sealed.encode("ascii")).decode()
    except InvalidToken:
        raise Sealed(f"the key was not sealed with a key of {keys}") from None


def sealed(text: str, keys: Path | None) -> str:
    """Return a text sealed with the first of the API's Fernet keys. Raises Sealed."""
    return _box(keys).encrypt(text.encode()).decode("ascii")


def _box(keys: Path | None) -> MultiFernet:
    if keys is None:
        raise Sealed("this operator has no sealing_keys, so it can neither seal nor open keys")
    try:
        return MultiFernet([Fernet(line) for line in keys.read_bytes().split()])
    except OSError as error:
        raise Sealed(f"{keys}: {error.strerror}") from None
    except ValueError:
        raise Sealed(f"{keys}: holds no Fernet key") from None
