"""Login, log-out, CSRF, tokens: what an attacker would try."""

from __future__ import annotations

import hmac
import re
from datetime import timedelta
from pathlib import Path
from typing import Any

import httpx
import pytest

from ava.domain.model import UserState
from ava.domain.problems import ApiError
from ava.services.auth import caller
from ava.services.auth.passwords import Passwords
from ava.services.auth.rate_limits import network
from ava.services.config import Limits
from tests.unit.ava.api.site import CHEAP, OPEN, SPEC, WORD, Site, codes

FORGED = "__Host-ava=s1ilp5dhdve1f.AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"


def log_in(site: Site, name: str = "ann", **more: Any) -> dict[str, str]:
    """Return the headers of a session."""
    answer = site.call("POST", "/sessions", json={"name": name, "password": WORD}, **more)
    assert answer.status_code == 201, answer.text
    return {"cookie": cookie(answer), "x-csrf-token": answer.json()["csrf"]}


def cookie(answer: httpx.Response) -> str:
    return answer.headers["set-cookie"].partition(";")[0]


def test_the_cookie_is_secure_http_only_and_for_this_host_alone(site: Site) -> None:
    answer = site.call("POST", "/sessions", json={"name": "ann", "password": WORD})
    name, _, rest = answer.headers["set-cookie"].partition("=")
    assert name.startswith("__Host-")
    assert {"HttpOnly", "Secure", "Path=/", "SameSite=lax"} <= {p.strip() for p in rest.split(";")}
    assert "domain" not in rest.lower()


def test_the_database_keeps_no_secret_but_its_digest(site: Site) -> None:
    headers = log_in(site)
    token = site.call("POST", "/tokens", headers=headers, json={}).json()["token"]
    secrets = [headers["cookie"].split(".")[1], token.split(".")[1], WORD]
    kept = (site.folder / "database.db").read_bytes() + (site.folder / "database.db-wal").read_bytes()
    assert caller.digest(secrets[0]).encode() in kept
    assert not any(secret.encode() in kept for secret in secrets)


def test_a_session_that_was_put_there_before_is_not_taken_over(site: Site) -> None:
    attacker = log_in(site, "eve")
    victim = log_in(site, "ann", headers={"cookie": attacker["cookie"]})
    assert victim["cookie"] != attacker["cookie"]
    assert site.call("GET", "/sessions/current", headers=victim).json()["user"]["name"] == "ann"
    assert codes(site.call("GET", "/sessions/current", headers=attacker)) == ["not-logged-in"]


def test_a_forged_cookie_does_not_become_a_session(site: Site) -> None:
    answer = site.call(
        "POST", "/sessions", headers={"cookie": FORGED}, json={"name": "ann", "password": WORD}
    )
    assert cookie(answer) != FORGED
    assert codes(site.call("GET", "/runs", headers={"cookie": FORGED})) == ["not-logged-in"]


@pytest.mark.parametrize("token", [None, "", "0" * 64, "é"])
def test_a_change_by_cookie_without_its_csrf_token_is_refused(site: Site, token: str | None) -> None:
    headers = log_in(site)
    headers.pop("x-csrf-token")
    if token is not None:
        headers["x-csrf-token"] = token.encode("latin-1").decode("latin-1")
    if token == "é":
        headers = {k: v.encode("latin-1") for k, v in headers.items()}  # type: ignore[misc]
    before = site.state()
    answer = site.call("POST", "/runs", headers=headers, json={"name": "a", "spec": SPEC})
    assert (answer.status_code, codes(answer)) == (403, ["csrf"])
    assert site.state() == before


def test_the_csrf_token_of_another_session_is_refused(site: Site) -> None:
    mine, other = log_in(site), log_in(site, "eve")
    headers = {"cookie": mine["cookie"], "x-csrf-token": other["x-csrf-token"]}
    assert codes(site.call("POST", "/tokens", headers=headers, json={})) == ["csrf"]


def test_with_its_csrf_token_a_change_goes_through_and_reading_needs_none(site: Site) -> None:
    headers = log_in(site)
    assert site.call("POST", "/tokens", headers=headers, json={}).status_code == 201
    assert site.call("GET", "/tokens", headers={"cookie": headers["cookie"]}).status_code == 200


def test_a_form_of_another_site_cannot_log_someone_in(site: Site) -> None:
    text = f'{{"name": "eve", "password": "{WORD}"}}'
    answer = site.call("POST", "/sessions", content=text, headers={"content-type": "text/plain"})
    assert (answer.status_code, codes(answer)) == (415, ["media-type"])


