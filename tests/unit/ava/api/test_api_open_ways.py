"""What is open into a workbench ends when its owner is disabled, or has not logged in lately at the site's directory."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ava.domain.model import Outcome, UserState
from tests.unit.ava.api.site import Site
from tests.unit.ava.api.test_api_recent_login import Book, days
from tests.unit.ava.api.test_api_sessions import cookie, log_in
from tests.unit.ava.api.test_api_workbenches import JUMP, KEY, OTHER, STATE, Benches


class Long(Benches):
    """A site whose sessions outlast `login_days`."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.services.config = self.services.config.model_copy(
            update={"session_hours": 24 * 20, "login_days": 7}
        )
        self.services.directory = Book()

    def session(self, who: str = "ann") -> dict[str, str]:
        body = {"name": who, "password": "the directory's word"}
        answer = self.call("POST", "/sessions", json=body)
        assert answer.status_code == 201, answer.text
        return {"cookie": cookie(answer), "x-csrf-token": answer.json()["csrf"]}

    def stays(self, *pairs: tuple[str, list[str]]) -> list[bool]:
        asked = [{"key": key, "definitions": some} for key, some in pairs]
        found: list[bool] = self.ask("connections", JUMP, connections=asked).json()["stay"]
        return found

    def key(self, who: str = "ann", line: str = KEY) -> None:
        assert self.call("PUT", "/keys/ssh/laptop", who, json={"value": line}).status_code < 300


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Long]:
    made = Long(tmp_path)
    yield made
    made.close()


def test_a_session_that_outlasts_the_last_login_keeps_no_workbench_open(site: Long) -> None:
    bench = site.make()
    site.start(bench)
    session = site.session()
    into, ticket = site.cookie(session, bench), site.ticket(session, bench)
    days(site, 6.9)
    assert site.ask("check", definition=bench, cookie=into).status_code == 200
    assert site.ask("alive", cookies=[into]).json() == {"alive": [True]}
    days(site, 0.2)
    assert site.ask("check", definition=bench, cookie=into).status_code == 401
    assert site.ask("alive", cookies=[into]).json() == {"alive": [False]}
    assert site.ask("enter", definition=bench, ticket=ticket, secret="the browser's own").status_code == 403
    assert site.call("GET", "/users/me", headers=session).status_code == 401, "nor the site itself"
    path = f"/workbenches/{bench}/open?state={STATE}"
    sent = site.call("GET", path, headers=session | {"accept": "text/html"})
    assert sent.headers["location"].startswith("/login?"), "and the browser is not sent round in circles"
    again = site.cookie(site.session(), bench)
    assert site.ask("alive", cookies=[again, into]).json() == {"alive": [True, True]}


def test_connections_by_ssh_stay_while_their_owner_may_come_in(site: Long) -> None:
    bench = site.make()
    site.start(bench)
    site.session()
    site.key()
    here = (KEY, [bench])
    assert site.stays(here, (KEY, ["nothing"]), (OTHER, [bench]), ("no key", [bench]), (KEY, [])) == [
        True,
        False,
        False,
        False,
        False,
    ]
    days(site, 7.1)
    assert site.stays(here) == [False]
    site.session()
    assert site.stays(here) == [True]
    site.db.users.update("ann", site.now, state=UserState.DISABLED)
    assert site.stays(here) == [False]
    site.db.users.update("ann", site.now, state=UserState.ACTIVE)
    assert site.stays(here) == [True]
    site.db.keys.delete("ann", "ssh", "laptop")
    assert site.stays(here) == [False], "with its key a connection ends"


def test_of_two_persons_with_one_key_neither_keeps_the_others_workbench_open(site: Long) -> None:
    anns, bens = site.make(), site.make("ben")
    for who in ("ann", "ben"):
        site.session(who)
        site.key(who)
    site.start(anns)
    site.start(bens, "ben")
    assert site.stays((KEY, [anns, bens]), (KEY, [bens])) == [True, True]
    site.db.users.update("ann", site.now, state=UserState.DISABLED)
    assert site.stays((KEY, [anns, bens]), (KEY, [bens])) == [False, True]


def test_a_connection_to_several_workbenches_outlasts_one_that_is_stopped_or_deleted(site: Long) -> None:
    first, second = site.make(), site.make(name="second")
    site.session()
    site.key()
    run = site.start(first)
    site.start(second)
    site.db.runs.stop(run, site.now, by="ann")
    assert site.stays((KEY, [first, second])) == [True]
    site.db.runs.finish(run, Outcome.STOPPED, "", site.now)
    site.db.definitions.delete(first, site.now)
    assert site.stays((KEY, [first, second])) == [True]


def test_without_a_directory_nothing_ends_but_by_the_account(site: Long) -> None:
    site.services.directory = None
    bench = site.make()
    site.start(bench)
    into = site.cookie(log_in(site), bench)
    site.key()
    days(site, 10)
    assert site.ask("check", definition=bench, cookie=into).status_code == 200
    assert site.stays((KEY, [bench])) == [True]


@pytest.mark.parametrize("body", [{}, {"connections": [{"key": "x" * 20_001, "definitions": []}]}])
def test_the_question_is_the_gateways_alone_and_bounded(site: Long, body: dict[str, Any]) -> None:
    assert site.ask("connections", connections=[]).status_code == 401, "the gate's secret"
    assert site.ask("connections", JUMP, **body).status_code == 422
    assert site.stays() == []


def test_a_followed_log_ends_for_who_has_not_logged_in_lately(site: Long, monkeypatch: Any) -> None:
    monkeypatch.setattr("ava.services.logs.follower.PERIOD", 0.01)
    session = site.session()
    run = str(Site.run(site)["id"])
    assert not site.db.runs.admit(run, site.now)
    days(site, 6.99)
    asks, looks = site.services.db.secrets.authenticate, []

    def later(*args: Any) -> Any:
        looks.append(1)
        if len(looks) == 1:
            days(site, 0.1)
        if len(looks) == 20:
            site.db.runs.finish(run, Outcome.STOPPED, "", site.now)
        return asks(*args)

    monkeypatch.setattr(site.services.db.secrets, "authenticate", later)
    answer = site.call("GET", f"/runs/{run}/logs?follow=true&format=json", headers=session)
    assert '"refused"' in answer.text and len(looks) < 20, answer.text
