"""Users' images listed, deleted, counted, collected: a real registry, what counts, a real API, and who tries to get round it."""

from __future__ import annotations

import hashlib
import json
import os
import ssl
import subprocess
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import pytest
from joserfc import jwt
from joserfc.jwk import ECKey

from avadm.artifacts import node_archives
from tests.docker_client import MANIFEST, Docker
from tests.platform.packages import unpacked
from tests.platform.registry_env import REALM, SERVICE, Town, town_in
from tests.unit.ava.api.site import codes, problems
from tests.unit.fakes.roles import ROLES

LIST = "application/vnd.docker.distribution.manifest.list.v2+json"
KIB = 2**10
LIMIT = 100 * KIB


@pytest.fixture
def town(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Town]:
    made = town_in(tmp_path_factory.mktemp("town"), {"users": LIMIT, "groups": 2 * LIMIT})
    yield made
    made.close()


def listed(town: Town, who: str, query: str = "") -> list[dict[str, Any]]:
    answer = town.served.call("GET", f"/pushed-images{query}", who)
    assert answer.status_code == 200, answer.text
    return list(answer.json())


def of(town: Town, who: str, owner: str = "") -> dict[str, Any]:
    owner = owner or f"users/{who}"
    return next(one for one in listed(town, who) if one["owner"] == owner)


def names(town: Town, who: str, owner: str = "") -> set[str]:
    return {one["name"] for one in of(town, who, owner)["images"]}


def delete(town: Town, who: str | None, image: str) -> httpx.Response:
    return town.served.call("DELETE", f"/pushed-images/{image}", who)


def digest_of(town: Town, who: str, repository: str, tag: str = "1") -> str:
    head = {"accept": f"{MANIFEST}, {LIST}"}
    answer = town.docker(who).ask("GET", f"/v2/{repository}/manifests/{tag}", headers=head)
    return str(answer.headers["docker-content-digest"])


def started(town: Town, who: str, image: str, name: str = "own") -> Any:
    spec = {"image": image, "command": ["true"]}
    answer = town.served.call("POST", "/runs", who, json={"name": name, "spec": spec})
    assert answer.status_code == 201, answer.text
    return answer.json()


def test_a_list_has_sizes_times_and_tags_and_counts_each_layer_once(town: Town) -> None:
    before, ann = time.time() - 5, town.docker("ann")
    layer = os.urandom(30 * KIB)
    assert ann.push("users/ann/torch:1", ["python"], layer) == 201
    assert ann.push("users/ann/torch:2", ["python", "-u"], layer) == 201
    assert ann.push("users/ann/deep/er:1", ["sh"], layer) == 201
    found = of(town, "ann")
    assert {one["name"] for one in found["images"]} == {
        "users/ann/torch:1", "users/ann/torch:2", "users/ann/deep/er:1",
    }  # fmt: skip
    assert all(30 * KIB < one["size"] < 32 * KIB for one in found["images"])
    assert 30 * KIB < found["used"] < 34 * KIB
    assert (found["limit"], found["waiting"], found["full"]) == (LIMIT, 0, "")
    assert all(before < _seconds(one["pushed"]) < time.time() + 5 for one in found["images"])
    assert [one["owner"] for one in listed(town, "ann")] == ["users/ann", "groups/vision"]
    assert of(town, "eve")["images"] == []


def _seconds(text: str) -> float:
    from datetime import datetime

    return datetime.fromisoformat(text).timestamp()


