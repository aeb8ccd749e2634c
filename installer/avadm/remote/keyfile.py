"""The controller's private key file: read, or reported as unusable, before any node is asked."""

from __future__ import annotations

from pathlib import Path

import paramiko
from paramiko.pkey import UnknownKeyType

from avadm.catalogue import finding
from avadm.errors import AvadmError
from avadm.findings import Finding
from avadm.remote.connect import ConnectionFailed
from avadm.remote.reason import Why


def load_key(path: Path) -> paramiko.PKey:
    """Return a private key from a file without passphrase; Trouble says what is wrong with it."""
    try:
        return paramiko.PKey.from_path(path)
    except FileNotFoundError as e:
        raise _no_key(path, "not there", ": run `avadm bootstrap`") from e
    except PermissionError as e:
        raise _no_key(path, "not readable by this user") from e
    except IsADirectoryError as e:
        raise _no_key(path, "a folder") from e
    except paramiko.PasswordRequiredException as e:
        raise _no_key(path, "locked with a passphrase") from e
    except (paramiko.SSHException, UnknownKeyType, ValueError, TypeError, IndexError, OSError) as e:
        if "password" in str(e).lower():  # what cryptography says of a key in OpenSSH's own form
            raise _no_key(path, "locked with a passphrase") from e
        raise _no_key(path, f"no private ssh key ({str(e).partition('. ')[0]})") from e


def _no_key(path: Path, fault: str, remedy: str = "") -> ConnectionFailed:
    return ConnectionFailed(Why.NO_KEY, f"no controller key: {path} is {fault}{remedy}", fault=fault)


def usable(path: Path) -> paramiko.PKey:
    """Return the controller's key from a file that paramiko and ssh both take.

    Raises:
        AvadmError: it is missing, unreadable, locked, no private key, or open to others (exit code 2).
    """
    try:
        mode = path.stat().st_mode
        key = load_key(path)
    except (ConnectionFailed, OSError) as e:
        raise AvadmError(_unusable(path, e)) from e
    if mode & 0o077:
        raise AvadmError.of(
            "controller-key-open", where=str(path), found=f"mode {mode & 0o777:04o}", wanted="0600", file=path
        )
    return key


def _unusable(path: Path, error: ConnectionFailed | OSError) -> Finding:
    if isinstance(error, FileNotFoundError):
        found, remedy = (
            "nothing",
            "Run `avadm bootstrap`, which makes it, or name another with ssh.key in the site file.",
        )
    else:
        found = (
            str(error.reason.facts["fault"])
            if isinstance(error, ConnectionFailed)
            else error.strerror or str(error)
        )
        remedy = (
            "Name another key with ssh.key in the site file, or move this one away and run `avadm bootstrap`."
        )
    wanted = "an OpenSSH private key without passphrase"
    return finding("controller-key-unusable", where=str(path), found=found, wanted=wanted, remedy=remedy)
