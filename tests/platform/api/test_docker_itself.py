"""docker's own client and engine, where this machine has them: login, push, pull, and how they show why a push is refused."""

from __future__ import annotations

import io
import os
import shutil
import subprocess
import tarfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.platform.registry_env import town_in

KIB = 2**10


class Engine:
    """The docker of this machine, with a login of its own; images that it was given are removed from it at the end."""

    def __init__(self, folder: Path) -> None:
        self._env, self.names = os.environ | {"DOCKER_CONFIG": str(folder)}, list[str]()

    def __call__(self, *words: str, data: bytes | None = None) -> tuple[int, str]:
        done = subprocess.run(["docker", *words], capture_output=True, input=data, env=self._env, timeout=120)
        return done.returncode, (done.stdout + done.stderr).decode()

    def image(self, name: str, size: int) -> str:
        """Make an image of one layer of random bytes."""
        packed = io.BytesIO()
        with tarfile.open(fileobj=packed, mode="w") as archive:
            entry = tarfile.TarInfo("file")
            entry.size = size
            archive.addfile(entry, io.BytesIO(os.urandom(size)))
        assert self("import", "-", name, data=packed.getvalue())[0] == 0
        self.names.append(name)
        return name


@pytest.fixture
def docker(tmp_path: Path) -> Iterator[Engine]:
    if not shutil.which("docker") or subprocess.run(["docker", "info"], capture_output=True).returncode:
        pytest.skip("there is no docker here")
    made = Engine(tmp_path / "docker")
    yield made
    for name in made.names:
        made("rmi", name)


def test_docker_pushes_pulls_and_shows_why_it_may_push_no_more(docker: Engine, tmp_path: Path) -> None:
    town = town_in(tmp_path, {"users": 100 * KIB})
    try:
        # An engine asks a registry at localhost without looking at its certificate.
        host = town.users.url.partition("://")[2]
        assert (
            docker("login", host, "-u", "ann", "--password-stdin", data=town.served.token("ben").encode())[0]
            != 0
        )
        reply = docker("login", host, "-u", "ann", "--password-stdin", data=town.served.token("ann").encode())
        assert reply[0] == 0, reply
        first = docker.image(f"{host}/users/ann/a:1", 30 * KIB)
        second = docker.image(f"{host}/users/ann/a:2", 90 * KIB)
        third = docker.image(f"{host}/users/ann/b:1", KIB)
        assert docker("push", first)[0] == 0
        assert docker("push", second)[0] == 0, "one push may go beyond it"
        status, text = docker("push", third)
        assert status != 0
        assert "denied: The images of users/ann take up all the space that they may have. Found: " in text
        assert "Delete images (`ava image delete`)" in text
        docker("rmi", first)
        assert docker("pull", first)[0] == 0
        assert (
            town.served.call("DELETE", "/pushed-images/users/ann/a:2", "ann").json()["name"]
            == "users/ann/a:2"
        )
        assert docker("push", third)[0] == 0
        status, text = docker("push", docker.image(f"{host}/users/ben/a:1", KIB))
        assert (status != 0, "denied" in text) == (True, True)
    finally:
        town.close()
