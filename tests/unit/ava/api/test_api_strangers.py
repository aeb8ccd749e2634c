"""What strangers do to accounts: they lock none out, and names and addresses that they register give way."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from ava.domain.model import UserState
from ava.services.config import Config, Limits
from tests.unit.ava.api.oidc_site import come, provided
from tests.unit.ava.api.site import OPEN, WORD, Site, codes, person

NETWORK = {"trusted_proxies": ["192.0.2.0/24"]}


@pytest.fixture
def tight(tmp_path: Path) -> Iterator[Site]:
    limits = {"login_account": "3/day", "login_name": "6/day", "login_slow": "2/day"}
    made = Site(tmp_path, limits=Limits.model_validate(OPEN.model_dump() | limits), config=NETWORK)
    yield made
    made.close()


def log_in(site: Site, where: str, name: str = "root2", word: str = WORD, cookie: str = "") -> httpx.Response:
    headers = {"x-forwarded-for": where} | ({"cookie": cookie} if cookie else {})
    return site.call("POST", "/sessions", headers=headers, json={"name": name, "password": word})


def known(answer: httpx.Response) -> str:
    found = [c.partition(";")[0] for c in answer.headers.get_list("set-cookie")]
    return next(c for c in found if c.startswith("__Host-ava-known="))


def test_a_stranger_who_guesses_locks_no_one_out_but_themselves(tight: Site) -> None:
    assert [log_in(tight, "198.51.100.1", word="x").status_code for _ in range(5)] == [401] * 3 + [429] * 2
    assert log_in(tight, "198.51.100.1").status_code == 429, "not even by the right password"
    assert log_in(tight, "203.0.113.9").status_code == 201
    # A network of IPv6 is one stranger.
    assert [log_in(tight, f"2001:db8::{i}", word="x").status_code for i in range(1, 5)] == [401] * 3 + [429]


def test_many_strangers_slow_down_those_alone_who_never_logged_in_before(tight: Site) -> None:
    at_home = log_in(tight, "203.0.113.9")
    cookie = known(at_home)
    for number in range(6):
        assert log_in(tight, f"198.51.100.{number}", word="x").status_code == 401
    answers = [log_in(tight, f"198.51.100.{number}", word="x").status_code for number in range(10, 14)]
    assert answers == [401, 401, 429, 429]
    assert log_in(tight, "203.0.113.9").status_code == 201, "a network that the person has logged in from"
    assert log_in(tight, "203.0.113.77", cookie=cookie).status_code == 201, "their browser, wherever it is"
    assert log_in(tight, "198.51.100.99", "ann").status_code == 201, "others"
    assert log_in(tight, "203.0.113.78").status_code == 429, "a new place waits a moment"


@pytest.mark.parametrize("forged", ["x", "", "__Host-ava-known"])
def test_a_cookie_of_another_name_or_of_no_user_s_making_is_none(tight: Site, forged: str) -> None:
    for cookie in (
        known(log_in(tight, "203.0.113.1", "eve")),
        f"__Host-ava-known={forged}",
    ):
        for _ in range(3):
            log_in(tight, "198.51.100.7", word="x", cookie=cookie)
        assert log_in(tight, "198.51.100.7", cookie=cookie).status_code == 429


def test_guesses_in_a_known_browser_count_for_that_browser(tight: Site) -> None:
    cookie = known(log_in(tight, "203.0.113.9"))
    answers = [log_in(tight, f"203.0.113.{n}", word="x", cookie=cookie).status_code for n in range(20, 24)]
    assert answers == [401] * 3 + [429]


def test_strangers_do_not_keep_a_person_from_changing_the_password(tight: Site) -> None:
    for number in range(9):
        log_in(tight, f"198.51.100.{number}", "ann", "x")
    body = {"current": WORD, "new": "another horse battery"}
    assert tight.call("PUT", "/users/me/password", "ann", json=body).status_code == 204


def squat(site: Site, name: str, email: str) -> None:
    body = {"name": name, "email": email, "password": WORD}
    assert site.call("POST", "/registrations", json=body).status_code == 201


@pytest.mark.parametrize(("name", "email"), [("mia", "x@example.org"), ("other", "mia@example.org")])
def test_what_a_stranger_registered_gives_way_to_an_administrator(site: Site, name: str, email: str) -> None:
    squat(site, name, email)
    body = {"name": "mia", "email": "MIA@example.org", "password": WORD}
    answer = site.call("POST", "/users", "root2", json=body)
    assert (answer.status_code, answer.json()["state"]) == (201, "active")
    assert [u.name for u in site.db.users.list(state=UserState.PENDING).items] == []
    assert site.db.users.get("mia").email == "mia@example.org"


@pytest.mark.parametrize(("name", "email"), [("mia", "x@example.org"), ("other", "mia@example.org")])
def test_and_to_the_person_whom_the_provider_vouches_for(
    site: Site, tmp_path: Path, name: str, email: str
) -> None:
    squat(site, name, email)
    fake = provided(site, tmp_path)
    try:
        assert codes(come(site, fake)) == ["account-pending"], "an account of their own, which waits"
        assert site.db.users.get("mia").email == "mia@example.org"
        body = {"name": "mia", "email": "z@example.org", "password": WORD}
        assert codes(site.call("POST", "/registrations", json=body)) == ["name-taken"], "no way back"
        (waits,) = [u.name for u in site.db.users.list(state=UserState.PENDING).items]
        assert waits == "mia"
    finally:
        site.services.provider = None


@pytest.mark.parametrize("state", [UserState.ACTIVE, UserState.DISABLED])
def test_who_was_approved_gives_way_to_no_one(site: Site, state: UserState) -> None:
    person(site.db, "mia", state=state)
    body = {"name": "mia", "email": "m@example.org", "password": WORD}
    assert codes(site.call("POST", "/users", "root2", json=body)) == ["name-taken"]
    assert codes(site.call("DELETE", "/users/mia", "root2")) == ["user-approved"]


def test_an_account_that_waits_is_removed_and_one_that_did_something_is_not(site: Site) -> None:
    squat(site, "mia", "mia@example.org")
    assert site.call("DELETE", "/users/mia", "root2").status_code == 204
    assert site.call("GET", "/users/mia", "root2").status_code == 404
    squat(site, "mia", "mia@example.org")
    site.call("PATCH", "/users/ben", "root2", json={"state": "pending"})
    assert codes(site.call("DELETE", "/users/ben", "root2")) == ["user-approved"], "ben is in a group"


def test_where_a_login_service_proves_who_someone_is_the_form_is_closed(tmp_path: Path) -> None:
    ldap = {"ldap": {"url": "ldaps://d", "user_dn": "uid={name}"}}
    for more, is_open in (({}, True), (ldap, False), (ldap | {"registration_form": True}, True)):
        config = Config.model_validate({"sealing_key": "/k"} | more)
        assert config.form_open is is_open
    assert not Config.model_validate({"sealing_key": "/k", "registration": False}).form_open
    site = Site(tmp_path, config=ldap)
    body = {"name": "mia", "email": "mia@example.org", "password": WORD}
    assert codes(site.call("POST", "/registrations", json=body)) == ["registration-closed"]
    site.close()
