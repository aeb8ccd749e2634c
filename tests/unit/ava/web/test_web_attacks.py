"""What an attacker of the web site tries: forged forms, stolen and fixed sessions, markup in names and logs, ways out."""

from __future__ import annotations

import re
from typing import Any

import pytest

from ava.domain.model import PodState
from ava.http.cookies import SESSION
from ava.services.auth.login import KNOWN
from ava.web import assets
from ava.web.request import FORM_COOKIE, local
from tests.unit.ava.api.site import SPEC, WORD, Site
from tests.unit.ava.web.browser import Browser

EVIL = "<img src=x onerror=alert(1)>\"'><script>alert(1)</script>"


def forms(site: Site) -> dict[str, dict[str, Any]]:
    """Return forms that would change something, all of them."""
    run = site.run()
    return {
        f"/runs/{run['id']}/stop": {},
        f"/definitions/{run['definition']}/start": {"key": "k2"},
        "/trainings/new": {"name": "x", "image": SPEC["image"], "do": "start"},
        "/workbenches/new": {"name": "x", "image": SPEC["image"], "do": "store"},
        "/data": {"name": "faces"},
        "/keys": {"kind": "ssh", "name": "k", "value": "ssh-ed25519 AAAA"},
        "/tokens": {"days": "1"},
        "/images/delete": {"image": "users/ann/torch:1"},
        "/account/email": {"email": "evil@example.org"},
        "/account/group": {"group": "vision"},
        "/account/password": {"current": WORD, "new": "another password", "again": "another password"},
        "/logout": {},
    }


@pytest.mark.parametrize("how", ["no token", "another's token", "old token", "another site"])
def test_a_form_that_does_not_come_from_here_changes_nothing(site: Site, how: str) -> None:
    ann = Browser(site).log_in("ann")
    token = {
        "no token": "",
        "another's token": Browser(site).log_in("ben").csrf(),
        "old token": Browser(site).log_in("ann").csrf(),
        "another site": ann.csrf(),
    }[how]
    headers = {"sec-fetch-site": "cross-site"} if how == "another site" else {}
    targets = forms(site)
    before = site.state()
    for path, data in targets.items():
        answer = ann.ask("POST", path, data={**data, "csrf": token}, headers=headers)
        assert answer.status_code == 403, path
        assert "does not come from AVA" in answer.text
    assert site.state() == before
    # The control: with the token of this login it is done.
    assert ann.send("/account/email", {"email": "new@example.org"}).status_code == 303


def test_every_form_that_changes_something_has_a_token(site: Site) -> None:
    run = site.run()
    pages = (
        "/",
        "/runs",
        f"/runs/{run['id']}",
        f"/definitions/{run['definition']}",
        "/trainings",
        "/trainings/new",
    )
    more = (
        "/workbenches/new",
        "/data",
        "/keys",
        "/tokens",
        "/images",
        "/account",
        "/groups/vision",
        "/queues",
        "/pools",
    )
    admins = ("/admin/users", "/admin/users?state=pending", "/admin/users/ann", "/admin/groups")
    seen = 0
    for who, paths in (("ann", pages + more), ("root2", admins + more[-3:])):
        browser = Browser(site).log_in(who)
        for path in paths:
            for form in re.findall(r"<form method=\"post\".*?</form>", browser.open(path).text, re.DOTALL):
                assert 'name="csrf"' in form, (path, form[:200])
                seen += 1
    assert seen > 40


def test_no_one_is_logged_in_from_elsewhere(site: Site) -> None:
    victim = Browser(site)
    answer = victim.ask("POST", "/login", data={"name": "eve", "password": WORD})
    assert answer.status_code == 403
    assert SESSION not in victim.cookies
    # Nor with a token that the attacker got for a browser of their own.
    attacker = Browser(site)
    attacker.open("/login")
    answer = victim.ask("POST", "/login", data={"name": "eve", "password": WORD, "csrf": attacker.csrf()})
    assert (answer.status_code, SESSION in victim.cookies) == (403, False)


def test_a_session_is_new_at_each_login_and_gone_with_the_log_out(site: Site) -> None:
    attacker = Browser(site).log_in("eve")
    fixed = attacker.cookies[SESSION]
    victim = Browser(site)
    victim.cookies[SESSION] = fixed
    victim.open("/account")
    victim.send("/logout")
    victim.log_in("ann")
    assert victim.cookies[SESSION] != fixed
    assert attacker.ask("GET", "/runs").status_code == 303
    kept = victim.cookies[SESSION]
    answer = victim.send("/logout")
    assert (answer.status_code, SESSION in victim.cookies) == (303, False)
    thief = Browser(site)
    thief.cookies[SESSION] = kept
    assert thief.ask("GET", "/runs").headers["location"].startswith("/login")


