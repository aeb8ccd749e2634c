"""Pinned host keys: the known_hosts file, in the form that OpenSSH and paramiko both read."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

import paramiko

from avadm.errors import AvadmError


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
        """Read the file again, forgetting what was pinned and not saved; AvadmError where it cannot be read."""
        self._keys, self._added = {}, []
        if self.path is None:
            return
        with _file_errors(self.path, "read"):
            text = _text(self.path)
        for line in text.split("\n"):
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

    def forget(self, names: Iterable[str]) -> bool:
        """Remove the pinned keys of entry names from the file, other lines stay; return whether there were any.

        Raises:
            AvadmError: the file cannot be written.
        """
        gone = set(names)
        if self.path is None or not gone & set(self._keys):
            return False
        with _file_errors(self.path, "written"):
            lines = []
            for line in _text(self.path).rstrip("\n").split("\n"):
                hosts, space, rest = line.partition(" ")
                left = [host for host in hosts.split(",") if host not in gone]
                if left or line.startswith(("#", "@", "|")):
                    lines.append(",".join(left) + space + rest if space else line)
            self._replace("".join(f"{line}\n" for line in lines))
        self.reload()
        return True

    def save(self) -> None:
        """Add the newly pinned keys to the file (0644, atomically); lines that are there stay as they are.

        Raises:
            AvadmError: the file cannot be written.
        """
        if self.path is None or not self._added:
            return
        with _file_errors(self.path, "written"):
            self.path.parent.mkdir(parents=True, exist_ok=True)
            text = _text(self.path)
            if text and not text.endswith("\n"):
                text += "\n"
            self._replace(text + "".join(self._added))
        self._added = []

    def _replace(self, text: str) -> None:
        """Write the file whole (0644)."""
        if self.path is None:
            return
        handle, name = tempfile.mkstemp(dir=self.path.parent, prefix=f".{self.path.name}.")
        temporary = Path(name)
        try:
            with os.fdopen(handle, "w", encoding="utf-8") as out:
                out.write(text)
            temporary.chmod(0o644)
            temporary.replace(self.path)
        finally:
            temporary.unlink(missing_ok=True)


def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8") if path.exists() else ""


@contextmanager
def _file_errors(path: Path, done: str) -> Iterator[None]:
    """Turn what goes wrong with the file into an AvadmError that names it."""
    try:
        yield
    except (OSError, UnicodeDecodeError) as e:
        broken = isinstance(e, UnicodeDecodeError)
        remedy = (
            "Fix that line, or move the file away and run bootstrap, which asks for every key again."
            if broken
            else "Fix its owner or mode, or free space; or name another file with ssh.known_hosts in the site file."
        )
        raise AvadmError.of(
            "known-hosts",
            where=str(path),
            found=f"no UTF-8: {e}" if broken else getattr(e, "strerror", None) or str(e),
            done=done,
            remedy=remedy,
        ) from e
