"""Every page shows itself in both languages; who may see which is what permissions.yml says; errors are pages in words."""

from __future__ import annotations

import re

import pytest

from ava.domain.model import Kind, Quota, UserState
from ava.domain.spec import Spec
from tests.unit.ava.api.site import GIB, SPEC, WORD, Site, frame_of_all, person
from tests.unit.ava.web.browser import Browser, whole
from tests.unit.ava.web.rows import PARTS, ROWS, by_person, routes
from tests.unit.ava.web.sample_site import inhabit

CHINESE = re.compile("[\u4e00-\u9fff]")


def made(site: Site) -> dict[str, str]:
    run = site.run()
    data = site.call("POST", "/data-sets", "ann", json={"name": "faces"}).json()["id"]
    return {"run": run["id"], "definition": run["definition"], "data": data}


@pytest.mark.parametrize("language", ["en", "zh"])
def test_every_page_is_there_in_both_languages(site: Site, language: str) -> None:
    ids = inhabit(site)
    for who, paths in by_person():
        browser = Browser(site, language)
        if who:
            browser.log_in(who)
        for path in paths:
            answer = browser.ask("GET", path.partition("#")[0].format(**ids))
            assert answer.status_code == 200, (who, path, answer.text[-600:])
            assert f'<html lang="{"zh-Hans" if language == "zh" else "en"}">' in answer.text
            seen = re.sub(r"中文|<svg.*?</svg>", "", answer.text)
            assert bool(CHINESE.search(seen)) == (language == "zh"), path


def test_to_look_at_pages_writes_nothing_down(site: Site) -> None:
    ids = inhabit(site)
    people = {who: Browser(site).log_in(who) for who, _ in by_person() if who}
    before = site.db.audit.list(limit=500).items
    for who, paths in by_person():
        for path in paths:
            people.get(who, Browser(site)).ask("GET", path.partition("#")[0].format(**ids))
    assert site.db.audit.list(limit=500).items == before


def test_no_page_is_forgotten_by_the_tests_of_pages() -> None:
    """What looks at all pages (here, and axe in tests/platform/web) goes by the rows."""
    assert routes() - set(ROWS) == set(), "add rows to tests/unit/ava/web/rows.py"
    assert set(ROWS) - routes() == set(), "rows of pages that are gone"
    for route, found in ROWS.items():
        wanted = re.sub(r"\\\{\w+\\\}", "[^/?#]+", re.escape(route))
        assert [path for _, path in found if not re.fullmatch(wanted + r"([?#].*)?", path)] == [], route


def test_parts_of_pages_are_no_pages(site: Site) -> None:
    ids = inhabit(site)
    ann = Browser(site).log_in("ann")
    for route in PARTS:
        assert "<html" not in ann.ask("GET", route.format(id=ids["running"])).text, route


def test_what_is_reached_without_a_login_is_looked_at_without_one(site: Site) -> None:
    ids = inhabit(site)
    stranger = Browser(site)
    for route, found in ROWS.items():
        reached = stranger.ask("GET", found[0][1].format(**ids)).status_code == 200
        assert reached == ("" in {who for who, _ in found}), route


def test_no_one_sees_a_page_without_a_login_and_comes_back_to_it(site: Site) -> None:
    ids = inhabit(site)
    stranger = Browser(site)
    for path in [path for who, paths in by_person() if who for path in paths]:
        answer = stranger.ask("GET", path.partition("#")[0].format(**ids))
        assert answer.status_code == 303, path
        assert answer.headers["location"].startswith("/login"), path
    stranger.open("/runs?phase=queued")
    answer = stranger.send("/login", {"name": "ann", "password": WORD, "next": "/runs?phase=queued"})
    assert answer.headers["location"] == "/runs?phase=queued"


@pytest.mark.parametrize(
    "path", ["/runs/{run}", "/runs/{run}/now", "/runs/{run}/charts", "/definitions/{definition}"]
)
@pytest.mark.parametrize("who", ["ben", "eve"])
def test_what_is_not_mine_does_not_exist_for_me(site: Site, path: str, who: str) -> None:
    ids = made(site)
    browser = Browser(site).log_in(who)
    answer = browser.ask("GET", path.format(**ids))
    assert answer.status_code == 404
    assert "mnist" not in answer.text
    # An administrator sees it: the control that the address is right.
    assert Browser(site).log_in("root2").ask("GET", path.format(**ids)).status_code == 200


@pytest.mark.parametrize(
    "path",
    ["/admin/users", "/admin/users?state=pending", "/admin/users/ann", "/admin/groups", "/admin/audit"],
)
def test_administrators_pages_are_for_administrators(site: Site, path: str) -> None:
    answer = Browser(site).log_in("ann").ask("GET", path)
    # One's own account is one's own to see; the page about it as an administrator sees it is not.
    assert answer.status_code == 403, path
    assert "root2" not in answer.text


def test_a_group_is_seen_by_its_members_and_administrators_alone(site: Site) -> None:
    assert Browser(site).log_in("ben").ask("GET", "/groups/vision").status_code == 200
    assert Browser(site).log_in("eve").ask("GET", "/groups/vision").status_code == 404
    shown = Browser(site).log_in("ben").ask("GET", "/groups/vision").text
    assert 'action="/groups/vision/quota"' not in shown
    assert 'action="/groups/vision/quota"' in Browser(site).log_in("root2").ask("GET", "/groups/vision").text


