"""A definition without a command: what the image runs is asked of the site's registry, and nothing else is asked."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx
import pytest

from ava.services.registry.client import Registries, Registry
from tests.unit.ava.api.site import Site, codes

HOST = "registry.site:5000"
DIGEST = "sha256:" + "a" * 64
CONFIG = "sha256:" + "c" * 64
CONFIGS = {
    "plain": {"Entrypoint": ["/entry"], "Cmd": ["serve", "$HOME"]},
    "nothing": {"Entrypoint": None, "Cmd": None},
    "odd": {"Cmd": [1]},
}


class Fake:
    """A registry; remembers what it was asked."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.answer: Callable[[httpx.Request], httpx.Response] | None = None

    def __call__(self, request: httpx.Request) -> httpx.Response:
        self.asked.append(str(request.url))
        if self.answer is not None:
            return self.answer(request)
        *_, name, kind, ref = request.url.path.split("/")
        if name == "many" and ref == "latest":
            kinds = [
                {"digest": d, "platform": {"architecture": a}} for a, d in (("arm64", "x"), ("amd64", DIGEST))
            ]
            body = {"mediaType": "application/vnd.oci.image.index.v1+json", "manifests": kinds}
            return httpx.Response(200, content=json.dumps(body))
        if name not in (*CONFIGS, "many"):
            return httpx.Response(404)
        if kind == "blobs":
            return httpx.Response(200, json={"config": CONFIGS.get(name, CONFIGS["plain"])})
        return httpx.Response(
            200, json={"config": {"digest": CONFIG}}, headers={"docker-content-digest": DIGEST}
        )


@pytest.fixture
def fake() -> Fake:
    return Fake()


@pytest.fixture
def asking(tmp_path: Path, fake: Fake) -> Iterator[Site]:
    made = Site(tmp_path)
    made.services.registries = Registries({HOST: Registry()}, httpx.MockTransport(fake))
    yield made
    made.close()


def submit(site: Site, image: str, **spec: object) -> httpx.Response:
    return site.call("POST", "/runs", "ann", json={"name": "n", "spec": {"image": image, **spec}})


@pytest.mark.parametrize("name", ["plain:1", "plain", f"plain@{DIGEST}", "many"])
def test_the_image_s_own_command_runs_of_exactly_the_image_that_was_looked_at(
    asking: Site, name: str
) -> None:
    answer = submit(asking, f"{HOST}/team/{name}")
    assert answer.status_code == 201, answer.text
    spec = asking.db.runs.get(answer.json()["id"]).spec
    assert spec["command"] == ["/entry", "serve", "$HOME"]
    assert spec["image"] == f"{HOST}/team/{name.split(':')[0].split('@')[0]}@{DIGEST}"


def test_who_says_a_command_has_it_and_no_one_is_asked(asking: Site, fake: Fake) -> None:
    answer = submit(asking, f"{HOST}/plain", command=["true"])
    assert asking.db.runs.get(answer.json()["id"]).spec["command"] == ["true"]
    roles = [{"name": "launcher", "command": ["mpirun", "x"]}, {"name": "worker"}]
    assert submit(asking, f"{HOST}/plain", distributed="mpi", roles=roles).status_code == 201
    assert fake.asked == []


@pytest.mark.parametrize(
    ("image", "code"),
    [
        (f"{HOST}/gone:1", "image-unknown"),
        (f"{HOST}/nothing", "command-missing"),
        ("other.example/plain", "command-missing"),
        ("169.254.169.254/latest", "command-missing"),
        ("plain", "command-missing"),
    ],
)
def test_what_is_not_known_is_refused_and_nothing_is_left(asking: Site, image: str, code: str) -> None:
    asking.token("ann")
    before = asking.state()
    answer = submit(asking, image)
    assert (answer.status_code, codes(answer)) == (422, [code])
    assert asking.state() == before


def test_another_registry_is_never_asked(asking: Site, fake: Fake) -> None:
    submit(asking, "169.254.169.254/latest/meta-data")
    submit(asking, "registry.site:5001/plain")
    assert fake.asked == []


