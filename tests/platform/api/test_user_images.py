"""Users' own images: a real registry, tokens of a real API, and everybody who may not."""

from __future__ import annotations

import json
import ssl
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx
import pytest
from joserfc import jwt
from joserfc.jwk import ECKey

from ava.domain.model import UserState
from ava.services.config import UserRegistry
from ava.services.registry.tokens import signer
from bench.control_plane import Authority
from tests.docker_client import MANIFEST, Docker
from tests.platform.registry_env import REALM, SERVICE, Town, town_in
from tests.unit.ava.api.site import codes


@pytest.fixture(scope="module")
def town(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Town]:
    made = town_in(tmp_path_factory.mktemp("town"))
    yield made
    made.close()


def test_a_user_pushes_and_pulls_what_is_theirs(town: Town) -> None:
    ann = town.docker("ann")
    assert ann.push("users/ann/torch:1", ["python"]) == 201
    assert ann.pull("users/ann/torch:1") == 200
    assert ann.push("users/ann/deep/er/torch:1", ["python"]) == 201
    assert all(scope.startswith("repository:users/ann/") for scope in ann.asked)


def test_members_push_to_their_group_and_no_other_user(town: Town) -> None:
    assert town.docker("ann").push("groups/vision/torch:1", ["python"]) == 201
    assert town.docker("ben").pull("groups/vision/torch:1") == 200
    assert town.docker("ben").push("groups/vision/torch:2", ["python"]) == 201
    assert town.docker("eve").pull("groups/vision/torch:1") == 401
    assert town.docker("eve").push("groups/vision/torch:3", ["python"]) == 401
    assert town.docker("root2").pull("groups/vision/torch:1") == 401, "an administrator is no member"


@pytest.mark.parametrize(
    "name",
    [
        "users/ann/torch:2",
        "users/torch:1",
        "users/ben-a/torch:1",
        "groups/none-such/torch:1",
        "avadm/ava-base:1",
        "torch:1",
        "library/torch:1",
        "user/ben/torch:1",
    ],
)
def test_no_one_pushes_to_another_ones_repository_nor_to_the_sites(town: Town, name: str) -> None:
    assert town.docker("ben").push(name, ["evil"]) == 401


def test_another_ones_image_is_not_pulled_and_not_reported_from_one_that_is_not_there(town: Town) -> None:
    town.docker("ann").push("users/ann/secret:1", ["python"])
    answers = [
        town.docker("ben").ask("GET", f"/v2/{name}/{what}")
        for name in ("users/ann/secret", "users/ann/none")
        for what in ("manifests/1", "tags/list", "blobs/sha256:" + "0" * 64)
    ]
    assert {a.status_code for a in answers} == {401}
    first, second = answers[0].json(), answers[3].json()
    assert [e["code"] for e in first["errors"]] == [e["code"] for e in second["errors"]] == ["UNAUTHORIZED"]


def test_the_sites_images_are_read_by_users(town: Town) -> None:
    token = town.token("eve", "repository:avadm/ava-base:pull,push")
    assert town.with_token(token).pull("avadm/ava-base:1") == 404
    assert town.with_token(token).push("avadm/ava-base:1", ["evil"]) == 401


def test_no_one_lists_the_catalogue_and_no_one_deletes(town: Town) -> None:
    ann = town.docker("ann")
    ann.push("users/ann/kept:1", ["python"])
    digest = ann.ask("GET", "/v2/users/ann/kept/manifests/1", headers={"accept": MANIFEST}).headers[
        "docker-content-digest"
    ]
    for who in ("ann", "root2", None):
        assert town.docker(who).ask("GET", "/v2/_catalog").status_code == 401
    for what in (f"manifests/{digest}", "manifests/1", f"blobs/{digest}"):
        assert ann.ask("DELETE", f"/v2/users/ann/kept/{what}").status_code == 401
    everything = "registry:catalog:*", "repository:users/ann/kept:delete,*", "repository:users/ann/kept:*"
    assert town.with_token(town.token("ann", *everything)).ask("GET", "/v2/_catalog").status_code == 401
    assert town.with_token(town.token("ann", *everything)).pull("users/ann/kept:1") == 401
    assert ann.pull("users/ann/kept:1") == 200


