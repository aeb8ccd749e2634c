"""A site that is set to a provider of the test's, and browsers that log in there."""

from __future__ import annotations

import time
from pathlib import Path

import httpx

from ava.services.auth import oidc_login
from ava.services.auth.oidc import Provider
from ava.services.config import Oidc
from tests.unit.ava.api.oidc_provider import CLIENT, ISSUER, SECRET, FakeProvider
from tests.unit.ava.api.site import Site, codes


def provided(site: Site, folder: Path) -> FakeProvider:
    """Return a provider that the site is set to."""
    made = FakeProvider(int(time.time()))
    (folder / "secret").write_text(SECRET + "\n")
    settings = Oidc(
        issuer=ISSUER, client_id=CLIENT, secret_file=folder / "secret", address="https://ava.test"
    )
    site.services.provider = Provider(settings, f"{settings.address}{oidc_login.CALLBACK}", made.transport())
    return made


def begin(site: Site, following: str | None = None) -> tuple[str, str]:
    """Return where the browser is sent, and its cookie."""
    answer = site.call("GET", "/oidc/login", params={"next": following} if following else {})
    assert answer.status_code == 303, answer.text
    return answer.headers["location"], answer.headers["set-cookie"].partition(";")[0]


def end(site: Site, query: dict[str, str], cookie: str | None) -> httpx.Response:
    return site.call("GET", "/oidc/callback", params=query, headers={"cookie": cookie} if cookie else {})


def come(site: Site, fake: FakeProvider, following: str | None = None) -> httpx.Response:
    """Log in once, whole."""
    url, cookie = begin(site, following)
    return end(site, fake.browser(url), cookie)


def refuses(site: Site, answer: httpx.Response, code: str = "login-refused") -> None:
    """It is refused, no session is given, and no one was made."""
    assert codes(answer) == [code]
    assert "__Host-ava=" not in answer.headers.get("set-cookie", "")
    assert site.db.identities.find(ISSUER, "4711") is None
