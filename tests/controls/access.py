"""What is spoilt of the controller's access to its nodes, and what avadm then says: data of tests/lab/room/test_access.py."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import paramiko


@dataclass(frozen=True)
class Access:
    """One fault that all nodes share.

    Attributes:
        name: what it is.
        says: the sentence that is wanted, once for all nodes.
        spoil: changes what the controller has, in its folder.
        plant: a command on each node, and
        undo: the one that takes it back.
        verbs: how many of the verbs are tried (a fault that costs a time-out is tried with few).
    """

    name: str
    says: str
    spoil: Callable[[Path], object] = lambda folder: None
    plant: str = ""
    undo: str = ""
    verbs: int = 4


def _key(change: Callable[[Path], object]) -> Callable[[Path], object]:
    return lambda folder: change(folder / "id_ed25519")


def _folder(path: Path) -> None:
    path.unlink()
    path.mkdir(mode=0o700)


def _another(path: Path, passphrase: str = "") -> None:
    path.unlink()
    argv = ["ssh-keygen", "-q", "-t", "ed25519", "-N", passphrase, "-f", str(path)]
    subprocess.run(argv, check=True)


def _site(old: str, new: str) -> Callable[[Path], object]:
    def change(folder: Path) -> None:
        site = folder / "site.yml"
        site.write_text(site.read_text().replace(old, new, 1))

    return change


def _jump(**changes: object) -> Callable[[Path], object]:
    """Make the first node the jump host of the others, with what the site file says of it changed."""

    def change(folder: Path) -> None:
        names, *key = (folder / "known_hosts").read_text().splitlines()[0].split()
        jump = {"address": names.split(",")[-1], "user": "root", "host_key": " ".join(key[:2])} | changes
        _site("version: 1", f"version: 1\nssh: {json.dumps({'jump': jump})}")(folder)

    return change


def _other_host_keys(folder: Path) -> None:
    """Pin a key for each node that is not its own."""
    path = folder / "known_hosts"
    key = paramiko.ECDSAKey.generate()
    path.write_text(re.sub(r"ssh-ed25519 \S+", f"{key.get_name()} {key.get_base64()}", path.read_text()))


_TALKER = (
    "import http.server as h; h.ThreadingHTTPServer(('', 8022), h.BaseHTTPRequestHandler).serve_forever()"
)
_SILENT = "import socket, time; s = socket.create_server(('', 8022)); time.sleep(600)"


_ENDED = "kill $(cat /tmp/other-$(hostname)); rm /tmp/other-$(hostname)"


def _started(program: str) -> str:
    """Return the command that leaves a Python program running and its number in a file."""
    return f"python3 -c {shlex.quote(program)} >/dev/null 2>&1 & echo $! > /tmp/other-$(hostname); sleep 1"


ACCESS = (
    Access("the key is missing", "The controller's key cannot be used.", _key(Path.unlink)),
    Access("the key is a folder", "a folder", _key(_folder)),
    Access("the key is empty", "no private ssh key", _key(lambda p: p.write_bytes(b""))),
    Access(
        "the key is no key",
        "no private ssh key",
        _key(lambda p: p.write_bytes(b"\xff\0 key")),
    ),
    Access(
        "the key is cut off",
        "no private ssh key",
        _key(lambda p: p.write_bytes(p.read_bytes()[:150])),
    ),
    Access(
        "the key has a passphrase",
        "locked with a passphrase",
        _key(lambda p: _another(p, "secret")),
    ),
    Access(
        "the key is open to others",
        "can be read by others, so that ssh refuses it",
        _key(lambda p: p.chmod(0o644)),
    ),
    Access("no node knows the key", "did not let root in by publickey ssh-ed25519", _key(_another)),
    Access(
        "the login is another",
        "did not accept user nobody by publickey",
        _site("version: 1", "version: 1\nssh: {user: nobody}"),
    ),
    Access(
        "no host key is pinned",
        "The node's host key is not pinned.",
        lambda folder: (folder / "known_hosts").unlink(),
    ),
    Access("all host keys are others", "The node's host key is not the pinned one.", _other_host_keys),
    Access(
        "the pinned host keys are no text",
        "The pinned host keys cannot be read.",
        lambda folder: (folder / "known_hosts").write_bytes(b"\xff\xfe\0"),
    ),
    Access(
        "nothing listens on the port",
        "Nothing listens on port 2222 of the node.",
        _site("version: 1", "version: 1\nssh: {port: 2222}"),
    ),
    Access(
        "what listens there never says a word",
        "of the node speaks no ssh.",
        _site("version: 1", "version: 1\nssh: {port: 8022}"),
        plant=_started(_SILENT),
        undo=_ENDED,
        verbs=1,
    ),
    Access(
        "another program listens there",
        "of the node speaks no ssh.",
        _site("version: 1", "version: 1\nssh: {port: 8022}"),
        plant=_started(_TALKER),
        undo=_ENDED,
        verbs=2,
    ),
    Access(
        "the jump host cannot be reached",
        "The jump host does not let us through.",
        _jump(port=2222),
    ),
    Access(
        "the jump host is another machine",
        "The jump host does not let us through.",
        _jump(host_key="ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIFu0nh6oJG8yKNg1lXE5868p6PBi6wWUUxMl3Mm3bMo+"),
    ),
    Access(
        "the nodes' links are down",
        "There is no way to the node.",
        plant="ip link set eth0 down",
        undo="ip link set eth0 up",
        verbs=2,
    ),
)

BOOTSTRAP = (
    Access("bootstrap with a wrong password", "the node did not let root in by password"),
    Access("bootstrap with a wrong password for sudo", "does not take this password for ops"),
    Access("a login whose sudo wants a password", "cannot become root without a password"),
    Access("a connection that breaks off in the middle", "connection lost while the command ran"),
)
"""Reported in other tests: tests/lab/room/test_access.py, tests/unit/remote/test_access.py and test_ssh.py."""