def test_what_is_deleted_is_gone_with_its_tags_and_nothing_else_is(town: Town) -> None:
    ann = town.docker("ann")
    layer = os.urandom(60 * KIB)
    assert ann.push("users/ann/torch:1", ["python"], layer) == 201
    assert ann.push("users/ann/torch:latest", ["python"], layer) == 201
    assert ann.push("users/ann/other:1", ["sh"], layer) == 201
    answer = delete(town, "ann", "users/ann/torch")
    assert answer.status_code == 200, answer.text
    assert sorted(answer.json()["tags"]) == ["1", "latest"]
    assert names(town, "ann") == {"users/ann/other:1"}
    assert (ann.pull("users/ann/torch:1"), ann.pull("users/ann/torch:latest")) == (404, 404)
    assert ann.pull("users/ann/other:1") == 200
    _, digest = ann.blob("users/ann/other", layer)
    assert ann.ask("GET", f"/v2/users/ann/other/blobs/{digest}").content == layer
    assert codes(delete(town, "ann", "users/ann/torch:1")) == ["not-found"]
    line = town.served.db.audit.list(limit=2).items
    assert {(one["action"], one["object"], one["outcome"]) for one in line} == {
        ("pushed-images.delete", "image users/ann/torch", "done"),
        ("pushed-images.delete", "image users/ann/torch:1", "refused"),
    }


def test_no_one_sees_or_deletes_anothers_whichever_way_it_is_named(town: Town) -> None:
    town.docker("ann").push("users/ann/mine:1", ["x"])
    town.docker("ben").push("users/ben/mine:1", ["y"])
    digest = digest_of(town, "ann", "users/ann/mine")
    there, absent = (delete(town, "ben", f"users/ann/{name}:1") for name in ("mine", "none"))
    assert (there.status_code, absent.status_code) == (404, 404)
    assert there.text.replace("mine", "none") == absent.text
    for name in (
        f"users/ann/mine@{digest}",
        f"users/ben/mine@{digest}",
        f"users/ben/none@{digest}",
        "users/ben/../ann/mine:1",
        "users/ben/%2e%2e/ann/mine:1",
        "users/ben//../ann/mine:1",
        f"{SERVICE}/users/ann/mine:1",
        "avadm/ava-base:1",
        "mine:1",
        f"@{digest}",
    ):
        assert delete(town, "ben", name).status_code == 404, name
    for query in ("?user=ann", "?user=none-such", "?group=none-such"):
        assert town.served.call("GET", f"/pushed-images{query}", "ben").status_code == 404, query
    assert delete(town, None, "users/ann/mine:1").status_code == 401
    assert names(town, "ann") == {"users/ann/mine:1"}
    # Nor at the registry itself, whose process for users removes for the API's own token alone.
    everything = "repository:users/ben/mine:delete,*,pull,push", "repository:users/ann/mine:delete,*"
    for docker in (town.docker("ben"), town.docker("ann"), town.with_token(town.token("ben", *everything))):
        for repository in ("users/ann/mine", "users/ben/mine"):
            for what in (f"manifests/{digest}", f"blobs/{digest}"):
                assert docker.ask("DELETE", f"/v2/{repository}/{what}").status_code == 401


def test_members_delete_what_is_their_groups_and_administrators_what_is_left_behind(town: Town) -> None:
    for who, tag in (("ann", "1"), ("ann", "2"), ("ben", "3")):
        assert town.docker(who).push(f"groups/vision/torch:{tag}", [tag]) == 201
    assert codes(delete(town, "eve", "groups/vision/torch:1")) == ["not-found"]
    assert delete(town, "ben", "groups/vision/torch:1").status_code == 200
    assert delete(town, "root2", "groups/vision/torch:2").status_code == 200
    db, now = town.served.db, town.served.now
    for who in ("ann", "ben"):
        db.groups.remove_member("vision", who, now)
    assert codes(delete(town, "ann", "groups/vision/torch:3")) == ["not-found"]
    db.groups.delete("vision", now)
    [left] = listed(town, "root2", "?group=vision")
    assert [one["name"] for one in left["images"]] == ["groups/vision/torch:3"]
    assert delete(town, "root2", "groups/vision/torch:3").status_code == 200
    assert town.served.call("GET", "/pushed-images?group=vision", "ann").status_code == 404


