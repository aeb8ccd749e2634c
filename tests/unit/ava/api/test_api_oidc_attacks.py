"""Login at an OpenID Connect provider: what attackers send."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import httpx
import pytest
from joserfc import jwt
from joserfc.jwk import ECKey, OctKey

from ava.services.auth import oidc_login
from tests.unit.ava.api.oidc_provider import CLIENT, SECRET, FakeProvider, by_hmac, unsigned
from tests.unit.ava.api.oidc_site import begin, come, end, provided, refuses
from tests.unit.ava.api.site import Site, codes

EVIL = ECKey.generate_key("P-256", {"kid": "1"})


@pytest.fixture
def fake(site: Site, tmp_path: Path) -> Iterator[FakeProvider]:
    """The provider, until the test is over: the application is other tests' too."""
    yield provided(site, tmp_path)
    site.services.provider = None


Bad = Callable[[FakeProvider, str], str]
BAD: dict[str, Bad] = {
    "no algorithm": lambda f, n: unsigned(f.body(n)),
    "another key": lambda f, n: jwt.encode({"alg": "ES256", "kid": "1"}, f.body(n), EVIL),
    "the client's secret": lambda f, n: jwt.encode(
        {"alg": "HS256"}, f.body(n), OctKey.import_key(SECRET), algorithms=["HS256"]
    ),
    "the public key as a secret": lambda f, n: by_hmac(f.body(n), f.key.as_pem(private=False)),
    "a key in the token": lambda f, n: jwt.encode(
        {"alg": "ES256", "jwk": EVIL.as_dict(private=False)}, f.body(n), EVIL
    ),
    "text": lambda f, n: "no token",
    "nothing": lambda f, n: "",
    "ä": lambda f, n: "ä.ä.ä",
}


@pytest.mark.parametrize("bad", list(BAD))
def test_a_token_that_the_provider_did_not_sign_proves_nothing(
    site: Site, fake: FakeProvider, bad: str
) -> None:
    url, cookie = begin(site)
    query = fake.browser(url)
    nonce = httpx.URL(url).params["nonce"]
    fake.token = BAD[bad](fake, nonce)
    answer = end(site, query, cookie)
    assert answer.status_code == 401
    refuses(site, answer)


@pytest.mark.parametrize(
    "claims",
    [
        {"nonce": "another"},
        {"nonce": None},
        {"aud": "another"},
        {"aud": ["another"]},
        {"aud": None},
        {"aud": [CLIENT, "another"], "azp": "another"},
        {"aud": [CLIENT, "another"]},
        {"iss": "https://evil.example.org"},
        {"iss": None},
        {"exp": 1_700_000_000},
        {"exp": None},
        {"iat": 4_000_000_000},
        {"sub": None},
        {"sub": ""},
        {"sub": 4711},
        {"sub": "x" * 256},
    ],
    ids=str,
)
def test_a_token_for_another_login_client_or_time_proves_nothing(
    site: Site, fake: FakeProvider, claims: dict[str, Any]
) -> None:
    fake.claims = claims
    answer = come(site, fake)
    assert answer.status_code == 401
    refuses(site, answer)


def test_an_answer_is_good_once_and_in_the_browser_that_began(site: Site, fake: FakeProvider) -> None:
    url, cookie = begin(site)
    query = fake.browser(url)
    refuses(site, end(site, query, None))
    _, others = begin(site)
    refuses(site, end(site, query, others))
    refuses(site, end(site, query | {"state": "guessed"}, cookie))
    refuses(site, end(site, query, cookie[:-4] + "AAAA"))
    assert codes(end(site, query, cookie)) == ["account-pending"]
    # The same answer with a code that would be good: the state was used.
    again = fake.browser(url)
    answer = end(site, again, cookie)
    assert (answer.status_code, codes(answer)) == (400, ["login-refused"])
    assert "used before" in answer.json()["problems"][0]["found"]


def test_an_answer_that_comes_too_late_is_refused(site: Site, fake: FakeProvider) -> None:
    url, cookie = begin(site)
    site.now += timedelta(minutes=11)
    refuses(site, end(site, fake.browser(url), cookie))


def test_a_code_of_another_login_is_refused_by_its_verifier(site: Site, fake: FakeProvider) -> None:
    """Code injection: the attacker's code in the victim's login (RFC 7636)."""
    theirs, _ = begin(site)
    url, cookie = begin(site)
    injected = fake.browser(url) | {"code": fake.browser(theirs)["code"]}
    answer = end(site, injected, cookie)
    assert "invalid_grant" in answer.json()["problems"][0]["found"]
    refuses(site, answer)


def test_new_keys_are_asked_for_and_not_for_each_bad_token(
    site: Site, fake: FakeProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    come(site, fake)
    fake.key = ECKey.generate_key("P-256", {"kid": "2"})
    fake.published.append(fake.key)
    for _ in range(5):
        assert come(site, fake).status_code == 401
    assert fake.asked.count("/keys") == 1
    monkeypatch.setattr("ava.services.auth.oidc.AGAIN", 0.0)
    assert codes(come(site, fake)) == ["account-pending"]


@pytest.mark.parametrize(
    "path",
    [
        "https://evil.org/",
        "//evil.org/",
        "/\\evil.org",
        "javascript:x",
        "/api/v1/users",
        "",
        "/a\nb",
        "/%0d%0a\x00",
    ],
)
def test_no_one_is_sent_away_from_here(path: str) -> None:
    assert oidc_login.local(path) == ("/%0d%0a" if path == "/%0d%0a" else "/")
