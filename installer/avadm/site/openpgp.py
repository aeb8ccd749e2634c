"""Public keys of package sources: text as their makers publish it, to the bytes that every apt reads.

apt before 1.4 (Ubuntu 16.04 has 1.2) takes keys in /etc/apt/trusted.gpg.d in binary form alone.
"""

from __future__ import annotations

import base64
import binascii

PUBLIC_KEY = 6
"""Tag of a packet that holds a public key (RFC 4880, 4.3)."""
BEGIN, END = "-----BEGIN PGP PUBLIC KEY BLOCK-----", "-----END PGP PUBLIC KEY BLOCK-----"


def crc24(data: bytes) -> int:
    """Return the checksum of ASCII armour (RFC 4880, 6.1)."""
    crc = 0xB704CE
    for byte in data:
        crc ^= byte << 16
        for _ in range(8):
            crc <<= 1
            if crc & 0x1000000:
                crc ^= 0x1864CFB
    return crc


def binary(text: str) -> bytes:
    """Return a public key without its ASCII armour.

    Raises:
        ValueError: it is not one, or not whole.
    """
    lines = [line.strip() for line in text.strip().splitlines()]
    if len(lines) < 4 or lines[0] != BEGIN or lines[-1] != END:
        raise ValueError(f"no text from {BEGIN} to {END}")
    body = lines[1:-1]
    if "" in body:  # what is before it are headers (Version, Comment)
        body = body[body.index("") + 1 :]
    checksum = body.pop()[1:] if body and body[-1].startswith("=") else ""
    try:
        data = base64.b64decode("".join(body), validate=True)
        wrong = bool(checksum) and int.from_bytes(base64.b64decode(checksum, validate=True)) != crc24(data)
    except binascii.Error as error:
        raise ValueError("characters that are not base64") from error
    if wrong:
        raise ValueError("damaged: its checksum differs")
    tag = (data[0] & 0x3F if data[0] & 0x40 else (data[0] & 0x3C) >> 2) if data else 0
    if not data or not data[0] & 0x80 or tag != PUBLIC_KEY:
        raise ValueError("something else than a public key")
    return data
