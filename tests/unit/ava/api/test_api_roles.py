"""Every cell of the role matrix: who may do what is what permissions.yml says, and what is not theirs does not exist."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ava.domain.model import UserState
from ava.services.auth import email_confirmation, invitations
from ava.services.auth.permissions import table
from tests.unit.ava.api.pushed_images import image, pushing
from tests.unit.ava.api.site import SPEC, WORD, Site, problems

Request = tuple[str, str, Any]
CALLERS = ("anyone", "user", "owner", "member", "admin")
"""Who tries: no one; eve, who is a stranger to all of it; ann, whose it is; ben, of ann's group; the administrator."""
NAMES = {"anyone": None, "user": "eve", "owner": "ann", "member": "ben", "admin": "root2"}
KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJHt8yDhXJ5SPgcEFHwOgSGT0hGFkWi1dJ1rJbBmsCmh"
NEW = "another good password"


def _run(site: Site) -> str:
    return str(site.run()["id"])


def _definition(site: Site) -> str:
    return str(site.call("POST", "/definitions", "ann", json={"name": "kept", "spec": SPEC}).json()["id"])


def _bench(site: Site) -> str:
    body = {"name": "bench", "spec": SPEC | {"kind": "workbench"}}
    return str(site.call("POST", "/definitions", "ann", json=body).json()["id"])


def _service(site: Site) -> str:
    spec = SPEC | {"kind": "service", "serving": {"model": "m"}}
    run = site.call("POST", "/runs", "ann", json={"name": "serve", "spec": spec}).json()["id"]
    site.db.runs.admit(run, site.now)
    return str(run)


def _data_set(site: Site) -> str:
    return str(site.call("POST", "/data-sets", "ann", json={"name": "digits"}).json()["id"])


def _pushed(site: Site) -> str:
    pushing(site, {"groups/vision": {"images": [image("groups/vision/torch", "1")]}})
    return "vision"


def _own_token(site: Site, who: str | None) -> str:
    made = site.call("POST", "/tokens", who or "ann", json={}).json()
    return str(made["id"])


