"""Login at an OpenID Connect provider: who gets in, who waits, and what when it is away."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import oidc_provider_mock
import pytest

from ava.domain.model import UserState
from ava.services.auth import oidc_login
from ava.services.auth.oidc import OidcUnavailable, Provider
from ava.services.config import Config, Enough, Oidc
from ava.services.factory import provider
from ava.settings import ConfigError
from tests.unit.ava.api.oidc_provider import ISSUER, FakeProvider
from tests.unit.ava.api.oidc_site import begin, come, end, provided, refuses
from tests.unit.ava.api.site import Site, codes

STAFF = Enough(claim="groups", values=("gpu-users", "staff"))


@pytest.fixture
def fake(site: Site, tmp_path: Path) -> Iterator[FakeProvider]:
    """The provider, until the test is over: the application is other tests' too."""
    yield provided(site, tmp_path)
    site.services.provider = None


def test_a_newcomer_waits_for_approval_and_then_comes_in(site: Site, fake: FakeProvider) -> None:
    answer = come(site, fake)
    assert codes(answer) == ["account-pending"]
    mia = site.db.users.get("mia")
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
    assert site.db.users.get("mia").state is state


def test_who_it_is_is_reported_by_the_subject_and_not_by_the_name(site: Site, fake: FakeProvider) -> None:
    come(site, fake)
    site.call("PATCH", "/users/mia", "root2", json={"state": "active"})
    fake.claims = {"preferred_username": "someone-else", "email": "else@example.org"}
    assert come(site, fake).status_code == 303
    assert [u.name for u in site.db.users.list(limit=50).items if u.name == "someone-else"] == []


@pytest.mark.parametrize("name", ["ann", "ANN", "root2"])
def test_an_account_that_is_there_is_not_taken_over(site: Site, fake: FakeProvider, name: str) -> None:
    fake.claims = {"preferred_username": name}
    refuses(site, come(site, fake), "name-taken")
    fake.claims = {"email": "ann@example.org"}
    refuses(site, come(site, fake), "email-taken")


def test_what_a_provider_adds_to_its_answer_is_ignored(site: Site, fake: FakeProvider) -> None:
    url, cookie = begin(site)
    more = {
        "authuser": "0",
        "hd": "example.org",
        "prompt": "none",
        "scope": "openid email",
        "iss": "x",
        "a" * 300: "\ufffd\x00",
    }
    # It came as far as the account, which waits for approval.
    assert codes(end(site, fake.browser(url) | more, cookie)) == ["account-pending"]


def test_elsewhere_unknown_fields_are_refused_still(site: Site, fake: FakeProvider) -> None:
    assert codes(site.call("GET", "/oidc/login", params={"authuser": "0"})) == ["field-unknown"]
    url, cookie = begin(site)
    twice = [*fake.browser(url).items(), ("state", "x")]
    answer = site.call("GET", "/oidc/callback", params=twice, headers={"cookie": cookie})
    assert codes(answer) == ["field-twice"]


@pytest.mark.parametrize(
    ("login", "name"),
    [
        ("ann.smith", "ann-smith"),
        ("Ann_Smith", "ann-smith"),
        ("ann.smith@corp.example", "ann-smith"),
        ("j.-p._sartre.", "j-p-sartre"),
    ],
)
def test_a_name_with_dots_and_underscores_has_an_account(
    site: Site, fake: FakeProvider, login: str, name: str
) -> None:
    fake.claims = {"preferred_username": login}
    come(site, fake)
    assert site.db.users.get(name).state is UserState.PENDING
    # Another person who comes to the same name is informed, and gets no one's account.
    fake.claims = {"sub": "4712", "preferred_username": name, "email": "b@example.org"}
    assert codes(come(site, fake)) == ["name-taken"]


@pytest.mark.parametrize("name", ["../../etc", "root", "a b", "x" * 40, "", 7, None])
def test_a_name_that_none_may_have_makes_no_account(site: Site, fake: FakeProvider, name: Any) -> None:
    fake.claims = {"preferred_username": name}
    answer = come(site, fake)
    assert answer.status_code == 403
    assert codes(answer)[0] in ("name-invalid", "name-reserved")
    assert site.db.identities.find(ISSUER, "4711") is None


def test_no_one_registers_by_it_where_registration_is_closed(site: Site, fake: FakeProvider) -> None:
    site.services.config = site.services.config.model_copy(update={"registration": False})
    refuses(site, come(site, fake), "registration-closed")


