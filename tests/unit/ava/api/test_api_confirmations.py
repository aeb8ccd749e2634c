"""Confirmed e-mail addresses: nothing but a bounded number of confirmations goes to an address that anybody may have typed."""

from __future__ import annotations

from datetime import timedelta
from urllib.parse import parse_qs, urlsplit

import pytest

from ava.domain.model import CONFIRM_EMAIL, Message, Topic, UserState
from ava.services.auth import email_confirmation
from ava.services.config import Limits
from ava.services.context import rates
from tests.unit.ava.api.site import OPEN, WORD, Site, codes

MAIL = {"email_confirmation": {"address": "https://ava.example.org"}}


def asked(site: Site) -> list[Message]:
    return [m for m in site.db.outbox.list_open(Topic.NOTICE, 1000) if m.kind == CONFIRM_EMAIL]


def link(message: Message) -> str:
    return parse_qs(urlsplit(str(message.payload["link"])).query)["confirmation"][0]


def changed(site: Site, email: str, who: str = "ann", name: str = "me") -> None:
    answer = site.call("PATCH", f"/users/{name}", who, json={"email": email})
    assert answer.status_code == 200, answer.text


def is_confirmed(site: Site, name: str = "ann") -> bool:
    return site.db.users.get(name).email_confirmed is not None


@pytest.fixture
def mailing(site: Site) -> Site:
    """Return a site that sends mail."""
    site.services.config = site.services.config.model_validate(
        site.services.config.model_dump() | MAIL | {"limits": OPEN}
    )
    return site


def test_a_registration_causes_no_mail_before_an_administrator_approves_it(mailing: Site) -> None:
    body = {"name": "mallory", "email": "victim@example.org", "password": WORD}
    assert mailing.call("POST", "/registrations", json=body).json()["email_confirmed"] is False
    assert asked(mailing) == [] and not is_confirmed(mailing, "mallory")
    assert codes(mailing.call("POST", "/users/mallory/email-confirmation", "root2")) == ["account-not-active"]
    mailing.call("PATCH", "/users/mallory", "root2", json={"state": "active"})
    (message,) = asked(mailing)
    assert message.payload["email"] == "victim@example.org"
    assert str(message.payload["link"]).startswith("https://ava.example.org/confirm-email?confirmation=")
    assert not is_confirmed(mailing, "mallory"), "an approval does not vouch for the address"


def test_a_users_own_address_is_confirmed_by_its_link_and_an_administrators_at_once(mailing: Site) -> None:
    changed(mailing, "stranger@example.org")
    assert not is_confirmed(mailing)
    assert mailing.call("GET", "/users/me", "ann").json()["email_confirmed"] is False
    text = link(asked(mailing)[0])
    answer = mailing.call("POST", "/email-confirmations", "ann", json={"confirmation": text})
    assert answer.json()["email_confirmed"] is True and is_confirmed(mailing)
    again = mailing.call("POST", "/email-confirmations", "ann", json={"confirmation": text})
    assert (again.status_code, codes(again)) == (403, ["confirmation-invalid"])
    changed(mailing, "ann@example.net", "root2", "ann")
    assert is_confirmed(mailing)
    changed(mailing, "ANN@example.net")
    assert is_confirmed(mailing), "the same address"
    changed(mailing, "other@example.net")
    changed(mailing, "other@example.net", "root2", "ann")
    assert is_confirmed(mailing), "an administrator sets the very address that the user typed"
    made = mailing.call("POST", "/users", "root2", json={"name": "zoe", "email": "zoe@example.org"})
    assert made.json()["email_confirmed"] is True


def test_a_link_is_good_for_its_account_its_address_and_its_time_alone(mailing: Site) -> None:
    changed(mailing, "first@example.org")
    first = link(asked(mailing)[0])
    sealed = mailing.services.sealer
    wrong = {"made up": "gAAAAAB" + "a" * 100, "no text of ours": sealed.seal("[1]"), "cut": first[:-10]}
    for what, text in wrong.items():
        answer = mailing.call("POST", "/email-confirmations", "ann", json={"confirmation": text})
        assert answer.status_code == 403, what
    other = mailing.call("POST", "/email-confirmations", "ben", json={"confirmation": first})
    assert other.status_code == 403, "another user's session"
    assert mailing.call("POST", "/email-confirmations", json={"confirmation": first}).status_code == 401
    changed(mailing, "second@example.org")
    late = mailing.call("POST", "/email-confirmations", "ann", json={"confirmation": first})
    assert late.status_code == 403 and not is_confirmed(mailing), "the link of another address"
    second = link(asked(mailing)[-1])
    mailing.now += timedelta(days=email_confirmation.DAYS, seconds=1)
    mailing._tokens.clear()
    assert (
        mailing.call("POST", "/email-confirmations", "ann", json={"confirmation": second}).status_code == 403
    )
    assert not is_confirmed(mailing)


@pytest.mark.parametrize("bound", ["account", "address", "site"])
def test_mails_are_bounded_by_account_by_address_and_for_the_whole_site(mailing: Site, bound: str) -> None:
    limits = {f"confirmation_{one}": "1000/day" for one in ("account", "address", "site")}
    mailing.services.rates = rates(
        Limits.model_validate(OPEN.model_dump() | limits | {f"confirmation_{bound}": "3/day"})
    )
    for n in range(6):
        # One account and many addresses; one address and several accounts; many accounts.
        who = "ann" if bound == "account" or n % 2 else "ben"
        mailing.db.users.update(who, mailing.now, email=f"parked-{who}@example.net", email_confirmed=True)
        other = "ben" if who == "ann" else "ann"
        mailing.db.users.update(other, mailing.now, email=f"parked-{other}@example.net", email_confirmed=True)
        changed(mailing, "victim@example.org" if bound == "address" else f"victim+{n}@example.org", who)
    assert len(asked(mailing)) == 3, "the change itself is made; the mail is left out"
    refused = mailing.call("POST", "/users/me/email-confirmation", who)
    assert (refused.status_code, codes(refused)) == (429, ["too-many-requests"])
    assert int(refused.headers["retry-after"]) > 0 and len(asked(mailing)) == 3


def test_the_link_is_sent_again_on_request_and_not_for_a_confirmed_address(mailing: Site) -> None:
    answer = mailing.call("POST", "/users/me/email-confirmation", "ann")
    assert (answer.status_code, codes(answer)) == (409, ["email-confirmed"])
    changed(mailing, "new@example.org")
    assert mailing.call("POST", "/users/me/email-confirmation", "ann").status_code == 202
    assert mailing.call("POST", "/users/ann/email-confirmation", "root2").status_code == 202
    assert mailing.call("POST", "/users/ann/email-confirmation", "ben").status_code == 404
    assert len(asked(mailing)) == 3


def test_a_site_without_mail_shows_nothing_and_asks_no_one(site: Site) -> None:
    changed(site, "new@example.org")
    site.db.users.update("eve", site.now, state=UserState.DISABLED)
    assert site.call("GET", "/users/me", "ann").json()["email_confirmed"] is None
    assert codes(site.call("POST", "/users/me/email-confirmation", "ann")) == ["no-mail"]
    assert asked(site) == []