def test_an_image_in_use_stays_and_the_refusal_says_by_what(town: Town) -> None:
    ann = town.docker("ann")
    assert ann.push("groups/vision/torch:1", ["python"]) == 201
    digest = digest_of(town, "ann", "groups/vision/torch")
    run = started(town, "ann", f"{SERVICE}/groups/vision/torch:1")
    # What is pushed later under the tag is another image: the run keeps the first.
    assert ann.push("groups/vision/torch:1", ["other"]) == 201
    first = f"groups/vision/torch@{digest}"
    assert names(town, "ann", "groups/vision") == {first, "groups/vision/torch:1"}
    [refused] = problems(delete(town, "ann", first))
    assert (refused["code"], refused["found"]) == ("image-in-use", f"run {run['id']} (own)")
    [by_ben] = problems(delete(town, "ben", first))
    assert by_ben["found"] == "a run of ann"
    [named] = problems(delete(town, "ann", "groups/vision/torch:1"))
    assert named["found"] == "definition own"
    images = of(town, "ben", "groups/vision")["images"]
    assert {use["owner"] for one in images for use in one["uses"]} == {"ann"}
    assert {use["id"] + use["name"] for one in images for use in one["uses"]} == {""}
    assert ann.pull(f"groups/vision/torch:{digest}") == 200
    town.served.call("POST", f"/runs/{run['id']}/stop", "ann")
    town.served.call("DELETE", f"/definitions/{run['definition']}", "ann")
    assert delete(town, "ben", first).status_code == 200
    assert delete(town, "ben", "groups/vision/torch:1").status_code == 200


def test_of_a_start_and_a_deletion_at_once_one_is_refused(town: Town) -> None:
    """Rounds with real threads: whatever the order, no run is there whose image is gone."""
    ann, came = town.docker("ann"), set[tuple[int, int]]()
    headers = {"authorization": f"Bearer {town.served.token('ann')}"}

    def ask(method: str, path: str, late: bool, **more: Any) -> httpx.Response:
        time.sleep(0.3 * late)
        return httpx.request(method, f"{town.served.url}/api/v1{path}", headers=headers, timeout=60, **more)

    with ThreadPoolExecutor(2) as pool:
        for number in range(12):
            image = f"users/ann/torch{number}"
            assert ann.push(f"{image}:1", [str(number)]) == 201
            spec = {"image": f"{image}:1", "command": ["true"]}
            body = {"name": "own", "spec": spec}
            starting = pool.submit(ask, "POST", "/runs", number % 3 == 1, json=body)
            deleting = pool.submit(ask, "DELETE", f"/pushed-images/{image}:1", number % 3 == 2)
            start, deletion = starting.result(), deleting.result()
            came.add((start.status_code, deletion.status_code))
            assert ann.pull(f"{image}:1") == (404 if deletion.is_success else 200)
            if start.is_success:
                run = start.json()
                town.served.call("POST", f"/runs/{run['id']}/stop", "ann")
                town.served.call("DELETE", f"/definitions/{run['definition']}", "ann")
    # ApiError is the run (its image is gone), or the deletion.
    assert came == {(422, 200), (201, 409)}


def _pair(town: Town, repository: str) -> str:
    """Push an image for two architectures; return the digest of the part for this one."""
    ann, rows = town.docker("ann"), []
    for architecture in ("amd64", "arm64"):
        ann.push(f"{repository}:{architecture}", [architecture], os.urandom(KIB))
        got = ann.ask("GET", f"/v2/{repository}/manifests/{architecture}", headers={"accept": MANIFEST})
        row = {
            "mediaType": MANIFEST,
            "size": len(got.content),
            "digest": got.headers["docker-content-digest"],
        }
        rows.append(row | {"platform": {"architecture": architecture, "os": "linux"}})
    text = json.dumps({"schemaVersion": 2, "mediaType": LIST, "manifests": rows})
    head = {"content-type": LIST}
    put = ann.ask("PUT", f"/v2/{repository}/manifests/1", headers=head, content=text)
    assert put.status_code == 201, put.text
    return str(rows[0]["digest"])