CHANGES = {
    "/runs/{run}/stop": {},
    "/definitions/{definition}/start": {"key": "another"},
    "/definitions/{definition}/delete": {},
    "/groups/vision/quota": {"gpu": "99"},
    "/groups/vision/members": {"user": "eve"},
    "/groups/vision/members/ann/remove": {},
    "/groups/vision/delete": {},
    "/admin/groups": {"name": "own"},
    "/admin/users": {"name": "made", "email": "a@b.example", "password": WORD},
    "/admin/users/eve": {"admin": "yes"},
    "/admin/users/ann/password": {"new": "a password of twelve"},
    "/admin/users/eve/groups": {"group": "vision"},
    "/queues": {"name": "own"},
    "/pools": {"name": "own", "selector": "a=b"},
    "/queues/night/delete": {},
    "/pools/cpu/delete": {},
}


@pytest.mark.parametrize("path", CHANGES)
def test_a_stranger_changes_nothing_by_any_form(site: Site, path: str) -> None:
    ids = made(site)
    eve = Browser(site).log_in("eve")
    before = site.state()
    answer = eve.send(path.format(**ids), CHANGES[path])
    assert answer.status_code in (403, 404), answer.text[-500:]
    assert site.state() == before
    assert "/runs/" not in answer.text.split("<main")[1]


def test_who_is_not_approved_is_informed(site: Site) -> None:
    person(site.db, "new", state=UserState.PENDING)
    browser = Browser(site)
    browser.open("/login")
    answer = browser.send("/login", {"name": "new", "password": WORD})
    assert answer.status_code == 403
    assert "An administrator approves it." in answer.text


def test_errors_are_pages_in_words_and_those_of_the_api_stay_documents(site: Site) -> None:
    browser = Browser(site).log_in("ann")
    lost = browser.ask("GET", "/nothing")
    assert (lost.status_code, lost.headers["content-type"]) == (404, "text/html; charset=utf-8")
    assert "There is nothing at this address." in lost.text
    assert browser.ask("DELETE", "/runs").status_code in (403, 405)
    document = browser.ask("GET", "/api/v1/nothing")
    assert document.headers["content-type"] == "application/problem+json"
    assert browser.ask("GET", "/api/v1/runs/none").headers["content-type"] == "application/problem+json"


def test_a_mistake_of_ours_is_a_page_that_tells_nothing_of_it(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    browser = Browser(site).log_in("ann")

    def broken(*_: object, **__: object) -> None:
        raise RuntimeError("secret of the house")

    monkeypatch.setattr(site.db.queues, "list", broken)
    answer = browser.ask("GET", "/queues")
    assert answer.status_code == 500
    assert "secret of the house" not in answer.text
    assert "Internal server error." in answer.text


def test_a_database_that_is_away_is_reported_in_words(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    from ava.domain.problems import ApiError, Problem

    browser = Browser(site).log_in("ann")

    def away(*_: object, **__: object) -> None:
        raise ApiError(
            503, Problem("database-unavailable", "The database does not answer.", "database", "10.0.0.7")
        )

    monkeypatch.setattr(site.db.secrets, "bearer", away)
    answer = browser.ask("GET", "/")
    assert answer.status_code == 503
    assert "10.0.0.7" not in answer.text
    assert "The database does not answer." in answer.text
    assert site.call("GET", "/api/v1/queues").status_code == 401


def test_first_steps_are_reported_where_there_is_nothing(site: Site) -> None:
    eve = Browser(site).log_in("eve")
    assert "You do not belong to a group yet" in eve.open("/").text
    assert "You have no training yet" in eve.open("/trainings").text
    assert "You have no workbench yet" in eve.open("/workbenches").text
    assert "You have not run anything yet" in eve.open("/runs").text
    assert "No ssh key is stored" in eve.open("/keys").text
    assert SPEC["image"] not in eve.open("/runs").text


def test_the_site_changes_nothing_of_the_interfaces_own_document(site: Site) -> None:
    assert whole().openapi() == frame_of_all().openapi()
    assert not [path for path in whole().openapi()["paths"] if not path.startswith("/api/v1/")]


def test_a_workbench_shows_its_disk_and_what_is_in_the_way(site: Site) -> None:
    spec = SPEC | {"kind": "workbench", "disk": 4 * GIB}
    one = site.db.definitions.save("ann", Kind.WORKBENCH, "bench", spec, site.now)
    browser = Browser(site).log_in("ann")
    assert "of 4 GiB" in browser.open(f"/definitions/{one.id}").text
    site.db.groups.set_quota("vision", Quota(8, 64_000, 2**40, disk=None), site.now)
    asks = Spec.model_validate(spec).asks()
    report = {"queue": "default", "priority": 50, "cluster": "default"}
    site.db.runs.create(one.id, "k", site.now, asks=asks, spec=spec, **report)
    site.db.disks.record(one.id, "w<b>1", 2 * GIB, "The node w<b>1 has 1 GiB left.")
    page = browser.open(f"/definitions/{one.id}").text
    assert "2 GiB of 4 GiB" in page
    assert "The node w&lt;b&gt;1 has 1 GiB left." in page
