"""Wrong keys, wrong host keys, closed ports, silent nodes, over real ssh: one sentence for all nodes, exit status 2."""

from __future__ import annotations

import shutil
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.controls.access import ACCESS, Access
from tests.sim.room import Room, missing

pytestmark = [
    pytest.mark.lab,
    pytest.mark.skipif(missing() is not None, reason=str(missing())),
]
COUNT = 4
OURS = ("site.yml", "known_hosts", "id_ed25519")
VERBS = (("preflight",), ("plan",), ("apply",), ("disk", "list"))


@dataclass(frozen=True)
class Tried:
    """A room, and a copy of what its controller has, to be spoilt."""

    room: Room
    folder: Path

    def avadm(self, *verb: str) -> subprocess.CompletedProcess[str]:
        return self.room.avadm("--site", str(self.folder / "site.yml"), *verb)


@pytest.fixture(scope="module")
def room():
    with Room(COUNT) as made:
        yield made


@pytest.fixture
def tried(room, tmp_path, monkeypatch):
    monkeypatch.setenv("AVADM_RUNS", str(tmp_path / "runs"))
    folder = tmp_path / "controller"
    folder.mkdir()
    for name in OURS:
        shutil.copy2(room.folder / name, folder / name)
    return Tried(room, folder)


def kept(folder: Path) -> dict[str, bytes]:
    """What lies beside the site file; the lock of this machine's own runs is no part of it."""
    return {str(p): p.read_bytes() for p in folder.rglob("*") if p.is_file() and p.name != "lock"}


@pytest.mark.parametrize("access", ACCESS, ids=lambda a: a.name)
def test_no_node_lets_us_in(tried, access: Access) -> None:
    spoil: Callable[[Path], object] = access.spoil
    spoil(tried.folder)
    for node in tried.room.hosts if access.plant else ():
        tried.room.do(node.name, access.plant)
    before = kept(tried.folder)
    try:
        for verb in VERBS[: access.verbs]:
            begun = time.monotonic()
            done = tried.avadm(*verb)
            reply = done.stdout + done.stderr
            assert done.returncode == 2, (verb, reply)
            assert access.says in reply, (verb, reply)
            assert "Traceback" not in reply
            assert "✓" not in reply, "nothing was checked, so nothing is well"
            # One sentence for all nodes, not one for each.
            assert reply.count(access.says) == 1, (verb, reply)
            assert time.monotonic() - begun < 60
    finally:
        for node in tried.room.hosts if access.plant else ():
            tried.room.do(node.name, access.undo)
    assert kept(tried.folder) == before
    assert not (tried.folder.parent / "runs").exists()


def test_one_node_that_is_silent_is_named_and_the_others_are_checked(tried) -> None:
    node = tried.room.hosts[-1].name
    tried.room.do(node, "ip link set eth0 down")
    try:
        done = tried.avadm("preflight")
    finally:
        tried.room.do(node, "ip link set eth0 up")
    assert done.returncode == 1, done.stdout
    assert f"wanted an answer over ssh: {node}" in done.stdout
    assert "✓ reachability" not in done.stdout


def test_bootstrap_with_a_wrong_password_lets_nothing_in_and_pins_nothing_more(tried) -> None:
    (tried.folder / "id_ed25519").unlink()  # bootstrap makes a new one, which no node knows
    password = tried.folder / "password"
    password.write_text("hunter2\n")
    password.chmod(0o600)
    before = (tried.folder / "known_hosts").read_bytes()
    done = tried.avadm("bootstrap", "--password-file", str(password))
    assert done.returncode == 2, done.stdout + done.stderr
    assert "authentication failed" in done.stderr
    assert "hunter2" not in done.stdout + done.stderr
    assert (tried.folder / "known_hosts").read_bytes() == before