def test_an_image_for_several_architectures_is_one_and_goes_as_one(town: Town) -> None:
    part = _pair(town, "users/ann/both")
    # The parts' own tags are given to something else.
    for architecture in ("amd64", "arm64"):
        assert town.docker("ann").push(f"users/ann/both:{architecture}", ["x", architecture]) == 201
    run = started(town, "ann", "users/ann/both:1")
    assert town.served.db.runs.get(run["id"]).spec["image"].endswith(f"@{part}")
    assert names(town, "ann") == {f"users/ann/both:{tag}" for tag in ("1", "amd64", "arm64")}
    assert codes(delete(town, "ann", f"users/ann/both@{part}")) == ["image-part"]
    town.served.call("DELETE", f"/definitions/{run['definition']}", "ann")
    [refused] = problems(delete(town, "ann", "users/ann/both:1"))
    assert run["id"] in refused["found"]
    town.served.call("POST", f"/runs/{run['id']}/stop", "ann")
    town.served.call("DELETE", f"/definitions/{run['definition']}", "ann")
    assert delete(town, "ann", "users/ann/both:1").status_code == 200
    assert town.docker("ann").pull(f"users/ann/both:{part}") == 404
    assert names(town, "ann") == {f"users/ann/both:{tag}" for tag in ("amd64", "arm64")}


def test_whose_space_is_used_up_pushes_no_more_and_reads_why_until_something_is_deleted(town: Town) -> None:
    ann = town.docker("ann")
    assert ann.push("users/ann/a:1", ["x"], os.urandom(60 * KIB)) == 201
    # Docker shows one token for all of a push.
    assert _tokens_of_before(town, "users/ann/a").push("users/ann/a:2", ["x"], os.urandom(60 * KIB)) == 201
    assert "take up all the space" in of(town, "ann")["full"]
    assert ann.push("users/ann/a:3", ["x"]) == 401
    report = httpx.get(
        town.served.url + REALM,
        params={"service": SERVICE, "scope": "repository:users/ann/new:pull,push"},
        headers={"authorization": f"Bearer {town.served.token('ann')}"},
    )
    assert report.status_code == 403
    [problem] = report.json()["problems"]
    assert (problem["code"], problem["wanted"]) == ("images-full", "less than 0.098 MiB")
    # docker prints errors in the registry's own form.
    [reply] = report.json()["errors"]
    assert reply["code"] == "DENIED"
    assert "ava image delete" in reply["message"]
    assert ann.pull("users/ann/a:1") == 200
    assert ann.push("groups/vision/a:1", ["x"]) == 201, "a group has its own space"
    assert delete(town, "ann", "users/ann/a:1").status_code == 200
    assert ann.push("users/ann/a:3", ["x"]) == 201
    found = of(town, "ann")
    assert 60 * KIB < found["used"] < 65 * KIB
    assert 60 * KIB < found["waiting"] < 65 * KIB


def test_pushing_and_deleting_in_turn_ends_too(town: Town) -> None:
    ann, pushed = town.docker("ann"), 0
    for number in range(10):
        if ann.push(f"users/ann/a:{number}", ["x"], os.urandom(90 * KIB)) != 201:
            break
        pushed += 1
        assert delete(town, "ann", f"users/ann/a:{number}").status_code == 200
    assert pushed == 2
    assert "still take up" in of(town, "ann")["full"]


def test_what_has_no_tag_or_no_manifest_counts_too(town: Town) -> None:
    ann = town.docker("ann")
    for _ in range(2):
        assert ann.push("users/ann/same:1", ["x"], os.urandom(30 * KIB)) == 201
    assert len(of(town, "ann")["images"]) == 2
    assert ann.blob("users/ann/never", os.urandom(30 * KIB))[0] == 201
    assert of(town, "ann")["used"] > 90 * KIB
    assert ann.blob("users/ann/never2", os.urandom(30 * KIB))[0] == 201
    assert ann.blob("users/ann/never3", b"x")[0] == 401