def test_cookies_are_for_this_host_over_tls_and_for_no_script(site: Site) -> None:
    browser = Browser(site)
    page = browser.ask("GET", "/login")
    cookies = page.headers.get_list("set-cookie")
    browser.shown = page
    cookies += browser.send("/login", {"name": "ann", "password": WORD}).headers.get_list("set-cookie")
    set_now = [c for c in cookies if "max-age=0" not in c.lower()]
    assert {c.partition("=")[0] for c in set_now} == {FORM_COOKIE, SESSION, KNOWN}
    for cookie in set_now:
        parts = {part.strip().lower() for part in cookie.split(";")}
        # The form of a login alone has any use for the cookie that knows a browser.
        site_alone = "samesite=strict" if cookie.startswith(KNOWN) else "samesite=lax"
        assert {"secure", "httponly", site_alone, "path=/"} <= parts, cookie


def test_no_page_has_a_script_or_style_in_it_and_says_so_to_the_browser(site: Site) -> None:
    run = site.run()
    browser = Browser(site).log_in("ann")
    for path in ("/", "/trainings/new", f"/runs/{run['id']}", "/nothing", "/keys"):
        answer = browser.ask("GET", path)
        policy = dict(
            part.strip().partition(" ")[::2] for part in answer.headers["content-security-policy"].split(";")
        )
        assert policy["default-src"] == "'none'"
        assert policy["script-src"] == policy["style-src"] == policy["form-action"] == "'self'"
        assert policy["base-uri"] == policy["frame-ancestors"] == "'none'"
        assert answer.headers["x-frame-options"] == "DENY"
        assert answer.headers["cache-control"] == "no-store"
        assert not re.search(r"<script(?![^>]* src=)|<style|\son\w+=|\sstyle=|javascript:", answer.text), path
        assert not re.search(r"(src|href)=\"(https?:)?//", answer.text), path


def test_markup_in_what_users_write_is_text(site: Site) -> None:
    browser = Browser(site).log_in("ann")
    for path, field in (
        ("/tokens", "label"),
        ("/keys", "name"),
        ("/trainings/new", "command"),
        ("/data", "name"),
    ):
        browser.open(path)
        answer = browser.send(
            path, {field: EVIL[:90], "days": "2", "image": "registry/a:1", "name": EVIL[:90]}
        )
        assert "<img src=x" not in answer.text, path
        assert "<script>alert" not in answer.text, path
    for path in (
        "/runs?group=",
        "/login?next=",
        "/runs?phase=",
        "/usage?month=",
        "/trainings/new?image=",
        "/?done=",
    ):
        answer = browser.open(path + EVIL.replace(" ", "%20").replace("<", "%3C"))
        assert "<img src=x" not in answer.text, path


def test_markup_in_what_pods_say_is_text(site: Site) -> None:
    run = site.run(command=["sh", "-c", EVIL])["id"]
    assert not site.db.runs.admit(run, site.now)
    site.db.heartbeats.record("operator", site.now, {})
    pod = PodState(
        run, f"{run}-0-worker-0", "worker", 0, 0, "Pending", node=EVIL, reason=EVIL[:60], message=EVIL
    )
    site.db.pods.record(run, [pod], site.now)
    browser = Browser(site).log_in("ann")
    for path in (f"/runs/{run}", f"/runs/{run}/now", "/runs", "/"):
        text = browser.ask("GET", path).text
        assert "<img src=x" not in text, path
        assert "<script>alert" not in text, path
    assert "&lt;img src=x" in browser.ask("GET", f"/runs/{run}").text


@pytest.mark.parametrize(
    "path",
    [
        "https://evil.example/",
        "//evil.example",
        "/\\evil.example",
        "\\/evil.example",
        "/%0d%0aset-cookie:x=y\r\n",
        "javascript:alert(1)",
        "/a\tb",
        "/api/v1/sessions",
        "/api/v1/workbenches/w1/open?state=x",
        "/api/v1/workbenches/../open?state=" + "a" * 64,
        "http:evil.example",
        "",
        "evil",
        "/" + "a" * 3000,
    ],
)
def test_no_one_is_sent_away_from_here(site: Site, path: str) -> None:
    assert local(path) == "/"
    browser = Browser(site)
    browser.open("/login")
    answer = browser.send("/login", {"name": "ann", "password": WORD, "next": path})
    assert (answer.status_code, answer.headers["location"]) == (303, "/")
    browser.open("/")
    assert browser.send("/language", {"language": "en", "next": path}).headers["location"] == "/"
    assert browser.ask("GET", "/login", params={"next": path}).headers["location"] == "/"


