"""Users' own images on the lab: pushed with a token of AVA's, run by whose they are, refused to others, counted, deleted."""

import json
import secrets
import socket
import time

import httpx
import pytest

from ava.client import ApiError, Client
from tests.docker_client import Docker
from tests.lab.ava.conftest import image_of
from tests.lab.ava.user_journey import SMALL

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
    # A user is shut out at the end, not removed: the next one has another name.
    name = f"other-{secrets.token_hex(4)}"
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
def test_a_user_pushes_an_image_and_runs_it_and_no_other_user_does(day, docker, platform, stranger):
    source = image_of(platform).partition("/")[2]
    own = f"users/{day.group}/mine:{int(time.time())}"
    assert docker.copy(source, own) == 201
    day.succeeded(day.start("own-image", "print('mine')", image=own, roles=[{"each": SMALL}]))
    with pytest.raises(ApiError) as refused:
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


SETTINGS = "/etc/docker-registry/space.json"


def account(day):
    [found] = day.user.pushed_images(user=day.group)
    return found


def codes(refused):
    return [p.code for p in refused.value.problems]


@pytest.mark.core("registry")
def test_a_user_sees_and_deletes_what_is_theirs_once_nothing_uses_it(day, docker, platform, stranger, lab):
    source = image_of(platform).partition("/")[2]
    own = f"users/{day.group}/kept:{int(time.time())}"
    assert docker.copy(source, own) == 201
    assert docker.copy(source, f"{own}-too") == 201
    [image] = [one for one in account(day).images if own in f"{one.repository}:{one.tags}" or own == one.name]
    assert image.size > 2**20
    assert account(day).used >= image.size
    day.user.define("kept", {"image": own, "command": ["true"]})
    with pytest.raises(ApiError) as refused:
        day.user.delete_pushed_image(own)
    assert codes(refused) == ["image-in-use"]
    with pytest.raises(ApiError) as refused:
        stranger.delete_pushed_image(own)
    assert codes(refused) == ["not-found"]
    [kept] = day.user.definitions(name="kept")
    day.user.delete_definition(kept.id)
    assert len(day.user.delete_pushed_image(own).tags) == 2
    assert (docker.pull(own), docker.pull(f"{own}-too")) == (404, 404)
    assert own not in {one.name for one in account(day).images}
    # The platform's own image, whose layers it had, is whole.
    assert docker.pull(source) == 200


@pytest.fixture
def narrow(day, lab):
    """The user may have what there is and no byte more."""
    node, before = lab.names("registry")[0], lab.sh(lab.names("registry")[0], f"cat {SETTINGS}")
    report = json.loads(before)
    report["limits"][f"users/{day.group}"] = max(account(day).used, 2**20)

    def put(text):
        lab.sh(node, f"cat > {SETTINGS} <<'END'\n{text}\nEND\nsystemctl restart avadm-registry-space")
        until = time.monotonic() + 30
        while lab.run(node, f"ss -tln | grep -q {report['listen']}").returncode:
            assert time.monotonic() < until
            time.sleep(0.2)

    put(json.dumps(report))
    yield
    put(before.rstrip())


def test_who_has_used_up_the_space_pushes_nothing_and_pulls(day, docker, platform, narrow):
    source = image_of(platform).partition("/")[2]
    assert docker.copy(source, f"users/{day.group}/more:1") == 401
    assert docker.status == 403
    assert account(day).full
    assert docker.pull(source) == 200


def test_a_collection_gives_back_what_was_deleted_while_nodes_pull(day, docker, platform, lab):
    node, own = lab.names("registry")[0], f"users/{day.group}/gone:{int(time.time())}"
    registry = docker.url.removeprefix("https://").replace(":5004", ":5000")
    assert docker.push(own, ["true"], layer=own.encode() * 1000) == 201
    day.user.delete_pushed_image(own)
    assert account(day).waiting > 1000
    lab.sh(node, "systemctl start --no-block avadm-registry-gc")
    pulls = (
        f"skopeo inspect --raw --cert-dir /etc/docker/certs.d/{registry} docker://{registry}/avadm/base:12"
    )
    until = time.monotonic() + 120
    while lab.run(node, "systemctl is-active avadm-registry-gc").stdout.strip() in (
        "activating",
        "deactivating",
    ):
        assert lab.run(node, pulls).returncode == 0
        assert time.monotonic() < until
    assert account(day).waiting == 0
    until = time.monotonic() + 60
    while docker.copy(image_of(platform).partition("/")[2], own) != 201:
        assert time.monotonic() < until
        time.sleep(1)
    day.user.delete_pushed_image(own)
