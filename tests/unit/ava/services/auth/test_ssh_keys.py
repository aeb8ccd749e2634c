"""ssh keys as users paste them: stored as they are, or refused with what they are."""

from __future__ import annotations

import base64
import struct
import subprocess
from pathlib import Path

import pytest

from ava.domain.problems import ApiError
from ava.services.auth import ssh_keys


def blob(*fields: bytes) -> str:
    return base64.b64encode(b"".join(struct.pack(">I", len(f)) + f for f in fields)).decode()


ED, EC = b"sk-ssh-ed25519@openssh.com", b"sk-ecdsa-sha2-nistp256@openssh.com"
POINT = bytes([4]) + bytes(64)
FIDO = [
    f"{ED.decode()} {blob(ED, bytes(range(32)), b'ssh:')}",
    f"{ED.decode()} {blob(ED, bytes(32), b'ssh:work')}",
    f"{EC.decode()} {blob(EC, b'nistp256', POINT, b'ssh:')}",
]


@pytest.mark.parametrize("line", FIDO)
def test_a_key_of_a_device_stays_one(line: str) -> None:
    assert ssh_keys.public(f"{line} ann@laptop\n") == line
    assert ssh_keys.fingerprint(line).startswith("SHA256:")


@pytest.mark.parametrize(
    ("kind", "bits"), [("ed25519", "0"), ("ecdsa", "256"), ("ecdsa", "521"), ("rsa", "2048")]
)
def test_every_kind_is_stored_as_it_is(tmp_path: Path, kind: str, bits: str) -> None:
    key = tmp_path / "key"
    sized = [] if bits == "0" else ["-b", bits]
    subprocess.run(["ssh-keygen", "-q", "-t", kind, *sized, "-N", "", "-C", "ann@x", "-f", key], check=True)
    line = key.with_suffix(".pub").read_text()
    assert ssh_keys.public(line).split() == line.split()[:2]
    for form in ("OpenSSH", "PEM"):
        if form == "PEM" and kind != "ed25519":
            subprocess.run(
                ["ssh-keygen", "-q", "-p", "-m", "PEM", "-N", "", "-f", key], check=True, capture_output=True
            )
        with pytest.raises(ApiError) as caught:
            ssh_keys.public(key.read_text())
        assert caught.value.problems[0].what == "This is a private key."
        assert key.read_text().split("\n")[1] not in str(caught.value.problems)


@pytest.mark.parametrize(
    ("text", "what"),
    [
        (f"{ED.decode()} {blob(ED, bytes(31), b'ssh:')}", "This is no public key."),
        (f"{ED.decode()} {blob(b'ssh-ed25519', bytes(32), b'ssh:')}", "This is no public key."),
        (f"{ED.decode()} {blob(ED, bytes(32))}", "This is no public key."),
        (f"{ED.decode()} AAAA", "This is no public key."),
        ("PuTTY-User-Key-File-2: ssh-rsa\nEncryption: none", "This is a private key."),
        (
            "---- BEGIN SSH2 PUBLIC KEY ----\nAAAA\n---- END SSH2 PUBLIC KEY ----",
            "The key is in another form.",
        ),
        ("ssh-ed25519", "This is no public key."),
        ("", "This is no public key."),
    ],
)
def test_what_is_no_key_is_reported(text: str, what: str) -> None:
    with pytest.raises(ApiError) as caught:
        ssh_keys.public(text)
    assert caught.value.problems[0].what == what
