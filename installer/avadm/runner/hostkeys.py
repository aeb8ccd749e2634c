"""Pinned host keys: the known_hosts file, in the form that OpenSSH and paramiko both read."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable
from pathlib import Path

import paramiko


def entry_name(host: str, port: int) -> str:
    """Return how known_hosts names a host: ``host``, or ``[host]:port`` for another port than 22."""
    return host if port == 22 else f"[{host}]:{port}"


def fingerprint(key: paramiko.PKey) -> str:
    """Return a key's fingerprint as ssh-keygen shows it, ``SHA256:…``."""
    return str(key.fingerprint)


def parse_key(text: str) -> paramiko.PKey:
    """Return the key of ``TYPE BASE64 [COMMENT]``; ValueError where it is none."""
    parts = text.split()
    if len(parts) < 2:
        raise ValueError("a host key is written TYPE BASE64, e.g. ssh-ed25519 AAAA…")
    try:
        found = paramiko.hostkeys.HostKeyEntry.from_line(f"host {parts[0]} {parts[1]}")
    except (paramiko.hostkeys.InvalidHostKey, paramiko.SSHException, ValueError, IndexError) as e:
        raise ValueError(f"not a public key: {parts[0]}") from e
    if found is None or found.key is None:
        raise ValueError(f"not a public key of a known type: {parts[0]}")
    return found.key


class KnownHosts:
    """The pinned keys of a site's nodes.

    Args:
        path: the known_hosts file; need not exist yet. None pins nothing.
    """

    def __init__(self, path: Path | None) -> None:
        self.path = path
        self._keys: dict[str, dict[str, paramiko.PKey]] = {}
        self._added: list[str] = []
        self.reload()

    def reload(self) -> None:
        """Read the file again, forgetting what was pinned and not saved."""
        self._keys, self._added = {}, []
        if self.path is None or not self.path.exists():
            return
        for line in self.path.read_text().splitlines():
            names, _, rest = line.strip().partition(" ")
            if not rest or names.startswith(("#", "@", "|")):
                continue  # comments, markers and hashed names: avadm writes none
            try:
                key = parse_key(rest)
            except ValueError:
                continue
            for name in names.split(","):
                self._keys.setdefault(name, {})[key.get_name()] = key

    def lookup(self, *names: str) -> list[paramiko.PKey]:
        """Return the keys pinned for the first of these entry names that has any."""
        for name in names:
            if found := self._keys.get(name):
                return list(found.values())
        return []

    def pin(self, names: Iterable[str], key: paramiko.PKey) -> bool:
        """Pin a key under those of the names that lack it; return whether any did. `save` writes the file."""
        lacking = [n for n in names if self._keys.get(n, {}).get(key.get_name()) != key]
        for name in lacking:
            self._keys.setdefault(name, {})[key.get_name()] = key
        if lacking:
            self._added.append(f"{','.join(lacking)} {key.get_name()} {key.get_base64()}\n")
        return bool(lacking)

    def save(self) -> None:
        """Add the newly pinned keys to the file (0644, atomically); lines that are there stay as they are."""
        if self.path is None or not self._added:
            return
        self.path.parent.mkdir(parents=True, exist_ok=True)
        text = self.path.read_text() if self.path.exists() else ""
        if text and not text.endswith("\n"):
            text += "\n"
        handle, temporary = tempfile.mkstemp(dir=self.path.parent, prefix=f".{self.path.name}.")
        with os.fdopen(handle, "w") as out:
            out.write(text + "".join(self._added))
        Path(temporary).chmod(0o644)
        Path(temporary).replace(self.path)
        self._added = []
