"""Invitations: one person chooses one password by one; and ssh keys that an administrator puts for others."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest

from ava.domain.model import UserState
from ava.domain.problems import ApiError
from ava.services.auth import invitations
from ava.services.workbenches.tickets import Pass, ticket
from tests.unit.ava.api.site import WORD, Site, codes

NEW = "another good password"
KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJHt8yDhXJ5SPgcEFHwOgSGT0hGFkWi1dJ1rJbBmsCmh"


def invited(site: Site, name: str = "ann") -> str:
    answer = site.call("POST", f"/users/{name}/invitation", "root2")
    assert answer.status_code == 201, answer.text
    return str(answer.json()["invitation"])


def used(site: Site, text: str, password: str = NEW) -> int:
    return site.call("POST", "/invitations", json={"invitation": text, "password": password}).status_code


def logs_in(site: Site, name: str, password: str) -> bool:
    return site.call("POST", "/sessions", json={"name": name, "password": password}).is_success


def test_a_user_made_without_a_password_chooses_one_by_the_invitation(site: Site) -> None:
    made = site.call("POST", "/users", "root2", json={"name": "zoe", "email": "zoe@example.org"})
    assert made.status_code == 201
    assert not logs_in(site, "zoe", NEW)
    assert used(site, invited(site, "zoe")) == 204
    assert logs_in(site, "zoe", NEW)


def test_it_is_good_once_and_ends_what_logins_there_were(site: Site) -> None:
    text, other = invited(site), invited(site)
    token = site.token("ann")
    assert token
    assert used(site, text) == 204
    assert site.call("GET", "/sessions/current", "ann").status_code == 401
    assert used(site, text, "yet another password") == 403
    assert used(site, other, "yet another password") == 403, "one of before the password was changed"
    assert logs_in(site, "ann", NEW)


def test_of_two_who_use_it_at_once_one_is_the_first(site: Site) -> None:
    text = invited(site)

    def use(password: str) -> bool:
        try:
            invitations.use(site.services, text, password)
        except ApiError as refused:
            assert refused.status == 403
            return False
        return True

    with ThreadPoolExecutor(4) as pool:
        assert sum(pool.map(use, [f"password number {n}" for n in range(4)])) == 1


def test_what_is_none_any_more_is_refused_and_changes_nothing(site: Site) -> None:
    text = invited(site)
    sealed = site.services.sealer
    wrong = {
        "made up": "gAAAAAB" + "a" * 100,
        "cut": text[:-10],
        "a sealed thing of another kind": ticket(sealed, Pass("s", "d"), "x"),
        "no text of ours": sealed.seal("[1]"),
    }
    for what, one in wrong.items():
        assert used(site, one) == 403, what
    site.now += timedelta(days=invitations.DAYS, seconds=1)
    assert used(site, text) == 403, "too old"
    site.now -= timedelta(days=1)
    site.db.users.update("ann", site.now, state=UserState.DISABLED)
    assert used(site, text) == 403, "the account was shut out"
    site.db.users.update("ann", site.now, state=UserState.ACTIVE)
    assert logs_in(site, "ann", WORD)


@pytest.mark.parametrize("state", [UserState.PENDING, UserState.DISABLED])
def test_who_cannot_login_is_not_invited(site: Site, state: UserState) -> None:
    site.db.users.update("eve", site.now, state=state)
    assert codes(site.call("POST", "/users/eve/invitation", "root2")) == ["account-not-active"]


def test_guesses_are_counted_like_logins(tmp_path, request) -> None:  # type: ignore[no-untyped-def]
    from tests.unit.ava.api.site import OPEN

    limited = Site(tmp_path, limits=OPEN.model_copy(update={"login_address": "3/minute"}))
    request.addfinalizer(limited.close)
    assert [used(limited, "guess") for _ in range(5)] == [403, 403, 403, 429, 429]


def test_neither_invitation_nor_password_is_in_the_audit_log(site: Site) -> None:
    text = invited(site)
    used(site, text)
    reply = site.call("GET", "/audit", "root2").text
    assert "users.invite" in reply and "invitations.use" in reply
    assert text not in reply and NEW not in reply


def test_an_administrator_puts_and_takes_keys_of_others_and_the_log_says_whose(site: Site) -> None:
    assert site.call("PUT", "/users/ann/keys/ssh/laptop", "root2", json={"value": KEY}).is_success
    assert [k["name"] for k in site.call("GET", "/users/ann/keys/ssh", "root2").json()] == ["laptop"]
    assert [k["name"] for k in site.call("GET", "/keys/ssh", "ann").json()] == ["laptop"]
    assert site.call("DELETE", "/users/ann/keys/ssh/laptop", "root2").is_success
    line = site.call("GET", "/audit", "root2").json()["items"][0]
    assert (line["action"], line["detail"]["user"]) == ("keys.delete", "ann")


@pytest.mark.parametrize("who", ["ben", "eve"])
def test_keys_of_others_are_no_other_users_to_see(site: Site, who: str) -> None:
    site.db.keys.put("ann", "ssh", "laptop", KEY, site.now)
    assert codes(site.call("GET", "/users/ann/keys/ssh", who)) == ["not-found"]
    assert site.call("GET", "/users/none-such/keys/ssh", who).status_code == 404