def test_a_token_for_pulling_pushes_nothing_and_one_for_one_repository_opens_no_other(town: Town) -> None:
    town.docker("ann").push("users/ann/one:1", ["python"])
    pulling = town.with_token(town.token("ann", "repository:users/ann/one:pull"))
    assert pulling.pull("users/ann/one:1") == 200
    assert pulling.push("users/ann/one:2", ["python"]) == 401
    assert pulling.pull("users/ann/torch:1") == 401
    # Asked for in one breath with another's, one's own alone is had.
    both = town.token("ben", "repository:users/ann/one:pull repository:users/ben/one:pull,push")
    assert town.with_token(both).pull("users/ann/one:1") == 401
    assert town.with_token(both).push("users/ben/one:1", ["python"]) == 201


def test_layers_of_a_foreign_repository_are_neither_mounted_nor_named(town: Town) -> None:
    ann, ben = town.docker("ann"), town.docker("ben")
    ann.push("users/ann/weights:1", ["python"], layer=b"secret weights")
    _, digest = ann.blob("users/ann/weights", b"secret weights")
    mount = f"/v2/users/ben/loot/blobs/uploads/?mount={digest}&from=users/ann/weights"
    # Docker asks for both scopes, gets its own alone, and the registry refuses the mount.
    own = town.with_token(
        town.token("ben", "repository:users/ben/loot:pull,push", "repository:users/ann/weights:pull")
    )
    assert ben.ask("POST", mount).status_code == own.ask("POST", mount).status_code == 401
    assert own.ask("HEAD", f"/v2/users/ben/loot/blobs/{digest}").status_code == 404
    # A manifest that names it without having it is refused too.
    status, config = own.blob("users/ben/loot", b'{"architecture": "amd64"}')
    assert status == 201
    assert own.manifest(
        "users/ben/loot", "1", {"digest": config, "size": 25}, [{"digest": digest, "size": 14}]
    ) in (400, 404)
    assert ann.ask("POST", mount.replace("users/ben", "users/ann")).status_code == 201, "one's own is mounted"


def test_a_manifest_does_not_send_nodes_elsewhere_for_layers(town: Town) -> None:
    ann = town.docker("ann")
    _, config = ann.blob("users/ann/far", b"{}")
    foreign = {
        "mediaType": "application/vnd.docker.image.rootfs.foreign.diff.tar.gzip",
        "digest": "sha256:" + "1" * 64,
        "size": 1,
        "urls": ["http://169.254.169.254/latest"],
    }
    assert ann.manifest("users/ann/far", "1", {"digest": config, "size": 2}, [foreign]) in (400, 500)
    assert ann.pull("users/ann/far:1") == 404


def forged(
    town: Town, key: ECKey | None = None, *, header: Any = None, alg: str = "ES256", **claims: Any
) -> str:
    now = int(datetime.now(UTC).timestamp())
    good = {
        "iss": "ava",
        "sub": "ben",
        "aud": SERVICE,
        "iat": now,
        "nbf": now - 30,
        "exp": now + 300,
        "jti": "x",
    }
    good["access"] = [{"type": "repository", "name": "users/ann/torch", "actions": ["pull", "push"]}]
    head = {"typ": "JWT", "alg": alg, "x5c": list(town.signer.chain)} | (header or {})
    return jwt.encode(head, good | claims, key or town.signer.key, algorithms=[alg])


def test_the_control_of_forgeries_is_let_in(town: Town) -> None:
    town.docker("ann").push("users/ann/torch:1", ["python"])
    assert town.with_token(forged(town)).pull("users/ann/torch:1") == 200


