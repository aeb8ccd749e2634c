"""Bad input is answered by whole problem documents; nothing is made, charged, or repeated that is secret."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest
import yaml

from tests.unit.ava.api.site import SPEC, WORD, Site, problems

CASES: list[dict[str, Any]] = yaml.safe_load(Path(__file__).with_name("bad_input.yml").read_text())
GIT = {"url": "https://host/x", "commit": "abcdef0"}
ED = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJHt8yDhXJ5SPgcEFHwOgSGT0hGFkWi1dJ1rJbBmsCmh"
REGISTRATION = {"name": "newcomer", "email": "n@example.org", "password": "a good long password"}
Do = Callable[[Site, dict[str, Any], dict[str, str]], httpx.Response]


def _filled(value: Any) -> Any:
    """Return a value of the table with its long texts written out."""
    if isinstance(value, dict):
        if set(value) == {"big"}:
            return "x" * value["big"]
        return {k: _filled(v) for k, v in value.items()}
    return [_filled(v) for v in value] if isinstance(value, list) else value


def _laid(good: dict[str, Any], case: dict[str, Any]) -> dict[str, Any]:
    return good | case.get("body", {})


def _run(site: Site, case: dict[str, Any], headers: dict[str, str]) -> httpx.Response:
    spec: dict[str, Any] = SPEC | case.get("spec", {})
    if "each" in case:
        spec["roles"] = [{"each": case["each"]}]
    if "git" in case:
        spec["git"] = GIT | case["git"]
    return site.call(
        "POST", "/runs", "ann", json=_laid({"name": "mnist", "spec": spec}, case), headers=headers
    )


def _to(method: str, path: str, who: str | None, good: dict[str, Any]) -> Do:
    return lambda site, case, headers: site.call(method, path, who, json=_laid(good, case), headers=headers)


def _raw(method: str, path: str, who: str | None) -> Do:
    def send(site: Site, case: dict[str, Any], headers: dict[str, str]) -> httpx.Response:
        return site.call(
            method,
            path,
            who,
            content=case["raw"].encode(),
            headers={"content-type": "application/json"} | headers,
        )

    return send


def _deep(levels: int) -> Do:
    def send(site: Site, case: dict[str, Any], headers: dict[str, str]) -> httpx.Response:
        text = '{"name": "m", "spec": ' + "[" * levels + "]" * levels + "}"
        return site.call("POST", "/runs", "ann", content=text, headers={"content-type": "application/json"})

    return send


def _huge(site: Site, case: dict[str, Any], headers: dict[str, str]) -> httpx.Response:
    async def pieces() -> Any:
        for _ in range(100):
            yield b" " * 2**20

    return site.call("POST", "/runs", "ann", content=pieces(), headers={"content-type": "application/json"})


def _get(site: Site, case: dict[str, Any], headers: dict[str, str]) -> httpx.Response:
    return site.call("GET", case["path"], None if headers else "ann", headers=headers)


def _of(who: str) -> Do:
    def send(site: Site, case: dict[str, Any], headers: dict[str, str]) -> httpx.Response:
        run = site.db.runs.list().items[0]
        token = site.db.secrets.list("ann", "token")[0]["id"]
        path = case["path"].format(run=run.id, definition=run.definition, token=token)
        body = {"json": case["body"]} if "body" in case else {}
        return site.call(case.get("method", "GET"), path, who, **body)

    return send


def _by_id(site: Site, case: dict[str, Any], headers: dict[str, str]) -> httpx.Response:
    return site.call("POST", "/sessions", json={"name": site.db.users.get("ann").id, "password": WORD})


DO: dict[str, Do] = {
    "run": _run,
    "raw": _raw("POST", "/runs", "ann"),
    "raw-register": _raw("POST", "/registrations", None),
    "raw-quota": _raw("PUT", "/groups/vision/quota", "root2"),
    "deep": _deep(40),
    "deeper": _deep(100_000),
    "huge": _huge,
    "register": _to("POST", "/registrations", None, REGISTRATION),
    "login": _to("POST", "/sessions", None, {"name": "ann", "password": WORD}),
    "login-by-id": _by_id,
    "quota": _to("PUT", "/groups/vision/quota", "root2", {}),
    "group": _to("POST", "/groups", "root2", {"name": "speech"}),
    "queue": _to("PUT", "/queues/day", "root2", {}),
    "pool": _to("PUT", "/pools/fast", "root2", {"gpu": True, "selector": {}}),
    "default-group": _to("PUT", "/users/ann/default-group", "ann", {}),
    "ssh": _to("PUT", "/keys/ssh/laptop", "ann", {"value": ED}),
    "deploy": _to("PUT", "/keys/deploy/git", "ann", {"private_key": "x"}),
    "token": _to("POST", "/tokens", "ann", {}),
    "get": _get,
    "method": lambda site, case, headers: site.call("PATCH", "/runs", "ann"),
    "theirs": _of("eve"),
    "mine": _of("ann"),
}


@pytest.fixture(scope="module")
def busy(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """One AVA for the whole table: what is refused leaves nothing behind, so that no case disturbs another."""
    site = Site(tmp_path_factory.mktemp("bad"))
    site.db.groups.create("speech", site.db.groups.get("vision").quota, site.now)
    site.run(name="anns")
    for name in ("ann", "ben", "eve", "root2"):
        site.token(name)
    yield site
    site.close()


def test_the_table_is_long_and_says_no_case_twice() -> None:
    names = [case["id"] for case in CASES]
    assert len(names) >= 150
    assert len(set(names)) == len(names)


@pytest.mark.parametrize("case", CASES, ids=[str(case["id"]) for case in CASES])
def test_bad_input_is_refused_with_what_is_wrong_and_nothing_is_made(
    busy: Site, case: dict[str, Any]
) -> None:
    case = _filled(case)
    before = busy.state()
    answer = DO[case["do"]](busy, case, case.get("headers", {}))
    found = problems(answer)
    assert answer.status_code == case.get("status", 422), answer.text
    assert found[0]["code"] == case["code"], answer.text
    if "where" in case:
        assert found[0]["where"] == case["where"], answer.text
    if "never" in case:
        assert case["never"] not in answer.text
        assert all(case["never"] not in str(line) for line in busy.db.audit.list(limit=5).items)
    assert len(answer.content) < 20_000
    assert busy.state() == before


def test_all_that_is_wrong_is_reported_at_once(site: Site) -> None:
    spec = SPEC | {"comand": ["a"], "retries": "3", "roles": [{"replicas": 0}], "image": ""}
    answer = site.call("POST", "/runs", "ann", json={"name": "A", "spec": spec})
    assert {p["where"] for p in problems(answer)} == {
        "body.name",
        "body.spec.comand",
        "body.spec.retries",
        "body.spec.roles[0].replicas",
        "body.spec.image",
    }


def test_rules_beyond_single_fields_are_reported_at_once_too(site: Site) -> None:
    spec = SPEC | {"queue": "vip", "env": {"AVA_X": "1"}, "gpu_model": "V100", "distributed": "mpi"}
    answer = site.call("POST", "/runs", "ann", json={"name": "a", "spec": spec})
    assert {p["code"] for p in problems(answer)} == {
        "queue-unknown",
        "variable-reserved",
        "field-not-allowed",
        "mpi-role",
    }


def test_a_misspelt_field_is_answered_with_the_right_one(site: Site) -> None:
    answer = site.call("POST", "/runs", "ann", json={"name": "a", "spec": SPEC | {"gpu_modell": "V100"}})
    assert "gpu_model?" in problems(answer)[0]["remedy"]
