"""ssh keys: public ones are checked and kept in one form, deploy keys are checked before they are sealed."""

from __future__ import annotations

import base64
import hashlib

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives import serialization as form
from cryptography.hazmat.primitives.asymmetric.dsa import DSAPrivateKey, DSAPublicKey
from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey, EllipticCurvePublicKey
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey, RSAPublicKey

from ava.domain.problems import Problem, Refused

RSA_LEAST = 2048
"""Bits; OpenSSH 9 refuses less too."""
_KINDS = "ssh-ed25519, ecdsa-sha2-nistp256/384/521, or ssh-rsa of 2048 bits and more"


def _refused(what: str, found: str, where: str, wanted: str, remedy: str) -> Refused:
    return Refused(422, Problem("key-invalid", what, where, found, wanted, remedy))


def public(text: str) -> str:
    """Return a public key in one line without its comment.

    Options before the key (``command=…``) are no part of a key and are refused: what a key may do is for AVA to say.

    Raises:
        Refused: it is none, several, or of a kind that is not accepted.
    """
    where, remedy = "body.value", "Paste the one line of ~/.ssh/id_ed25519.pub."
    line = text.strip()
    if not line.isprintable():
        raise _refused("A key is one line.", "several lines or control characters", where, _KINDS, remedy)
    if line.startswith("-----BEGIN"):
        raise _refused("This is a private key.", "a private key (not kept)", where, "a public key", remedy)
    try:
        key = form.load_ssh_public_key(" ".join(line.split()[:2]).encode())
    except (ValueError, UnsupportedAlgorithm):
        raise _refused(
            "This is no public key.", line.split(" ")[0][:40] or "nothing", where, _KINDS, remedy
        ) from None
    _accepted(key, where, remedy)
    return key.public_bytes(form.Encoding.OpenSSH, form.PublicFormat.OpenSSH).decode("ascii")


def private(text: str) -> tuple[str, str]:
    """Return a private key in OpenSSH's form, and its public part.

    Raises:
        Refused: it is none, has a passphrase, or is of a kind that is not accepted; the key is never repeated.
    """
    where, remedy = (
        "body.private_key",
        "Make one with `ssh-keygen -t ed25519 -N ''` and give its private file.",
    )
    raw = text.strip().encode() + b"\n"
    try:
        if b"OPENSSH PRIVATE KEY" in raw:
            key = form.load_ssh_private_key(raw, None)
        else:
            loaded = form.load_pem_private_key(raw, None)
            kinds = (RSAPrivateKey, Ed25519PrivateKey, EllipticCurvePrivateKey, DSAPrivateKey)
            if not isinstance(loaded, kinds):
                raise _refused(
                    "This kind of key is not accepted.", type(loaded).__name__, where, _KINDS, remedy
                )
            key = loaded
    except TypeError:
        raise _refused(
            "The key has a passphrase.", "an encrypted key", where, "a key without", remedy
        ) from None
    except (ValueError, UnsupportedAlgorithm):
        raise _refused(
            "This is no private key.", "a secret (not shown)", where, "OpenSSH or PEM", remedy
        ) from None
    _accepted(key.public_key(), where, remedy)
    kept = key.private_bytes(form.Encoding.PEM, form.PrivateFormat.OpenSSH, form.NoEncryption()).decode(
        "ascii"
    )
    shown = key.public_key().public_bytes(form.Encoding.OpenSSH, form.PublicFormat.OpenSSH).decode("ascii")
    return kept, shown


def _accepted(key: object, where: str, remedy: str) -> None:
    if isinstance(key, DSAPublicKey):
        raise _refused("DSA keys are no longer safe.", "ssh-dss", where, _KINDS, remedy)
    if isinstance(key, RSAPublicKey):
        if key.key_size < RSA_LEAST:
            raise _refused(
                "The RSA key is too short.", f"{key.key_size} bits", where, f"{RSA_LEAST} bits", remedy
            )
    elif not isinstance(key, (Ed25519PublicKey, EllipticCurvePublicKey)):
        raise _refused("This kind of key is not accepted.", type(key).__name__, where, _KINDS, remedy)


def fingerprint(line: str) -> str:
    """Return a public key's fingerprint as ssh prints it; empty where the line is none."""
    parts = line.split()
    try:
        raw = base64.b64decode(parts[1], validate=True)
    except (IndexError, ValueError):
        return ""
    return "SHA256:" + base64.b64encode(hashlib.sha256(raw).digest()).decode("ascii").rstrip("=")
