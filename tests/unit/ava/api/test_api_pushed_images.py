"""Images that users have pushed: what is reported of them, what a refusal says, and what becomes of answers that are none.

Against a real registry: tests/platform/api/test_pushed_images.py.
"""

from __future__ import annotations

from typing import Any

import httpx
import pytest

from ava.services.registry.images import Account, full
from tests.unit.ava.api.pushed_images import DIGEST, PULLED, SERVICE, image, pushing
from tests.unit.ava.api.site import SPEC, Site, codes, problems

OTHER = "sha256:" + "b" * 64
GIB = 2**30


@pytest.mark.parametrize(
    ("counted", "code"),
    [
        ({"used": 99, "limit": 100}, None),
        ({"used": 100, "limit": 100}, "images-full"),
        ({"used": 0, "limit": 0}, "images-full"),
        ({"used": 99, "waiting": 100, "limit": 100}, None),
        ({"used": 99, "waiting": 101, "limit": 100}, "images-pending-deletion"),
        ({"used": 2**50, "waiting": 2**50, "limit": None}, None),
        ({"used": 0, "limit": None, "countless": True}, "image-limit-exceeded"),
        ({"used": 0, "limit": None, "room": False}, "registry-full"),
    ],
)
def test_who_may_push_no_more_is_reported_what_was_found_and_what_to_do(
    counted: dict[str, Any], code: str
) -> None:
    found = full(Account(**({"owner": "users/ann", "waiting": 0} | counted)))
    assert [p.code for p in found] == [code] * (code is not None)
    assert all(p.found and p.wanted and p.remedy and "users/ann" in p.where for p in found)


@pytest.mark.parametrize(
    "answer",
    [
        httpx.Response(500),
        httpx.Response(403, json={"error": "no"}),
        httpx.Response(200, text="<html>"),
        httpx.Response(200, json=[]),
        httpx.Response(200, json={"owner": "users/ann", "limit": 1}),
        httpx.Response(200, json={"owner": "users/ann", "limit": -1, "used": -5, "waiting": 0}),
        httpx.Response(200, json={"owner": "users/ann", "limit": None, "used": "none", "waiting": 0}),
    ],
)
def test_an_answer_that_is_none_lets_no_one_push_and_is_no_empty_list(
    site: Site, answer: httpx.Response
) -> None:
    pushing(site, {"users/ann": answer})
    token = f"/registry/token?service={SERVICE}&scope=repository:users/ann/a:pull"
    assert codes(site.call("GET", f"{token},push", "ann")) == ["registry-timeout"]
    assert site.call("GET", token, "ann").status_code == 200
    assert codes(site.call("GET", "/pushed-images", "ann")) == ["registry-timeout"]
    assert codes(site.call("DELETE", "/pushed-images/users/ann/a:1", "ann")) == ["registry-timeout"]
    assert site.call("GET", "/pushed-images", "eve").status_code == 200, "others continue"


def test_one_who_is_full_of_several_owners_gets_no_token_at_all(site: Site) -> None:
    pushing(site, {"groups/vision": {"used": 200}})
    scopes = "repository:users/ann/a:pull,push repository:groups/vision/a:pull,push"
    answer = site.call("GET", f"/registry/token?service={SERVICE}&scope={scopes}", "ann")
    assert (answer.status_code, codes(answer)) == (403, ["images-full"])
    mounting = "repository:users/ann/a:pull,push repository:groups/vision/a:pull"
    assert site.call("GET", f"/registry/token?service={SERVICE}&scope={mounting}", "ann").status_code == 200


def test_the_token_for_pushing_is_short(site: Site) -> None:
    pushing(site)
    token = f"/registry/token?service={SERVICE}&scope=repository:users/ann/a:pull"
    seconds = [site.call("GET", t, "ann").json()["expires_in"] for t in (token, f"{token},push")]
    assert seconds == [300, 60]


@pytest.mark.parametrize(
    ("named", "used"),
    [
        ("users/ann/torch:1", True),
        ("users/ann/torch", False),
        (f"users/ann/torch@{DIGEST}", True),
        (f"users/ann/torch:9@{DIGEST}", True),
        (f"{PULLED}/users/ann/torch:1", True),
        (f"{SERVICE.upper()}/users/ann/torch:1", True),
        ("users/ann/torch:2", False),
        ("users/ann/torch2:1", False),
        ("users/ben/torch:1", False),
        ("docker.io/users/ann/torch:1", False),
    ],
)
def test_a_definition_uses_it_in_each_form_of_its_name(site: Site, named: str, used: bool) -> None:
    counted = pushing(site, {"users/ann": {"images": [image("users/ann/torch", "1")]}})
    body = {"name": "train", "spec": SPEC | {"image": named}}
    assert site.call("POST", "/definitions", "ann", json=body).status_code == 201
    [shown] = site.call("GET", "/pushed-images?user=ann", "ann").json()[0]["images"]
    assert [one["name"] for one in shown["uses"]] == ["train"] * used
    answer = site.call("DELETE", "/pushed-images/users/ann/torch:1", "ann")
    assert answer.status_code == (409 if used else 200)
    assert counted.removed == [f"/v2/users/ann/torch/manifests/{DIGEST}"] * (not used)


def test_a_refusal_names_some_and_counts_the_rest(site: Site) -> None:
    pushing(site, {"users/ann": {"images": [image("users/ann/torch", "1")]}})
    for number in range(8):
        body = {"name": f"d{number}", "spec": SPEC | {"image": "users/ann/torch:1"}}
        site.call("POST", "/definitions", "ann", json=body)
    [refused] = problems(site.call("DELETE", "/pushed-images/users/ann/torch:1", "ann"))
    assert refused["found"].startswith("definition d0, definition d1")
    assert refused["found"].endswith("definition d4, and 3 more")


def test_what_is_gone_meanwhile_is_deleted_and_what_the_registry_refuses_is_not(site: Site) -> None:
    counted = pushing(site, {"users/ann": {"images": [image("users/ann/torch", "1")]}})
    for status, wanted in ((404, 200), (405, 503), (500, 503), (401, 503)):
        counted.status = status
        assert site.call("DELETE", "/pushed-images/users/ann/torch:1", "ann").status_code == wanted, status
    assert site.db.audit.list(limit=1).items[0]["outcome"] == "refused"


def test_a_part_that_two_lists_have_stays_with_the_second(site: Site) -> None:
    parts = {"parts": [DIGEST]}
    lists = [image("users/ann/a", tag, digest="sha256:" + tag * 64, **parts) for tag in ("1", "2")]
    counted = pushing(site, {"users/ann": {"images": [image("users/ann/a"), *lists]}})
    assert site.call("DELETE", "/pushed-images/users/ann/a:1", "ann").status_code == 200
    assert counted.removed == ["/v2/users/ann/a/manifests/sha256:" + "1" * 64]


def test_without_a_registry_for_users_there_is_nothing(site: Site) -> None:
    assert codes(site.call("GET", "/pushed-images", "ann")) == ["not-found"]
    assert codes(site.call("DELETE", "/pushed-images/users/ann/a:1", "ann")) == ["not-found"]