def test_log_out_ends_the_session_at_once(site: Site) -> None:
    headers = log_in(site)
    assert site.call("DELETE", "/sessions/current", headers=headers).status_code == 204
    assert codes(site.call("GET", "/runs", headers=headers)) == ["not-logged-in"]


def test_a_session_and_a_token_end_with_their_time(site: Site) -> None:
    headers = log_in(site)
    token = site.call("POST", "/tokens", headers=headers, json={"days": 1}).json()["token"]
    bearer = {"authorization": f"Bearer {token}"}
    site.now += timedelta(hours=11)
    assert site.call("GET", "/runs", headers=headers).status_code == 200
    site.now += timedelta(hours=2)
    assert site.call("GET", "/runs", headers=headers).status_code == 401
    assert site.call("GET", "/runs", headers=bearer).status_code == 200
    site.now += timedelta(hours=12)
    assert site.call("GET", "/runs", headers=bearer).status_code == 401


def test_shutting_out_ends_sessions_and_tokens_and_they_stay_ended(site: Site) -> None:
    headers = log_in(site)
    assert site.call("GET", "/runs", "ann").status_code == 200
    site.call("PATCH", "/users/ann", "root2", json={"state": "disabled"})
    assert site.call("GET", "/runs", "ann").status_code == 401
    assert site.call("GET", "/runs", headers=headers).status_code == 401
    answer = site.call("POST", "/sessions", json={"name": "ann", "password": WORD})
    assert (answer.status_code, codes(answer)) == (403, ["account-disabled"])
    site.call("PATCH", "/users/ann", "root2", json={"state": "active"})
    assert site.call("GET", "/runs", "ann").status_code == 401


def test_whether_a_name_exists_is_not_reported_to_who_has_no_password(site: Site) -> None:
    site.db.users.update("ben", site.now, state=UserState.DISABLED)
    answers = [
        site.call("POST", "/sessions", json={"name": name, "password": "wrong wrong wrong"})
        for name in ("ann", "ben", "nemo")
    ]
    assert len({(a.status_code, a.text) for a in answers}) == 1


