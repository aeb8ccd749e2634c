"""The controller's key file: of use, or reported why not, once and before any node is asked."""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from avadm.errors import AvadmError
from avadm.remote.keyfile import usable
from avadm.site.load import examine
from tests.unit.remote.sshserver import new_key
from tests.unit.site.corpus import BASE

UNPRIVILEGED = 65534


@contextmanager
def another_user() -> Iterator[None]:
    """Act as a user who owns nothing, where we are root, to whom all files are open."""
    root = os.geteuid() == 0
    if root:
        os.seteuid(UNPRIVILEGED)
    try:
        yield
    finally:
        if root:
            os.seteuid(0)


def check_of(path: Path) -> tuple[str, str]:
    with pytest.raises(AvadmError) as raised:
        usable(path)
    (finding,) = raised.value.findings
    assert raised.value.exit_code == 2
    assert finding.where == str(path)
    assert finding.wanted
    assert finding.remedy
    return finding.check, finding.found


def locked(path: Path) -> None:
    argv = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "secret", "-f", str(path)]
    subprocess.run(argv, check=True)


def cut_off(path: Path) -> None:
    new_key(path)
    path.write_bytes(path.read_bytes()[:150])


def public(path: Path) -> None:
    key = new_key(path)
    path.write_text(f"{key.get_name()} {key.get_base64()}\n")


@pytest.mark.parametrize(
    ("make", "found"),
    [
        (lambda p: None, "nothing"),
        (Path.mkdir, "a folder"),
        (lambda p: p.symlink_to(p), "Too many levels of symbolic links"),
        (lambda p: p.write_bytes(b""), "no private ssh key"),
        (lambda p: p.write_bytes(os.urandom(400)), "no private ssh key"),
        (cut_off, "no private ssh key"),
        (public, "no private ssh key"),
        (locked, "locked with a passphrase"),
    ],
    ids=["missing", "folder", "link to itself", "empty", "noise", "cut off", "public half", "passphrase"],
)
def test_a_key_of_no_use(tmp_path: Path, make: Callable[[Path], object], found: str) -> None:
    path = tmp_path / "id"
    make(path)
    check, reply = check_of(path)
    assert check == "controller-key"
    assert reply.startswith(found)


def test_a_key_that_others_can_read_is_refused_as_ssh_does(tmp_path: Path) -> None:
    new_key(tmp_path / "id")
    (tmp_path / "id").chmod(0o640)
    assert check_of(tmp_path / "id") == ("controller-key-open", "mode 0640")


def test_a_good_key_is_read(tmp_path: Path) -> None:
    assert usable(new_key(tmp_path / "id") and tmp_path / "id") is not None


def test_files_that_this_user_may_not_read() -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o755)
        new_key(folder / "id")
        (folder / "site.yml").write_text(BASE)
        for path in ("id", "site.yml"):
            (folder / path).chmod(0)
        with another_user():
            assert check_of(folder / "id") == ("controller-key", "not readable by this user")
            with pytest.raises(AvadmError) as raised:
                examine(folder / "site.yml")
        (finding,) = raised.value.findings
        assert (finding.check, finding.found) == ("file-unreadable", "Permission denied")