def test_forged_and_expired_tokens_open_nothing(town: Town) -> None:
    now = int(datetime.now(UTC).timestamp())
    own = ECKey.generate_key("P-256")
    other = town.folder / "others"
    other.mkdir(exist_ok=True)
    made = Authority(other)
    path, key = made.issue("ava", "ava")
    foreign = signer(UserRegistry(host=SERVICE, pulled="x", space="x:1", key=key, certificate=path))
    head, body, mark = town.token("ben", "repository:users/ben/torch:pull").split(".")
    claims = claims_of(f"{head}.{body}.{mark}")
    claims["access"][0]["name"] = "users/ann/torch"
    changed = urlsafe_b64encode(json.dumps(claims).encode()).decode().rstrip("=")
    none = urlsafe_b64encode(b'{"typ":"JWT","alg":"none"}').decode().rstrip("=")
    tls_chain = signer(
        UserRegistry(
            host=SERVICE,
            pulled="x",
            space="x:1",
            key=town.folder / "tls/node.key",
            certificate=town.folder / "tls/node.crt",
        )
    )
    tokens = {
        "another key under our certificate": forged(town, own),
        "a key in the token itself": forged(town, own, header={"x5c": [], "jwk": own.as_dict(private=False)}),
        "a stranger's certificate": forged(town, foreign.key, header={"x5c": list(foreign.chain)}),
        "a node's certificate of the site": forged(
            town, tls_chain.key, header={"x5c": list(tls_chain.chain)}
        ),
        "too old": forged(town, exp=now - 90, nbf=now - 500),
        "not yet": forged(town, nbf=now + 300),
        "for another service": forged(town, aud="registry.site:5000"),
        "of another issuer": forged(town, iss="eve"),
        "changed": f"{head}.{changed}.{mark}",
        "without a signature": f"{none}.{changed}.",
        "no token": "eyJ",
        "an AVA token": town.served.token("ann"),
    }
    for what, token in tokens.items():
        assert town.with_token(token).pull("users/ann/torch:1") == 401, what
        assert town.with_token(token).push("users/ann/torch:1", ["evil"]) == 401, what


def test_who_is_not_let_in_gets_no_token(town: Town) -> None:
    ask = town.served.url + REALM
    good = town.served.token("ann")
    for name, secret in (
        ("ann", "wrong"),
        ("ben", good),
        ("ann", ""),
        ("none-such", good),
        ("ann", good + "x"),
    ):
        docker = Docker(town.users.url, town.ca, name, secret)
        assert (docker.fetch(ask, SERVICE, ["repository:users/ann/torch:pull"]), docker.status) == (None, 401)
    anonymous = town.docker(None)
    assert (anonymous.fetch(ask, SERVICE, []), anonymous.status) == (None, 401)
    assert town.docker("ann").fetch(ask, "registry.site:5000", []) is None
    assert town.docker("ann").ask("GET", "/v2/").status_code == 200, "as docker login looks"


def test_who_is_shut_out_or_leaves_the_group_gets_none_from_then_on(town: Town) -> None:
    db, now = town.served.db, town.served.now
    town.docker("ann").push("groups/vision/torch:1", ["python"])
    zoe = db.users.create("zoe", "zoe@example.org", "x" * 20, now, state=UserState.ACTIVE)
    db.groups.add_member("vision", zoe.name, now)
    assert town.docker("zoe").pull("groups/vision/torch:1") == 200
    db.groups.remove_member("vision", zoe.name, now)
    assert town.docker("zoe").pull("groups/vision/torch:1") == 401
    assert town.docker("zoe").push("users/zoe/a:1", ["x"]) == 201
    secret = town.served.token("zoe")
    db.users.update("zoe", now, state=UserState.DISABLED)
    shut = Docker(town.users.url, town.ca, "zoe", secret)
    assert shut.pull("users/zoe/a:1") == 401


def claims_of(token: str) -> dict[str, Any]:
    return dict(json.loads(urlsafe_b64decode(token.split(".")[1] + "==")))


def test_a_token_lasts_minutes_and_says_no_more_than_was_asked_for(town: Town) -> None:
    pushing = claims_of(town.token("ann", "repository:users/ann/torch:pull,push"))
    assert pushing["exp"] - pushing["iat"] == 60
    token = town.token("ann", "repository:users/ann/torch:pull")
    claims = claims_of(token)
    assert claims["exp"] - claims["iat"] == 300
    assert claims["access"] == [{"type": "repository", "name": "users/ann/torch", "actions": ["pull"]}]
    assert claims_of(town.token("ann"))["access"] == []