def test_who_was_shut_out_stays_out(site: Site, fake: FakeProvider) -> None:
    come(site, fake)
    for state in ("active", "disabled"):
        site.call("PATCH", "/users/mia", "root2", json={"state": state})
    assert codes(come(site, fake)) == ["account-disabled"]


def test_a_refusal_of_the_providers_is_reported_and_no_code_is_asked_for(
    site: Site, fake: FakeProvider
) -> None:
    url, cookie = begin(site)
    state = fake.browser(url)["state"]
    answer = end(site, {"error": "access_denied", "state": state, "error_description": "<b>no"}, cookie)
    refuses(site, answer)
    assert "/token" not in fake.asked


def test_a_provider_that_is_away_or_lies_about_itself_lets_no_one_in(site: Site, fake: FakeProvider) -> None:
    url, cookie = begin(site)
    query = fake.browser(url)
    fake.down = True
    assert codes(end(site, query, cookie)) == ["login-provider-unavailable"]
    site.services.provider = replaced(site, fake)
    assert codes(site.call("GET", "/oidc/login")) == ["login-provider-unavailable"]
    fake.down = False
    for lie in (
        {"issuer": "https://evil.example.org"},
        {"authorization_endpoint": "http://id.example.org/a"},
    ):
        fake.document = lie
        site.services.provider = replaced(site, fake)
        assert codes(site.call("GET", "/oidc/login")) == ["login-provider-unavailable"]
    assert (
        site.call("POST", "/sessions", json={"name": "ann", "password": "correct horse battery"}).status_code
        == 201
    )


def replaced(site: Site, fake: FakeProvider) -> Provider:
    assert site.services.provider is not None
    return Provider(
        site.services.provider.settings, f"https://ava.test{oidc_login.CALLBACK}", fake.transport()
    )


def test_two_answers_for_one_newcomer_make_one_account(site: Site, fake: FakeProvider) -> None:
    both = [begin(site) for _ in range(2)]
    found: list[Any] = []

    def one(url: str, cookie: str) -> None:
        query = fake.browser(url)
        try:
            found.append(
                oidc_login.finish(
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
    assert site.db.identities.find(ISSUER, "4711") is not None


def test_without_a_provider_the_way_does_not_exist(site: Site) -> None:
    assert codes(site.call("GET", "/oidc/login")) == ["login-method-disabled"]
    assert site.call("GET", "/login").json() == {"password": True, "oidc": False, "registration": True}


def test_a_secret_that_is_not_there_is_reported_at_the_start(tmp_path: Path) -> None:
    settings = Oidc(issuer=ISSUER, client_id="a", secret_file=tmp_path / "none", address="https://ava.test")
    config = Config(sealing_key=Path("/x"), oidc=settings)
    with pytest.raises(ConfigError, match="secret_file"):
        provider(config)
    assert provider(config.model_copy(update={"oidc": None})) is None


def test_a_login_at_a_provider_over_http(site: Site, tmp_path: Path) -> None:
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
        site.services.provider = Provider(settings, f"https://ava.test{oidc_login.CALLBACK}")
        url, cookie = begin(site)
        back = httpx.post(url, data={"sub": "s-1"})
        assert back.status_code == 302, back.text
        query = dict(httpx.URL(back.headers["location"]).params)
        answer = end(site, query, cookie)
        assert answer.status_code == 303, answer.text
    assert site.db.users.get("noor").state is UserState.ACTIVE
    with pytest.raises(OidcUnavailable):
        replace_closed(settings).begin()


def replace_closed(settings: Oidc) -> Provider:
    """Return the same provider, asked for the first time after it has ended."""
    return Provider(settings, f"https://ava.test{oidc_login.CALLBACK}")


@pytest.mark.parametrize(
    ("verified", "confirmed"), [(True, True), (False, False), (None, False), ("no", False)]
)
def test_an_address_is_confirmed_where_the_provider_has_verified_it(
    site: Site, fake: FakeProvider, verified: Any, confirmed: bool
) -> None:
    fake.claims = {"email_verified": verified}
    come(site, fake)
    assert (site.db.users.get("mia").email_confirmed is not None) is confirmed
    fake.claims = {"email_verified": True, "email": "another@example.org"}
    come(site, fake)
    assert (site.db.users.get("mia").email_confirmed is not None) is confirmed, "of another address"
    fake.claims = {"email_verified": True}
    come(site, fake)
    assert site.db.users.get("mia").email_confirmed is not None, "verified later"