# Action to the request that does it, on what is ann's or the group's of ann and ben.
REQUESTS: dict[str, Callable[[Site, str | None], Request]] = {
    "sessions.open": lambda s, w: ("POST", "/sessions", {"name": "ann", "password": WORD}),
    "sessions.list": lambda s, w: ("GET", "/sessions", None),
    "registrations.make": lambda s, w: (
        "POST",
        "/registrations",
        {"name": "newcomer", "email": "n@example.org", "password": NEW},
    ),
    "tokens.list": lambda s, w: ("GET", "/tokens", None),
    "tokens.make": lambda s, w: ("POST", "/tokens", {}),
    "tokens.end": lambda s, w: ("DELETE", f"/tokens/{_own_token(s, 'ann')}", None),
    "users.list": lambda s, w: ("GET", "/users", None),
    "users.delete": lambda s, w: ("DELETE", "/users/ann", None),
    "users.make": lambda s, w: (
        "POST",
        "/users",
        {"name": "made", "email": "m@example.org", "password": NEW},
    ),
    "users.show": lambda s, w: ("GET", "/users/ann", None),
    "users.change": lambda s, w: ("PATCH", "/users/ann", {"admin": True}),
    "users.email": lambda s, w: ("PATCH", "/users/ann", {"email": "x@example.org"}),
    "users.send-confirmation": lambda s, w: ("POST", "/users/ann/email-confirmation", None),
    "users.confirm-email": lambda s, w: (
        "POST",
        "/email-confirmations",
        {"confirmation": email_confirmation.make(s.services, s.db.users.get(w or "ann"))},
    ),
    "users.password": lambda s, w: ("PUT", "/users/ann/password", {"current": WORD, "new": NEW}),
    "users.default-group": lambda s, w: ("PUT", "/users/ann/default-group", {"group": "vision"}),
    "users.invite": lambda s, w: ("POST", "/users/ann/invitation", None),
    "users.keys": lambda s, w: ("PUT", "/users/ann/keys/ssh/laptop", {"value": KEY}),
    "invitations.use": lambda s, w: (
        "POST",
        "/invitations",
        {"invitation": invitations.make(s.services, s.db.users.get("ann"))[0], "password": NEW},
    ),
    "groups.list": lambda s, w: ("GET", "/groups", None),
    "groups.list-all": lambda s, w: ("GET", "/groups?all=true", None),
    "groups.make": lambda s, w: ("POST", "/groups", {"name": "speech"}),
    "groups.show": lambda s, w: ("GET", "/groups/vision", None),
    "groups.members": lambda s, w: ("GET", "/groups/vision/members", None),
    "groups.quota": lambda s, w: ("PUT", "/groups/vision/quota", {"gpu": 4, "cpu": None, "memory": None}),
    "groups.delete": lambda s, w: ("DELETE", "/groups/vision", None),
    "groups.join": lambda s, w: ("PUT", "/groups/vision/members/eve", None),
    "groups.leave": lambda s, w: ("DELETE", "/groups/vision/members/ben", None),
    "queues.list": lambda s, w: ("GET", "/queues", None),
    "queues.waiting": lambda s, w: ("GET", "/queues/default/runs", None),
    "queues.put": lambda s, w: ("PUT", "/queues/day", {"priority": 1}),
    "queues.delete": lambda s, w: ("DELETE", "/queues/night", None),
    "pools.list": lambda s, w: ("GET", "/pools", None),
    "pools.put": lambda s, w: ("PUT", "/pools/fast", {"gpu": True, "selector": {"a": "b"}}),
    "pools.delete": lambda s, w: ("DELETE", "/pools/cpu", None),
    "cluster.show": lambda s, w: ("GET", "/cluster", None),
    "nodes.runs": lambda s, w: ("GET", "/nodes/comp1", None),
    "nodes.drain": lambda s, w: ("PUT", "/nodes/comp1/drain", {"notice": 60}),
    "images.list": lambda s, w: ("GET", "/images", None),
    "registry.token": lambda s, w: ("GET", "/registry/token?service=registry.site:5004", None),
    "pushed-images.show": lambda s, w: ("GET", f"/pushed-images?group={_pushed(s)}", None),
    "pushed-images.delete": lambda s, w: ("DELETE", f"/pushed-images/groups/{_pushed(s)}/torch:1", None),
    "definitions.list": lambda s, w: ("GET", "/definitions", None),
    "definitions.list-all": lambda s, w: ("GET", "/definitions?all=true", None),
    "definitions.make": lambda s, w: ("POST", "/definitions", {"name": "d", "spec": SPEC}),
    "definitions.show": lambda s, w: ("GET", f"/definitions/{_definition(s)}", None),
    "definitions.delete": lambda s, w: ("DELETE", f"/definitions/{_definition(s)}", None),
    "definitions.start": lambda s, w: ("POST", f"/definitions/{_definition(s)}/runs", {}),
    "runs.list": lambda s, w: ("GET", "/runs", None),
    "runs.list-all": lambda s, w: ("GET", "/runs?all=true", None),
    "runs.make": lambda s, w: ("POST", "/runs", {"name": "r", "spec": SPEC}),
    "runs.show": lambda s, w: ("GET", f"/runs/{_run(s)}", None),
    "runs.stop": lambda s, w: ("POST", f"/runs/{_run(s)}/stop", None),
    "runs.consent": lambda s, w: ("POST", f"/runs/{_run(s)}/consent", None),
    "runs.why": lambda s, w: ("GET", f"/runs/{_run(s)}/why", None),
    "runs.pods": lambda s, w: ("GET", f"/runs/{_run(s)}/pods", None),
    "runs.logs": lambda s, w: ("GET", f"/runs/{_run(s)}/logs", None),
    "services.show": lambda s, w: ("GET", f"/runs/{_service(s)}/service", None),
    "services.scale": lambda s, w: ("POST", f"/runs/{_service(s)}/scale", {"replicas": 1}),
    "usage.own": lambda s, w: ("GET", "/usage?user=me", None),
    "usage.group": lambda s, w: ("GET", "/usage?group=vision", None),
    "usage.all": lambda s, w: ("GET", "/usage?user=ann" if w != "ann" else "/usage?user=ben", None),
    "keys.list": lambda s, w: ("GET", "/keys/ssh", None),
    "keys.put": lambda s, w: ("PUT", "/keys/ssh/laptop", {"value": KEY}),
    "keys.delete": lambda s, w: ("DELETE", "/keys/ssh/none-such", None),
    "workbenches.list": lambda s, w: ("GET", "/workbenches", None),
    "workbenches.show": lambda s, w: ("GET", f"/workbenches/{_bench(s)}", None),
    "workbenches.open": lambda s, w: ("GET", f"/workbenches/{_bench(s)}/open?state={'a' * 64}", None),
    "workbenches.grow": lambda s, w: ("PUT", f"/workbenches/{_bench(s)}/disk", {"size": 2**30}),
    "workbenches.exempt": lambda s, w: ("PUT", f"/workbenches/{_bench(s)}/idle", {"exempt": True}),
    "users.storage": lambda s, w: ("PUT", "/users/ann/storage", {"quota": 2**30}),
    "data-sets.list": lambda s, w: ("GET", "/data-sets", None),
    "data-sets.list-all": lambda s, w: ("GET", "/data-sets?all=true", None),
    "data-sets.make": lambda s, w: ("POST", "/data-sets", {"name": "made"}),
    "sources.make": lambda s, w: (
        "POST",
        "/data-sets",
        {"name": "cached", "source": {"kind": "cache", "path": "s3/digits"}},
    ),
    "data-sets.show": lambda s, w: ("GET", f"/data-sets/{_data_set(s)}", None),
    "data-sets.change": lambda s, w: ("POST", f"/data-sets/{_data_set(s)}/shares", {"user": "ben"}),
    "data-sets.quota": lambda s, w: ("PUT", f"/data-sets/{_data_set(s)}/quota", {"quota": 2**30}),
    "audit.list": lambda s, w: ("GET", "/audit", None),
}
# Allowed and refused for another reason than who asks: the group has members, a key is not there, eve has no group.
# ann is approved. This site sends no mail.
# Its workbench has no disk that could grow.
# A program's token opens no workbench: a browser's session does (test_api_workbenches.py).
# Of this site's registry no one gets a token (tests/platform/api/test_user_images.py).
# Its run is queued: no drain waits for it.
BUSY = {
    "runs.consent": 409,
    "registry.token": 404,
    "groups.delete": 409,
    "users.delete": 409,
    "users.send-confirmation": 409,
    "keys.delete": 404,
    "workbenches.open": 404,
    "workbenches.grow": 409,
}
UNGROUPED = {("runs.make", "user"): 409, ("runs.make", "admin"): 409}