def submit(town: Town, who: str, image: str, **more: Any) -> httpx.Response:
    spec = {"image": image, "command": ["true"]} | more
    return town.served.call("POST", "/runs", who, json={"name": "own", "spec": spec})


@pytest.mark.parametrize("form", ["users/ann/run:1", f"{SERVICE}/users/ann/run:1", "NODES/users/ann/run:1"])
def test_a_run_of_ones_own_image_has_the_nodes_name_by_digest(town: Town, form: str) -> None:
    town.docker("ann").push("users/ann/run:1", ["serve", "me"])
    pulled = f"localhost:{town.nodes.port}"
    answer = submit(town, "ann", form.replace("NODES", pulled))
    assert answer.status_code == 201, answer.text
    kept = town.served.db.runs.get(answer.json()["id"]).spec
    assert kept["image"].startswith(f"{pulled}/users/ann/run@sha256:")
    # What is pushed later under the tag is another run's.
    town.docker("ann").push("users/ann/run:1", ["other"])
    assert town.served.db.runs.get(answer.json()["id"]).spec["image"] == kept["image"]
    own = submit(town, "ann", "users/ann/run:1", command=[])
    assert town.served.db.runs.get(own.json()["id"]).spec["command"] == ["other"]


def test_a_foreign_image_is_refused_like_one_that_is_not_there(town: Town) -> None:
    ann = town.docker("ann")
    ann.push("users/ann/mine:1", ["x"])
    digest = ann.ask("GET", "/v2/users/ann/mine/manifests/1", headers={"accept": MANIFEST}).headers[
        "docker-content-digest"
    ]
    pulled = f"localhost:{town.nodes.port}"
    for name in (
        "users/ann/mine:1",
        f"users/ann/mine@{digest}",
        f"{pulled}/users/ann/mine:1",
        f"{pulled.upper()}/users/ann/mine:1",
        f"{pulled}/users/ann/mine@{digest}",
        f"{SERVICE}/users/ann/mine:1",
        "groups/vision/torch:1",
        f"{pulled}/users/ann/../ann/mine:1",
        f"{pulled}//users/ann/mine:1",
        f"{pulled}/users/ann//mine:1",
    ):
        there = submit(town, "eve", name)
        assert (there.status_code, codes(there)) == (422, ["image-unknown"]), name
    absent = submit(town, "eve", "users/ann/none:1").json()
    foreign = submit(town, "eve", "users/ann/mine:1").json()
    assert json.dumps(absent).replace("none", "mine") == json.dumps(foreign)
    assert codes(submit(town, "ann", "users/ann/none:1")) == ["image-unknown"]


def test_nodes_pull_what_users_push_and_the_nodes_way_takes_no_tokens_and_writes_nothing(town: Town) -> None:
    town.docker("ann").push("users/ann/node:1", ["x"])
    context = ssl.create_default_context(cafile=town.ca)
    context.load_cert_chain(town.folder / "tls/node.crt", town.folder / "tls/node.key")
    with httpx.Client(base_url=town.nodes.url, verify=context, trust_env=False) as node:
        assert node.get("/v2/users/ann/node/manifests/1", headers={"accept": MANIFEST}).status_code == 200
        assert node.post("/v2/users/ann/node/blobs/uploads/").status_code == 405
    token = town.token("ann", "repository:users/ann/node:pull")
    with pytest.raises(httpx.TransportError):
        Docker(town.nodes.url, town.ca, token=token).pull("users/ann/node:1")


def test_a_token_outlives_no_clock(town: Town) -> None:
    before = town.served.now
    try:
        town.served.now = before - timedelta(minutes=10)
        old = town.token("ann", "repository:users/ann/torch:pull")
    finally:
        town.served.now = before
    assert town.with_token(old).pull("users/ann/torch:1") == 401
