"""Log-in at an OpenID Connect provider: who gets in, who waits, and what attackers send."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import httpx
import oidc_provider_mock
import pytest
from joserfc import jwt
from joserfc.jwk import ECKey, OctKey

from ava.api import entry
from ava.api.config import Config, ConfigError, Enough, Oidc
from ava.api.oidc import OidcDown, Provider
from ava.api.setup import provider
from ava.domain.model import UserState
from tests.unit.ava.api.oidc_provider import CLIENT, ISSUER, SECRET, FakeProvider, by_hmac, unsigned
from tests.unit.ava.api.site import Site, codes

STAFF = Enough(claim="groups", values=("gpu-users", "staff"))
EVIL = ECKey.generate_key("P-256", {"kid": "1"})


@pytest.fixture
def fake(site: Site, tmp_path: Path) -> FakeProvider:
    """A provider that the site is set to."""
    made = FakeProvider(int(time.time()))
    (tmp_path / "secret").write_text(SECRET + "\n")
    settings = Oidc(
        issuer=ISSUER, client_id=CLIENT, secret_file=tmp_path / "secret", address="https://ava.test"
    )
    site.services.provider = Provider(settings, f"{settings.address}{entry.CALLBACK}", made.transport())
    return made


@pytest.fixture(autouse=True)
def alone(site: Site) -> Iterator[None]:
    yield
    site.services.provider = None


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
    """It is refused, no session is given, and nobody was made."""
    assert codes(answer) == [code]
    assert "__Host-ava=" not in answer.headers.get("set-cookie", "")
    assert site.store.identified(ISSUER, "4711") is None


def test_a_newcomer_waits_for_approval_and_then_comes_in(site: Site, fake: FakeProvider) -> None:
    answer = come(site, fake)
    assert codes(answer) == ["account-pending"]
    mia = site.store.user("mia")
    assert (mia.state, mia.email, mia.admin) == (UserState.PENDING, "mia@example.org", False)
    site.call("PATCH", "/users/mia", "root2", json={"state": "active"})
    answer = come(site, fake, "/runs?x=1")
    assert (answer.status_code, answer.headers["location"]) == (303, "/runs?x=1")
    kept = [c.partition(";")[0] for c in answer.headers.get_list("set-cookie")]
    headers = {"cookie": next(c for c in kept if c.startswith("__Host-ava="))}
    assert site.call("GET", "/sessions/current", headers=headers).json()["user"]["name"] == "mia"
    assert '__Host-ava-oidc=""' in kept


@pytest.mark.parametrize(
    ("groups", "state"),
    [
        (["staff", "x"], UserState.ACTIVE),
        ("gpu-users", UserState.ACTIVE),
        (["guests"], UserState.PENDING),
        (None, UserState.PENDING),
        ({"staff": 1}, UserState.PENDING),
        ([["staff"]], UserState.PENDING),
    ],
)
def test_a_claim_lets_in_where_the_site_says_so(
    site: Site, fake: FakeProvider, groups: Any, state: UserState
) -> None:
    assert site.services.provider is not None
    site.services.provider.settings = site.services.provider.settings.model_copy(update={"enough": STAFF})
    fake.claims = {"groups": groups}
    come(site, fake)
    assert site.store.user("mia").state is state


def test_who_it_is_is_told_by_the_subject_and_not_by_the_name(site: Site, fake: FakeProvider) -> None:
    come(site, fake)
    site.call("PATCH", "/users/mia", "root2", json={"state": "active"})
    fake.claims = {"preferred_username": "someone-else", "email": "else@example.org"}
    assert come(site, fake).status_code == 303
    assert [u.name for u in site.store.users(limit=50).items if u.name == "someone-else"] == []


@pytest.mark.parametrize("name", ["ann", "ANN", "root2"])
def test_an_account_that_is_there_is_not_taken_over(site: Site, fake: FakeProvider, name: str) -> None:
    fake.claims = {"preferred_username": name}
    refuses(site, come(site, fake), "name-taken")
    fake.claims = {"email": "ann@example.org"}
    refuses(site, come(site, fake), "email-taken")


@pytest.mark.parametrize("name", ["../../etc", "root", "a b", "x" * 40, "", 7, None])
def test_a_name_that_none_may_have_makes_no_account(site: Site, fake: FakeProvider, name: Any) -> None:
    fake.claims = {"preferred_username": name}
    answer = come(site, fake)
    assert answer.status_code == 403
    assert codes(answer)[0] in ("name-invalid", "name-reserved")
    assert site.store.identified(ISSUER, "4711") is None


def test_nobody_registers_by_it_where_registration_is_closed(site: Site, fake: FakeProvider) -> None:
    site.services.config = site.services.config.model_copy(update={"registration": False})
    refuses(site, come(site, fake), "registration-closed")


def test_who_was_shut_out_stays_out(site: Site, fake: FakeProvider) -> None:
    come(site, fake)
    for state in ("active", "disabled"):
        site.call("PATCH", "/users/mia", "root2", json={"state": state})
    assert codes(come(site, fake)) == ["account-disabled"]


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
def test_a_token_for_another_log_in_client_or_time_proves_nothing(
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


def test_a_code_of_another_log_in_is_refused_by_its_verifier(site: Site, fake: FakeProvider) -> None:
    """Code injection: the attacker's code in the victim's log-in (RFC 7636)."""
    theirs, _ = begin(site)
    url, cookie = begin(site)
    injected = fake.browser(url) | {"code": fake.browser(theirs)["code"]}
    answer = end(site, injected, cookie)
    assert "invalid_grant" in answer.json()["problems"][0]["found"]
    refuses(site, answer)


def test_a_refusal_of_the_providers_is_told_and_no_code_is_asked_for(site: Site, fake: FakeProvider) -> None:
    url, cookie = begin(site)
    state = fake.browser(url)["state"]
    answer = end(site, {"error": "access_denied", "state": state, "error_description": "<b>no"}, cookie)
    refuses(site, answer)
    assert "/token" not in fake.asked


def test_a_provider_that_is_away_or_lies_about_itself_lets_nobody_in(site: Site, fake: FakeProvider) -> None:
    url, cookie = begin(site)
    query = fake.browser(url)
    fake.down = True
    assert codes(end(site, query, cookie)) == ["login-service-away"]
    site.services.provider = replaced(site, fake)
    assert codes(site.call("GET", "/oidc/login")) == ["login-service-away"]
    fake.down = False
    for lie in (
        {"issuer": "https://evil.example.org"},
        {"authorization_endpoint": "http://id.example.org/a"},
    ):
        fake.document = lie
        site.services.provider = replaced(site, fake)
        assert codes(site.call("GET", "/oidc/login")) == ["login-service-away"]
    assert (
        site.call("POST", "/sessions", json={"name": "ann", "password": "correct horse battery"}).status_code
        == 201
    )


def replaced(site: Site, fake: FakeProvider) -> Provider:
    assert site.services.provider is not None
    return Provider(site.services.provider.settings, f"https://ava.test{entry.CALLBACK}", fake.transport())


def test_new_keys_are_asked_for_and_not_for_each_bad_token(
    site: Site, fake: FakeProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    come(site, fake)
    fake.key = ECKey.generate_key("P-256", {"kid": "2"})
    fake.published.append(fake.key)
    for _ in range(5):
        assert come(site, fake).status_code == 401
    assert fake.asked.count("/keys") == 1
    monkeypatch.setattr("ava.api.oidc.AGAIN", 0.0)
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
def test_nobody_is_sent_away_from_here(path: str) -> None:
    assert entry.local(path) == ("/%0d%0a" if path == "/%0d%0a" else "/")


def test_two_answers_for_one_newcomer_make_one_account(site: Site, fake: FakeProvider) -> None:
    both = [begin(site) for _ in range(2)]
    found: list[Any] = []

    def one(url: str, cookie: str) -> None:
        query = fake.browser(url)
        try:
            found.append(
                entry.finish(
                    site.services, "192.0.2.7", cookie.partition("=")[2], query["code"], query["state"], None
                )
            )
        except Exception as error:
            found.append(error)

    threads = [threading.Thread(target=one, args=each) for each in both]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [e.problems[0].code for e in found] == ["account-pending"] * 2
    assert site.store.identified(ISSUER, "4711") is not None


def test_without_a_provider_the_way_does_not_exist(site: Site) -> None:
    assert codes(site.call("GET", "/oidc/login")) == ["no-such-way"]
    assert site.call("GET", "/login").json() == {"password": True, "oidc": False, "registration": True}


def test_a_secret_that_is_not_there_is_told_at_the_start(tmp_path: Path) -> None:
    settings = Oidc(issuer=ISSUER, client_id="a", secret_file=tmp_path / "none", address="https://ava.test")
    config = Config(sealing_key=Path("/x"), oidc=settings)
    with pytest.raises(ConfigError, match="secret_file"):
        provider(config)
    assert provider(config.model_copy(update={"oidc": None})) is None


def test_a_log_in_at_a_provider_over_http(site: Site, tmp_path: Path) -> None:
    """The package oidc-provider-mock, which Authlib's server side makes a whole provider."""
    (tmp_path / "secret").write_text("any")
    who = oidc_provider_mock.User(
        sub="s-1", claims={"preferred_username": "noor", "email": "noor@example.org", "groups": ["staff"]}
    )
    with oidc_provider_mock.run_server_in_thread(require_nonce=True, user_claims=(who,)) as server:
        settings = Oidc(
            issuer=f"http://localhost:{server.server_port}",
            client_id="ava",
            secret_file=tmp_path / "secret",
            address="https://ava.test",
            enough=STAFF,
        )
        site.services.provider = Provider(settings, f"https://ava.test{entry.CALLBACK}")
        url, cookie = begin(site)
        back = httpx.post(url, data={"sub": "s-1"})
        assert back.status_code == 302, back.text
        query = dict(httpx.URL(back.headers["location"]).params)
        answer = end(site, query, cookie)
        assert answer.status_code == 303, answer.text
    assert site.store.user("noor").state is UserState.ACTIVE
    with pytest.raises(OidcDown):
        replace_closed(settings).begin()


def replace_closed(settings: Oidc) -> Provider:
    """Return the same provider, asked for the first time after it has ended."""
    return Provider(settings, f"https://ava.test{entry.CALLBACK}")