def _relations(caller: str) -> set[str]:
    return {
        "anyone": {"anyone"},
        "user": {"anyone", "user"},
        "owner": {"anyone", "user", "owner", "member"},
        "member": {"anyone", "user", "member"},
        "admin": {"anyone", "user", "admin"},
    }[caller]


def test_every_action_is_tried() -> None:
    # One's own sessions are ended in test_api_sessions.py: a token has none.
    tried = set(REQUESTS) | {"sessions.end"}
    assert set(table()) - tried == set(), "add to REQUESTS a request that does the action"
    assert tried - set(table()) == set(), "requests of actions that permissions.yml lacks"


@pytest.mark.parametrize("caller", CALLERS)
@pytest.mark.parametrize("action", sorted(REQUESTS))
def test_a_cell_of_the_matrix_holds(site: Site, action: str, caller: str) -> None:
    who = NAMES[caller]
    method, path, body = REQUESTS[action](site, who)
    if who is not None:
        site.token(who)
    before = site.state() if method != "GET" else None
    answer = site.call(method, path, who, **({} if body is None else {"json": body}))
    allowed = bool(table()[action] & _relations(caller))
    # A list of one's own is everybody's who is logged in: there is no stranger to it.
    if allowed:
        expected = BUSY.get(action) or UNGROUPED.get((action, caller))
        assert answer.status_code == expected if expected else answer.is_success, answer.text
        return
    found = problems(answer)
    if who is None:
        assert (answer.status_code, found[0]["code"]) == (401, "not-logged-in")
    else:
        about_one = f"{action.partition('.')[0]}.show"
        may_see = about_one not in table() or bool(table()[about_one] & _relations(caller))
        listing = action.endswith((".list", ".list-all", ".make"))
        expected = 403 if may_see or listing else 404
        if action in ("tokens.end", "usage.group"):
            expected = 404
        assert answer.status_code == expected, answer.text
    if before is not None:
        assert site.state() == before


@pytest.mark.parametrize("state", [UserState.PENDING, UserState.DISABLED])
def test_who_is_not_approved_or_shut_out_may_nothing(site: Site, state: UserState) -> None:
    site.token("eve")
    site.db.users.update("eve", site.now, state=state)
    for action, request in sorted(REQUESTS.items()):
        method, path, body = request(site, "eve")
        if action in ("sessions.open", "registrations.make", "invitations.use"):
            continue
        answer = site.call(method, path, "eve", **({} if body is None else {"json": body}))
        assert answer.status_code == 401, (action, answer.text)


def test_an_administrator_of_another_word_for_a_role_is_refused_at_the_start(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    table.cache_clear()
    monkeypatch.setattr(Path, "read_text", lambda self, **_: "runs.show: [everyone]")
    with pytest.raises(ValueError, match="everyone"):
        table()
    monkeypatch.undo()
    table.cache_clear()
    assert "runs.show" in table()