def test_what_is_mounted_from_elsewhere_counts_in_full_for_each(town: Town) -> None:
    ann, layer = town.docker("ann"), os.urandom(80 * KIB)
    assert ann.push("groups/vision/base:1", ["x"], layer) == 201
    before = of(town, "ann")["used"]
    assert ann.copy("groups/vision/base:1", "users/ann/base:1") == 201
    after = of(town, "ann")
    assert before == 0
    assert after["used"] > 80 * KIB
    # The group's deletion takes nothing from who has it too, and gives the group its space back.
    assert delete(town, "ben", "groups/vision/base:1").status_code == 200
    assert of(town, "ann", "groups/vision")["used"] == 0
    assert of(town, "ann")["used"] == after["used"]
    assert ann.pull("users/ann/base:1") == 200


def _tokens_of_before(town: Town, *repositories: str) -> Docker:
    return town.with_token(town.token("ann", *(f"repository:{r}:pull,push" for r in repositories)))


def _begun(docker: Docker, repository: str) -> str:
    where = httpx.URL(docker.ask("POST", f"/v2/{repository}/blobs/uploads/").headers["location"])
    return str(where.copy_with(scheme=None, host=None, port=None))


@pytest.mark.slow
def test_an_upload_beyond_the_space_is_cut_while_it_comes_and_leaves_nothing(town: Town) -> None:
    held = _tokens_of_before(town, "users/ann/huge")
    other = town.docker("ben")
    assert other.push("users/ben/kept:1", ["x"]) == 201
    sent = hashlib.sha256()

    def endless() -> Iterator[bytes]:
        end = time.monotonic() + 9
        while time.monotonic() < end:
            piece = os.urandom(64 * KIB)
            sent.update(piece)
            yield piece
            time.sleep(0.05)

    where = _begun(held, "users/ann/huge")
    head = {"content-type": "application/octet-stream"}
    # Either the cut is already met while it is sent, or at its end.
    sending = held.ask("PATCH", where, headers=head, content=endless())
    digest = f"sha256:{sent.hexdigest()}"
    location = sending.headers.get("location", where)
    path = str(httpx.URL(location).copy_with(scheme=None, host=None, port=None))
    fresh = town.with_token(
        town.signer.token(_caller(town), {"users/ann/huge": ("pull", "push")}, town.served.now)
    )
    finished = fresh.ask("PUT", f"{path}&digest={digest}")
    assert finished.status_code in (404, 400, 500), finished.text
    assert fresh.ask("HEAD", f"/v2/users/ann/huge/blobs/{digest}").status_code == 404
    away = list((town.folder / "images/avadm-cut").rglob("data"))
    assert away
    end = time.monotonic() + 15
    while sum(p.stat().st_size for p in away) and time.monotonic() < end:
        time.sleep(0.5)
    assert sum(p.stat().st_size for p in away) == 0
    assert of(town, "ann")["used"] == 0
    assert "users/ann" in town.space.log.read_text()
    assert other.pull("users/ben/kept:1") == 200
    assert other.push("users/ben/kept:2", ["y"]) == 201


def _caller(town: Town) -> Any:
    from ava.services.auth.caller import Caller

    return Caller("here", town.served.db.users.get("ann"))


def test_while_no_one_counts_no_one_pushes_and_all_users_pulls(town: Town) -> None:
    ann = town.docker("ann")
    assert ann.push("users/ann/a:1", ["x"]) == 201
    town.space.close()
    assert ann.push("users/ann/a:2", ["x"]) == 401
    assert ann.status == 503
    assert ann.pull("users/ann/a:1") == 200
    assert town.served.call("GET", "/pushed-images", "ann").status_code == 503
    assert codes(delete(town, "ann", "users/ann/a:1")) == ["registry-timeout"]
    town.count({"users": LIMIT})
    assert ann.push("users/ann/a:2", ["y"]) == 201
    town.users.close()
    assert codes(delete(town, "ann", "users/ann/a:1")) == ["registry-timeout"]
    assert names(town, "ann") == {"users/ann/a:1", "users/ann/a:2"}