@pytest.mark.parametrize(
    "answer",
    [
        lambda r: httpx.Response(500),
        lambda r: httpx.Response(200, content=b"<html>"),
        lambda r: httpx.Response(200, json=[]),
        lambda r: httpx.Response(200, json={}),
        lambda r: httpx.Response(200, json={"config": {"digest": CONFIG}}),
        lambda r: httpx.Response(
            200, json={"mediaType": "application/vnd.oci.image.index.v1+json", "manifests": ["x"]}
        ),
        lambda r: httpx.Response(307, headers={"location": "http://169.254.169.254/"}),
        lambda r: httpx.Response(200, content=b" " * (5 * 2**20)),
    ],
)
def test_a_registry_that_does_not_answer_as_one_is_reported_to_be_away(
    asking: Site, fake: Fake, answer: Callable[[httpx.Request], httpx.Response]
) -> None:
    fake.answer = answer
    reply = submit(asking, f"{HOST}/plain")
    assert (reply.status_code, codes(reply)) == (503, ["registry-unavailable"])
    assert [u for u in fake.asked if not u.startswith(f"https://{HOST}/v2/")] == []


@pytest.mark.parametrize(
    "command", [[1], ["a\0b"], ["\ud800"], ["x" * 5000], ["x"] * 300, "text", {"a": "b"}], ids=str
)
def test_a_command_that_no_definition_may_have_is_none(asking: Site, fake: Fake, command: object) -> None:
    CONFIGS["odd"] = {"Cmd": command}
    assert codes(submit(asking, f"{HOST}/odd")) == ["registry-unavailable"]


def test_what_users_push_costs_no_more_than_another_image(asking: Site, fake: Fake) -> None:
    sent = 0

    def endless() -> Iterator[bytes]:
        nonlocal sent
        while True:
            sent += 2**20
            yield b" " * 2**20

    fake.answer = lambda r: httpx.Response(200, content=endless())
    assert codes(submit(asking, f"{HOST}/plain")) == ["registry-unavailable"]
    assert sent <= 6 * 2**20
    fake.answer = lambda r: httpx.Response(200, content=b"[" * 10**6)
    assert codes(submit(asking, f"{HOST}/plain")) == ["registry-unavailable"]
    fake.asked.clear()
    body = {"mediaType": "application/vnd.oci.image.index.v1+json"}
    body["manifests"] = [{"digest": DIGEST, "platform": {"architecture": "amd64"}}]
    fake.answer = lambda r: httpx.Response(200, json=body)
    assert codes(submit(asking, f"{HOST}/plain")) == ["registry-unavailable"]
    assert len(fake.asked) < 5


@pytest.mark.parametrize(
    "name",
    [
        "team/x@../../../../users/victim/secret/manifests/latest",
        "team/x@sha256:../../../users/victim/secret/manifests/latest",
        "team/x:../../users/victim/secret/manifests/latest",
        "team/../users/victim/secret:latest",
        "team/x@sha256:" + "A" * 64,
        "team/x@sha256:" + "a" * 63,
        "team/x@" + "a" * 129,
        "team/x@@" + DIGEST,
        "team//x",
        "Team/x",
    ],
)
def test_what_is_no_tag_and_no_digest_is_asked_of_no_one(asking: Site, fake: Fake, name: str) -> None:
    answer = submit(asking, f"{HOST}/{name}")
    assert (answer.status_code, codes(answer)) == (422, ["image-unknown"])
    assert fake.asked == []


@pytest.mark.parametrize("place", ["config", "list", "header"])
@pytest.mark.parametrize(
    "digest", ["../../../users/victim/secret/manifests/latest", "", None, "sha256:c", ["x"]]
)
def test_a_manifest_that_names_no_digest_leads_nowhere(
    asking: Site, fake: Fake, place: str, digest: object
) -> None:
    def answer(request: httpx.Request) -> httpx.Response:
        if "/blobs/" in request.url.path:
            return httpx.Response(200, json={"config": CONFIGS["plain"]})
        if place == "list":
            one = {"digest": digest, "platform": {"architecture": "amd64"}}
            body = {"mediaType": "application/vnd.oci.image.index.v1+json", "manifests": [one]}
            return httpx.Response(200, content=json.dumps(body))
        config, head = (digest, DIGEST) if place == "config" else (CONFIG, digest)
        headers = {"docker-content-digest": head} if isinstance(head, str) else {}
        return httpx.Response(200, json={"config": {"digest": config}}, headers=headers)

    fake.answer = answer
    refused = submit(asking, f"{HOST}/team/plain:1")
    assert (refused.status_code, codes(refused)) == (503, ["registry-unavailable"])
    assert not [asked for asked in fake.asked if "victim" in asked or ".." in asked]