def test_a_login_leads_back_into_a_workbench_alone() -> None:
    way = "/api/v1/workbenches/d1abc/open?state=" + "0a" * 32
    assert local(way) == way
    assert local(way + "&more=1") == "/"
    assert local("/runs?phase=queued") == "/runs?phase=queued"


@pytest.mark.parametrize(
    ("body", "kind", "status"),
    [
        (b'{"csrf": "x"}', "application/json", 415),
        (b"a=%ff%fe", "application/x-www-form-urlencoded", 400),
        (b"a=%00", "application/x-www-form-urlencoded", 422),
        (b"&".join(b"a=1" for _ in range(400)), "application/x-www-form-urlencoded", 400),
        ("a=é".encode(), "application/x-www-form-urlencoded", 400),
        (b"a=" + b"x" * 2**21, "application/x-www-form-urlencoded", 413),
        (b"x", "multipart/form-data; boundary=x", 415),
        (b"", "application/x-www-form-urlencoded", 403),
    ],
)
def test_a_form_that_cannot_be_read_is_refused_in_words(
    site: Site, body: bytes, kind: str, status: int
) -> None:
    browser = Browser(site).log_in("ann")
    before = site.state()
    answer = browser.ask("POST", "/tokens", content=body, headers={"content-type": kind})
    assert answer.status_code == status
    assert site.state() == before


@pytest.mark.parametrize("name", ["../site.py", "..%2Fsite.py", "none.js", "ava.css%00", "%2e%2e/words.py"])
def test_only_files_of_pages_are_served(site: Site, name: str) -> None:
    assert Browser(site).ask("GET", f"/static/aaaaaaaaaaaa/{name}").status_code == 404


def test_files_of_pages_are_served_by_their_digest_and_kept_by_browsers(site: Site) -> None:
    browser = Browser(site)
    address = re.search(r'href="(/static/[0-9a-f]{12}/ava\.css)"', browser.open("/login").text)
    assert address
    answer = browser.ask("GET", address[1])
    assert answer.status_code == 200
    assert answer.headers["content-type"] == "text/css; charset=utf-8"
    assert "immutable" in answer.headers["cache-control"]
    assert browser.ask("GET", address[1].replace("/static/", "/static/0")).status_code == 404


def test_anyone_downloads_the_command_line_and_nothing_else(
    site: Site, tmp_path: Any, monkeypatch: Any
) -> None:
    wheel = tmp_path / "ava_client-0.1.0-py3-none-any.whl"
    browser = Browser(site)
    monkeypatch.setattr(assets, "CLIENT", tmp_path)
    assert "not available here" in browser.open("/client").text
    wheel.write_bytes(b"PK")
    (tmp_path / "other").write_bytes(b"secret")
    page = browser.open("/client").text
    assert f"pip install ./{wheel.name}" in page
    assert f'href="/client/{wheel.name}"' in page
    answer = browser.ask("GET", f"/client/{wheel.name}")
    assert (answer.status_code, answer.content) == (200, b"PK")
    for name in ("other", "..%2Fother", "ava_client-9.whl"):
        assert browser.ask("GET", f"/client/{name}").status_code == 404


def test_a_token_of_a_program_opens_no_page_and_a_page_asks_for_no_program(site: Site) -> None:
    # A page that a token opened could be sent forms to without a browser's protection.
    answer = Browser(site).ask("GET", "/runs", headers={"authorization": f"Bearer {site.token('ann')}"})
    assert answer.status_code == 303


def test_guessed_passwords_run_into_the_limit_and_the_page_says_when_to_come_again(tmp_path: Any) -> None:
    from ava.services.config import Limits
    from tests.unit.ava.web.browser import web_site

    site = web_site(tmp_path, limits=Limits(login_address="3/day"))
    browser = Browser(site)
    browser.open("/login")
    answers = [browser.send("/login", {"name": "ann", "password": "wrong"}) for _ in range(4)]
    assert [a.status_code for a in answers] == [401, 401, 401, 429]
    assert "Too many logins" in answers[-1].text
    assert "wrong" not in answers[0].text
    site.close()


def test_a_deploy_key_that_was_refused_is_not_sent_back(site: Site) -> None:
    browser = Browser(site).log_in("ann")
    browser.open("/keys")
    secret = "-----BEGIN OPENSSH PRIVATE KEY-----\nhush\n-----END OPENSSH PRIVATE KEY-----"
    answer = browser.send("/keys", {"kind": "deploy", "name": "git", "value": secret})
    assert answer.status_code == 422
    assert "hush" not in answer.text