def test_what_counts_answers_the_api_alone_and_a_wrong_answer_lets_no_one_push(town: Town) -> None:
    port, tls = town.space.port, town.folder / "tls"
    bare = ssl.create_default_context(cafile=town.ca)
    with pytest.raises(httpx.TransportError):
        httpx.get(f"https://localhost:{port}/owners/users/ann", verify=bare, trust_env=False)
    node = ssl.create_default_context(cafile=town.ca)
    node.load_cert_chain(tls / "node.crt", tls / "node.key")
    with httpx.Client(base_url=f"https://localhost:{port}", verify=node, trust_env=False) as other:
        assert other.get("/owners/users/ann").status_code == 403
    api = ssl.create_default_context(cafile=town.ca)
    api.load_cert_chain(tls / "ava.crt", tls / "ava.key")
    with httpx.Client(base_url=f"https://localhost:{port}", verify=api, trust_env=False) as asked:
        for path in (
            "/owners/users/..",
            "/owners/avadm/ava-base",
            "/owners/users/ann/../../x",
            "/",
            "/owners/users/",
        ):
            assert asked.get(path).status_code == 404, path
        assert asked.post("/owners/users/ann").status_code == 501
    town.ask_space("node")
    assert town.docker("ann").push("users/ann/a:1", ["x"]) == 401


def test_on_a_full_disk_no_one_pushes_and_all_pull_and_delete(town: Town) -> None:
    ann = town.docker("ann")
    assert ann.push("users/ann/a:1", ["x"]) == 201
    town.count({"users": LIMIT}, 100)
    assert ann.push("users/ann/a:2", ["y"]) == 401
    assert ann.status == 403
    assert of(town, "ann")["full"] == "The registry's disk is nearly full."
    assert ann.pull("users/ann/a:1") == 200
    assert delete(town, "ann", "users/ann/a:1").status_code == 200


def _forged(town: Town, key: ECKey, actions: list[str], **claims: Any) -> str:
    now = int(town.served.now.timestamp())
    access = [{"type": "repository", "name": "users/ann/a", "actions": actions}]
    good = {
        "iss": "ava",
        "sub": "ben",
        "aud": SERVICE,
        "iat": now,
        "nbf": now - 30,
        "exp": now + 60,
        "jti": "x",
    }
    head = {"typ": "JWT", "alg": "ES256", "x5c": list(town.signer.chain)}
    return jwt.encode(head, good | {"access": access} | claims, key, algorithms=["ES256"])


def test_forged_and_extended_tokens_remove_nothing(town: Town) -> None:
    town.docker("ann").push("users/ann/a:1", ["x"])
    digest = digest_of(town, "ann", "users/ann/a")
    path, own, now = f"/v2/users/ann/a/manifests/{digest}", ECKey.generate_key("P-256"), int(time.time())
    removal = town.signer.removal("users/ann/a", town.served.now)
    head, _, mark = removal.split(".")
    tokens = {
        "another key": _forged(town, own, ["delete"]),
        "extended": f"{head}.{_forged(town, own, ['delete'], exp=now + 9999).split('.')[1]}.{mark}",
        "too old": _forged(town, town.signer.key, ["delete"], exp=now - 90, nbf=now - 500),
        "for another repository": town.signer.removal("users/ben/a", town.served.now),
        "to push": _forged(town, town.signer.key, ["pull", "push"]),
        "all": _forged(town, own, ["*"]),
    }
    for what, token in tokens.items():
        assert town.with_token(token).ask("DELETE", path).status_code == 401, what
    # The API's own neither pulls nor pushes.
    assert town.with_token(removal).pull("users/ann/a:1") == 401
    assert town.with_token(removal).push("users/ann/a:2", ["x"]) == 401
    assert town.with_token(removal).ask("DELETE", path).status_code == 202


