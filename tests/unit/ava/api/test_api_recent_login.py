"""Who is locked in the site's directory: tokens and ssh keys are good as long as their owner has logged in there lately."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest

from ava.services import context
from ava.services.auth import recent_login
from tests.unit.ava.api.site import Site, codes

HERE = "/users/me"


class Book:
    """A directory that locks people."""

    def __init__(self) -> None:
        self.locked: set[str] = set()

    def knows(self, name: str, password: str) -> bool:
        return name not in self.locked and password == "the directory's word"


def days(site: Site, count: float) -> None:
    site.now += timedelta(days=count)


def log_in(site: Site) -> int:
    body = {"name": "ann", "password": "the directory's word"}
    return site.call("POST", "/sessions", json=body).status_code


def long_token(site: Site) -> dict[str, str]:
    made = site.call("POST", "/tokens", "ann", json={"days": 300})
    return {"authorization": f"Bearer {made.json()['token']}"}


def test_a_token_ends_a_month_after_the_last_login_and_is_good_again_after_the_next(site: Site) -> None:
    book = site.services.directory = Book()
    assert log_in(site) == 201
    headers = long_token(site)
    days(site, 29)
    assert site.call("GET", HERE, headers=headers).status_code == 200
    book.locked.add("ann")
    days(site, 2)
    answer = site.call("GET", HERE, headers=headers)
    assert (answer.status_code, codes(answer)) == (401, ["login-too-old"])
    assert log_in(site) == 401 and site.call("GET", HERE, headers=headers).status_code == 401
    book.locked.clear()
    assert log_in(site) == 201
    assert site.call("GET", HERE, headers=headers).status_code == 200


def test_a_use_of_a_token_is_no_login_and_who_never_logged_in_has_a_month_from_the_account_on(
    site: Site,
) -> None:
    site.services.directory = Book()
    headers = long_token(site)
    for _ in range(3):
        days(site, 9.9)
        assert site.call("GET", HERE, headers=headers).status_code == 200
    days(site, 1)
    assert site.call("GET", HERE, headers=headers).status_code == 401


def test_without_a_directory_a_token_is_good_until_its_end(site: Site) -> None:
    headers = long_token(site)
    days(site, 200)
    assert site.call("GET", HERE, headers=headers).status_code == 200


@pytest.mark.parametrize(("count", "good"), [(0, True), (90, True), (89, False)])
def test_the_site_says_how_long(tmp_path: Path, count: int, good: bool) -> None:
    site = Site(tmp_path, config={"login_days": count})
    site.services.directory = Book()
    headers = long_token(site)
    days(site, 90)
    assert (site.call("GET", HERE, headers=headers).status_code == 200) is good
    assert recent_login.is_recent(site.services, site.db.users.get("ann")) is good
    site.close()


def test_refused_requests_are_written_once_by_user_and_action(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert context.REFUSALS == "1/minute"
    # A slow machine must not make two of it.
    monkeypatch.setattr(context, "REFUSALS", "1/day")
    site = Site(tmp_path)
    run = site.run()["id"]
    before = len(site.db.audit.list(limit=500).items)
    for _ in range(50):
        assert site.call("GET", f"/runs/{run}", "eve").status_code == 404
    for _ in range(3):
        assert site.call("GET", "/audit", "eve").status_code == 403
        assert site.call("GET", "/audit", "ben").status_code == 403
    lines = [line for line in site.db.audit.list(limit=500).items if line["outcome"] == "refused"]
    assert len(site.db.audit.list(limit=500).items) - before == len(lines) == 3
    site.close()
