"""Scopes of tokens: every action of the role matrix, and every route, with each scope."""

from __future__ import annotations

import base64
from typing import Any

import pytest

from ava.services.auth import scopes
from ava.services.auth.permissions import table
from tests.unit.ava.api.site import Site, codes
from tests.unit.ava.api.test_api_roles import BUSY, REQUESTS

OPEN = {"sessions.open", "registrations.make", "invitations.use"}
"""Actions of clients without a login; a browser sends no token with them."""
PUBLIC = ("/login", "/sessions", "/registrations", "/invitations", "/oidc")
"""Routes for clients without a login: they look at no token."""
ADMINISTRATORS = {action for action, who in table().items() if who == {"admin"}}


def scoped(site: Site, who: str, *granted: str) -> dict[str, str]:
    made = site.call("POST", "/tokens", who, json={"scopes": list(granted)})
    assert made.status_code == 201, made.text
    return {"authorization": f"Bearer {made.json()['token']}"}


def send(site: Site, headers: dict[str, str], method: str, path: str, body: Any = None) -> Any:
    return site.call(method, path, headers=headers, **({} if body is None else {"json": body}))


def test_each_action_belongs_to_a_scope_or_to_whole_tokens_alone() -> None:
    known = scopes.READ | scopes.RUNS | scopes.REGISTRY
    assert known <= set(table())
    assert not known & ADMINISTRATORS
    account = {
        *("sessions.open", "sessions.list", "sessions.end", "registrations.make", "invitations.use"),
        *("tokens.list", "tokens.make", "tokens.end", "keys.list", "keys.put", "keys.delete"),
        *(
            "users.email",
            "users.send-confirmation",
            "users.confirm-email",
            "users.password",
            "users.keys",
            "users.default-group",
            "workbenches.open",
        ),
    }
    assert set(table()) - known - ADMINISTRATORS == account


@pytest.mark.parametrize("scope", scopes.SCOPES)
@pytest.mark.parametrize("action", sorted(set(REQUESTS) - OPEN))
def test_a_scope_allows_its_actions_and_no_other(site: Site, action: str, scope: str) -> None:
    method, path, body = REQUESTS[action](site, "ann")
    headers = scoped(site, "ann", scope)
    before = site.state()
    answer = send(site, headers, method, path, body)
    if scopes.allows(frozenset({scope}), action):
        assert answer.status_code == BUSY[action] if action in BUSY else answer.is_success, answer.text
        return
    # Another's or an administrator's does not exist or is refused; what is one's own is refused for the scope.
    assert answer.status_code in (403, 404), answer.text
    if action not in ADMINISTRATORS and action not in ("workbenches.open", "tokens.end"):
        assert "token-scope" in codes(answer) or action.endswith("-all") or action == "usage.all", answer.text
    assert site.state() == before


@pytest.mark.parametrize("scope", scopes.SCOPES)
def test_no_route_takes_a_change_from_a_token_without_the_scope(site: Site, scope: str) -> None:
    headers = scoped(site, "root2", scope)
    document = site.frame().openapi()
    tried = 0
    for path, verbs in document["paths"].items():
        filled = path.replace("{kind}", "ssh").replace("{", "").replace("}", "")
        for verb in set(verbs) - {"parameters"}:
            if scope == "runs" or filled.endswith(("/sessions/current", "/registry/token")):
                continue
            if verb == "get" and scope == "read":
                continue
            tried += 1
            body = {} if "requestBody" in verbs[verb] else None
            answer = send(site, headers, verb.upper(), filled, body)
            if path.removeprefix("/api/v1").startswith(PUBLIC) and answer.status_code != 403:
                continue
            assert answer.status_code == 403, (verb, path, answer.text)
    assert tried > 30 or scope == "runs"


def test_an_administrators_token_with_scopes_has_no_administrators_rights(site: Site) -> None:
    headers = scoped(site, "root2", "read", "runs")
    run = site.run()["id"]
    assert send(site, headers, "GET", f"/runs/{run}").status_code == 404
    assert send(site, headers, "GET", "/users").status_code == 403
    assert send(site, headers, "PATCH", "/users/eve", {"admin": True}).status_code in (403, 404)
    assert not site.db.users.get("eve").admin


def test_a_token_for_images_logs_docker_in_and_can_end_itself(site: Site) -> None:
    headers = scoped(site, "ann", "registry")
    token = headers["authorization"].removeprefix("Bearer ")
    answer = site.call("GET", "/registry/token?service=registry.site:5004", headers=_basic("ann", token))
    assert answer.status_code == 404 and codes(answer) == [
        "not-found"
    ]  # this site has no registry; past the scope
    answer = site.call(
        "GET", "/registry/token?service=registry.site:5004", headers=_basic("ann", _read(site))
    )
    assert (answer.status_code, codes(answer)) == (403, ["token-scope"])
    assert send(site, headers, "GET", "/sessions/current").status_code == 200
    assert send(site, headers, "DELETE", "/sessions/current").status_code == 204
    assert send(site, headers, "GET", "/sessions/current").status_code == 401


def test_scopes_are_listed_and_checked(site: Site) -> None:
    scoped(site, "ann", "runs", "registry")
    site.call("POST", "/tokens", "ann", json={})
    listed = [one["scopes"] for one in site.call("GET", "/tokens", "ann").json()]
    assert listed == [None, ["registry", "runs"], None]
    for wrong in ([], ["all"], ["read", "admin"], "read"):
        assert site.call("POST", "/tokens", "ann", json={"scopes": wrong}).status_code == 422


def _read(site: Site) -> str:
    return scoped(site, "ann", "read")["authorization"].removeprefix("Bearer ")


def _basic(name: str, token: str) -> dict[str, str]:
    return {"authorization": "Basic " + base64.b64encode(f"{name}:{token}".encode()).decode()}