def _collect(town: Town) -> None:
    """Do what avadm-registry-gc.service does: no one writes meanwhile, nodes pull."""
    town.users.close()
    registry = (
        unpacked("docker-registry", ["docker-registry"], "usr/bin/docker-registry")
        / "usr/bin/docker-registry"
    )
    archive = node_archives.variables("avadm-node-registry", town.folder)["files"]["program"]["path"]
    script = ROLES / "registry/files/avadm-registry-gc"
    argv = ["bash", script, registry, town.folder / "users.yml", archive, town.folder / "images"]
    done = subprocess.run(argv, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def _bytes(town: Town) -> int:
    return sum(p.stat().st_size for p in (town.folder / "images").rglob("data"))


def test_the_collection_gives_back_what_was_deleted_and_keeps_what_anyone_has(town: Town) -> None:
    ann, ben = town.docker("ann"), town.docker("ben")
    shared, own = os.urandom(40 * KIB), os.urandom(40 * KIB)
    assert ann.push("users/ann/a:1", ["x"], shared) == 201
    assert ben.push("users/ben/b:1", ["x"], shared) == 201
    assert ann.push("users/ann/a:2", ["x"], own) == 201
    assert ann.blob("users/ann/cut", os.urandom(10 * KIB))[0] == 201
    untagged = digest_of(town, "ann", "users/ann/a", "2")
    assert ann.push("users/ann/a:2", ["y"], b"small") == 201
    run = started(town, "ann", f"users/ann/a@{untagged}")
    assert delete(town, "ann", "users/ann/a:1").status_code == 200
    before = _bytes(town)
    _collect(town)
    assert before - _bytes(town) >= 10 * KIB
    found = of(town, "ann")
    assert found["waiting"] == 0
    # Neither the run's image, which has no tag, nor the layer that ben has too; of that ann has no more.
    assert 40 * KIB < found["used"] < 45 * KIB
    context = ssl.create_default_context(cafile=town.ca)
    context.load_cert_chain(town.folder / "tls/node.crt", town.folder / "tls/node.key")
    name = town.served.db.runs.get(run["id"]).spec["image"].partition("/")[2]
    repository, _, digest = name.partition("@")
    with httpx.Client(base_url=town.nodes.url, verify=context, trust_env=False) as node:
        for where, wanted in ((f"{repository}/manifests/{digest}", own), ("users/ben/b/manifests/1", shared)):
            manifest = node.get(f"/v2/{where}", headers={"accept": MANIFEST}).json()
            layer = manifest["layers"][0]["digest"]
            assert node.get(f"/v2/{where.partition('/manifests')[0]}/blobs/{layer}").content == wanted


def test_a_collection_is_due_where_enough_was_deleted_or_someone_waits_for_it(town: Town) -> None:
    archive = node_archives.variables("avadm-node-registry", town.folder)["files"]["program"]["path"]

    def due(least: int) -> int:
        argv = ["python3", archive, "tidy", "--settings", town.folder / "space.json", "--least", str(least)]
        return subprocess.run([*argv, town.folder / "images"], capture_output=True).returncode

    ann = town.docker("ann")
    assert due(1) == 1
    for number in range(3):
        assert ann.push(f"users/ann/a:{number}", ["x"], os.urandom(60 * KIB)) == 201
        assert delete(town, "ann", f"users/ann/a:{number}").status_code == 200
    assert (due(2**30), due(1)) == (1, 0)
    town.count({"users": LIMIT}, 100)
    assert due(2**30) == 0, "the disk is short"
    town.count({"users": LIMIT})
    assert ann.push("users/ann/a:4", ["x"], os.urandom(60 * KIB)) == 401
    assert due(2**30) == 0
