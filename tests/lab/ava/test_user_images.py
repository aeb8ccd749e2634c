"""Users' own images on the lab: pushed with a token of AVA's, run by whose they are, refused to everybody else."""

import socket
import time

import httpx
import pytest

from ava.client import Client, Refused
from tests.docker_client import Docker
from tests.lab.ava.conftest import image_of
from tests.lab.ava.day import SMALL

pytestmark = pytest.mark.lab


@pytest.fixture
def docker(lab, platform, day, authority, monkeypatch):
    """What docker does on a user's machine, which knows the registry's name."""
    host = f"registry.{platform.host.partition('.')[2]}"
    known, there = socket.getaddrinfo, lab.node(lab.names("registry")[0])["address"]
    monkeypatch.setattr(
        socket,
        "getaddrinfo",
        lambda name, *rest, **more: known(there if name == host else name, *rest, **more),
    )
    token = day.user.make_token("docker", days=1)
    yield Docker(f"https://{host}:5004", authority, day.group, token.token)
    day.user.end_token(token.id)


@pytest.fixture
def stranger(platform, authority):
    admin = Client(f"https://{platform.host}", ca=authority)
    admin.login(platform.admin, platform.password)
    name = f"other-{platform.admin}"
    admin.make_user(name, f"{name}@example.org", platform.password)
    admin.make_group(name, {"gpu": 0, "cpu": 1000, "memory": 2**30})
    admin.add_member(name, name)
    user = Client(f"https://{platform.host}", ca=authority)
    user.login(name, platform.password)
    yield user
    admin.remove_member(name, name)
    admin.delete_group(name)
    admin.change_user(name, state="disabled")


@pytest.mark.core("registry")
def test_a_user_pushes_an_image_and_runs_it_and_nobody_else_does(day, docker, platform, stranger):
    source = image_of(platform).partition("/")[2]
    own = f"users/{day.group}/mine:{int(time.time())}"
    assert docker.copy(source, own) == 201
    day.succeeded(day.start("own-image", "print('mine')", image=own, roles=[{"each": SMALL}]))
    with pytest.raises(Refused) as refused:
        stranger.start("stolen", {"image": own, "command": ["true"]})
    assert [p.code for p in refused.value.problems] == ["image-unknown"]
    assert docker.copy(source, "users/somebody-else/theirs:1") == 401
    assert docker.copy(source, "avadm/ava:evil") == 401
    assert docker.ask("GET", "/v2/_catalog").status_code == 401
    docker.token = "eyJ"
    assert docker.pull(own) == 401


def test_neither_the_way_of_nodes_nor_the_deployers_is_a_users(docker, lab):
    reading = docker.url.replace(":5004", ":5000")
    with pytest.raises(httpx.TransportError):
        Docker(reading, docker.ca, docker.name, docker.secret).pull("avadm/base:12")
    with pytest.raises(httpx.TransportError):
        httpx.get(docker.url.replace("https", "http").replace(":5004", ":5005"), trust_env=False)
    with pytest.raises(httpx.TransportError):
        Docker(docker.url.replace(":5004", ":5002"), docker.ca).pull("avadm/base:12")
