"""ssh keys: public ones are checked and kept in one form, deploy keys are checked before they are sealed."""

from __future__ import annotations

import base64
import hashlib
import struct

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives import serialization as form
from cryptography.hazmat.primitives.asymmetric.dsa import DSAPrivateKey, DSAPublicKey
from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey, EllipticCurvePublicKey
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey, RSAPublicKey

from ava.domain.phrases import Phrase
from ava.domain.problems import ApiError, Problem

RSA_LEAST = 2048
"""Bits; OpenSSH 9 refuses less too."""
_KINDS = Phrase(
    "ssh-ed25519, ecdsa-sha2-nistp256/384/521, their sk- forms of FIDO keys, or ssh-rsa of 2048 bits and more"
)
_FIDO = {
    b"sk-ssh-ed25519@openssh.com": (32, None),
    b"sk-ecdsa-sha2-nistp256@openssh.com": (8, 65, None),
}
"""Kinds of keys that lie in a device, and the lengths of their fields; None: any (OpenSSH, PROTOCOL.u2f)."""


def _refused(what: str, found: str, where: str, wanted: str, remedy: str) -> ApiError:
    return ApiError(422, Problem("key-invalid", what, where, found, wanted, remedy))


def public(text: str) -> str:
    """Return a public key in one line without its comment.

    Options before the key (``command=…``) are no part of a key and are refused: what a key may do is for AVA to say.

    Raises:
        ApiError: it is none, several, or of a kind that is not accepted.
    """
    where, remedy = "body.value", Phrase("Paste the one line of ~/.ssh/id_ed25519.pub.")
    line = text.strip()
    if "PRIVATE KEY" in line or line.startswith("PuTTY-User-Key-File"):
        raise _refused(
            Phrase("This is a private key."),
            "a private key (not kept)",
            where,
            Phrase("a public key"),
            remedy,
        )
    if "BEGIN SSH2 PUBLIC KEY" in line:
        remedy = Phrase("Convert it: `ssh-keygen -i -f FILE`.")
        raise _refused(Phrase("The key is in another form."), "a key of RFC 4716", where, _KINDS, remedy)
    if not line.isprintable():
        raise _refused(
            Phrase("A key is one line."), "several lines or control characters", where, _KINDS, remedy
        )
    if (fido := _fido(line)) is not None:
        return fido
    try:
        key = form.load_ssh_public_key(" ".join(line.split()[:2]).encode())
    except (ValueError, UnsupportedAlgorithm):
        raise _refused(
            Phrase("This is no public key."),
            line.split(" ")[0][:40] or Phrase("nothing"),
            where,
            _KINDS,
            remedy,
        ) from None
    _accepted(key, where, remedy)
    return key.public_bytes(form.Encoding.OpenSSH, form.PublicFormat.OpenSSH).decode("ascii")


def _fido(line: str) -> str | None:
    """Return the line of a key of a FIDO device without its comment, as it was; None for what is none.

    The key inside is not the key: with another name it would let no one in.
    """
    kind, _, rest = line.partition(" ")
    lengths = _FIDO.get(kind.encode())
    if lengths is None:
        return None
    word = (rest.split() or [""])[0]
    try:
        raw = base64.b64decode(word, validate=True)
        found = []
        while raw:
            (size,) = struct.unpack(">I", raw[:4])
            if size > len(raw) - 4:
                return None
            found.append(raw[4 : 4 + size])
            raw = raw[4 + size :]
    except (ValueError, struct.error):
        return None
    fields = found[1:]
    right = len(fields) == len(lengths) and all(
        n in (None, len(f)) for f, n in zip(fields, lengths, strict=True)
    )
    return f"{kind} {word}" if right and found[0] == kind.encode() else None


def private(text: str) -> tuple[str, str]:
    """Return a private key in OpenSSH's form, and its public part.

    Raises:
        ApiError: it is none, has a passphrase, or is of a kind that is not accepted; the key is never repeated.
    """
    where, remedy = (
        "body.private_key",
        Phrase("Make one with `ssh-keygen -t ed25519 -N ''` and give its private file."),
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
                    Phrase("This kind of key is not accepted."), type(loaded).__name__, where, _KINDS, remedy
                )
            key = loaded
    except TypeError:
        raise _refused(
            Phrase("The key has a passphrase."), "an encrypted key", where, Phrase("a key without"), remedy
        ) from None
    except (ValueError, UnsupportedAlgorithm):
        raise _refused(
            Phrase("This is no private key."),
            Phrase("a secret (not shown)"),
            where,
            Phrase("OpenSSH or PEM"),
            remedy,
        ) from None
    _accepted(key.public_key(), where, remedy)
    kept = key.private_bytes(form.Encoding.PEM, form.PrivateFormat.OpenSSH, form.NoEncryption()).decode(
        "ascii"
    )
    shown = key.public_key().public_bytes(form.Encoding.OpenSSH, form.PublicFormat.OpenSSH).decode("ascii")
    return kept, shown


def _accepted(key: object, where: str, remedy: str) -> None:
    if isinstance(key, DSAPublicKey):
        raise _refused(Phrase("DSA keys are no longer safe."), "ssh-dss", where, _KINDS, remedy)
    if isinstance(key, RSAPublicKey):
        if key.key_size < RSA_LEAST:
            raise _refused(
                Phrase("The RSA key is too short."),
                Phrase("{count} bits", count=key.key_size),
                where,
                Phrase("{count} bits", count=RSA_LEAST),
                remedy,
            )
    elif not isinstance(key, (Ed25519PublicKey, EllipticCurvePublicKey)):
        raise _refused(Phrase("This kind of key is not accepted."), type(key).__name__, where, _KINDS, remedy)


def fingerprint(line: str) -> str:
    """Return a public key's fingerprint as ssh prints it; empty where the line is none."""
    parts = line.split()
    try:
        raw = base64.b64decode(parts[1], validate=True)
    except (IndexError, ValueError):
        return ""
    return "SHA256:" + base64.b64encode(hashlib.sha256(raw).digest()).decode("ascii").rstrip("=")