def test_an_unknown_name_costs_a_hash_as_well(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    done: list[str | None] = []
    whole = type(site.services.passwords).matches

    def counted(self: Any, kept: str | None, password: str) -> bool:
        done.append(kept)
        return whole(self, kept, password)

    monkeypatch.setattr(type(site.services.passwords), "matches", counted)
    site.call("POST", "/sessions", json={"name": "nemo", "password": "wrong wrong wrong"})
    assert done == [None]


def test_secrets_are_compared_in_constant_time(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    compared: list[bytes] = []

    def noted(a: bytes, b: bytes) -> bool:
        compared.append(b)
        return a == b

    headers = log_in(site)
    monkeypatch.setattr(hmac, "compare_digest", noted)
    site.call("POST", "/tokens", headers=headers, json={})
    assert headers["x-csrf-token"].encode() in compared


def test_a_new_password_ends_all_else_and_only_it_gets_in(site: Site) -> None:
    mine, elsewhere = log_in(site), log_in(site)
    site.token("ann")
    new = "quite another password"
    wrong = site.call("PUT", "/users/me/password", headers=mine, json={"current": "no", "new": new})
    assert codes(wrong) == ["password-wrong"]
    assert site.call("PUT", "/users/me/password", headers=mine, json={"current": WORD, "new": new}).is_success
    assert site.call("GET", "/runs", headers=mine).status_code == 200
    assert site.call("GET", "/runs", headers=elsewhere).status_code == 401
    assert site.call("GET", "/runs", "ann").status_code == 401
    assert site.call("POST", "/sessions", json={"name": "ann", "password": WORD}).status_code == 401
    assert site.call("POST", "/sessions", json={"name": "ann", "password": new}).status_code == 201


def test_a_hash_of_other_parameters_is_made_again_at_login(site: Site) -> None:
    weak = Passwords({"time_cost": 1, "memory_cost": 16, "parallelism": 1}).hash(WORD)
    site.db.users.update("ann", site.now, password=weak)
    log_in(site)
    kept = site.db.users.password_hash("ann")
    assert kept != weak
    assert "m=8," in kept
    log_in(site)
    assert site.db.users.password_hash("ann") == kept


def test_the_pinned_parameters_are_owasps() -> None:
    assert re.match(r"^\$argon2id\$v=19\$m=19456,t=2,p=1\$", Passwords().hash(WORD))


def test_an_administrators_approval_lets_in(site: Site) -> None:
    body = {"name": "newcomer", "email": "n@example.org", "password": WORD}
    assert site.call("POST", "/registrations", json=body).json()["state"] == "pending"
    assert codes(site.call("POST", "/sessions", json={"name": "newcomer", "password": WORD})) == [
        "account-pending"
    ]
    waiting = site.call("GET", "/users?state=pending", "root2").json()["items"]
    assert [u["name"] for u in waiting] == ["newcomer"]
    site.call("PATCH", "/users/newcomer", "root2", json={"state": "active"})
    assert site.call("POST", "/sessions", json={"name": "newcomer", "password": WORD}).status_code == 201


def test_who_has_a_session_that_has_ended_can_still_login_and_register(site: Site) -> None:
    body = {"name": "newcomer", "email": "n@example.org", "password": WORD}
    assert site.call("POST", "/registrations", json=body, headers={"cookie": FORGED}).status_code == 201


@pytest.fixture
def tight(tmp_path: Path) -> Any:
    # By the day: a slow machine takes from one minute to the next.
    limits = OPEN.model_copy(
        update={
            "login_address": "6/day",
            "login_account": "3/day",
            "registration": "2/day",
            "submit": "2/day",
        }
    )
    made = Site(tmp_path, limits=Limits.model_validate(limits.model_dump()))
    yield made
    made.close()


def test_guessing_ends_in_429_even_with_the_right_password_then(tight: Site) -> None:
    for _ in range(3):
        assert tight.call("POST", "/sessions", json={"name": "ann", "password": "wrong"}).status_code == 401
    answer = tight.call("POST", "/sessions", json={"name": "ann", "password": WORD})
    assert (answer.status_code, codes(answer)) == (429, ["too-many-requests"])
    assert int(answer.headers["retry-after"]) > 0
    assert tight.call("POST", "/sessions", json={"name": "ben", "password": WORD}).status_code == 201, (
        "others get in"
    )


def test_one_address_cannot_try_many_accounts(tight: Site) -> None:
    answers = [
        tight.call("POST", "/sessions", json={"name": f"u{i}", "password": "x"}).status_code for i in range(8)
    ]
    assert answers == [401] * 6 + [429] * 2


def test_registrations_and_submits_are_limited(tight: Site) -> None:
    bodies = [{"name": f"n{i}", "email": f"n{i}@example.org", "password": WORD} for i in range(3)]
    assert [tight.call("POST", "/registrations", json=b).status_code for b in bodies] == [201, 201, 429]
    before = [
        tight.call("POST", "/runs", "ann", json={"name": f"r{i}", "spec": SPEC}).status_code for i in range(3)
    ]
    assert before == [201, 201, 429]
    assert len(tight.db.runs.list().items) == 2
    assert len(tight.db.definitions.list().items) == 2, "the definition of the refused run is not left behind"
    assert tight.call("POST", "/runs", "ben", json={"name": "r", "spec": SPEC}).status_code == 201


def test_logins_and_tokens_do_not_pile_up(site: Site) -> None:
    first = log_in(site)
    for _ in range(52):
        log_in(site)
    assert len(site.db.secrets.list("ann", "session")) == 50
    assert site.call("GET", "/runs", headers=first).status_code == 401, "the oldest has given way"
    answers = [site.call("POST", "/tokens", "ben", json={"days": 1}) for _ in range(100)]
    assert [a.status_code for a in answers] == [201] * 99 + [409], "with the one that asks it is a hundred"
    assert codes(answers[-1]) == ["too-many-tokens"]
    site.now += timedelta(days=2)
    assert site.call("POST", "/tokens", headers=log_in(site, "ben"), json={}).status_code == 201
    assert len(site.db.secrets.list("ben", "token")) == 1, "what has ended is cleared away"


def test_a_network_of_ipv6_is_one_address_for_limits() -> None:
    assert network("2001:db8::1") == network("2001:db8::2") != network("2001:db8:0:1::1")
    assert network("192.0.2.1") != network("192.0.2.2")


def test_a_flood_of_logins_is_reported_to_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ava.services.auth.passwords.PATIENCE", 0.01)
    passwords = Passwords(CHEAP)
    with (
        passwords._one(),
        passwords._one(),
        passwords._one(),
        passwords._one(),
        pytest.raises(ApiError) as caught,
    ):
        passwords.matches(None, "word")
    assert caught.value.status == 503
    assert not passwords.matches(None, "word"), "afterwards there are turns again"
