"""Names of a directory with dots and underscores: mapped to an account by a rule; two of them never share one."""

from __future__ import annotations

from typing import Any

import ldap3
import pytest

from ava.domain.model import UserState
from ava.services.auth.ldap import LdapDirectory
from ava.services.config import Ldap
from tests.unit.ava.api.site import WORD, Site, codes

LDAP = Ldap(url="ldaps://ldap.example.org", user_dn="uid={name},ou=people,dc=example,dc=org")


class Book:
    """A directory that has asked for whom, each with a word of their own."""

    def __init__(self, *people: str) -> None:
        self.people = people

    def knows(self, name: str, password: str) -> bool:
        return name.lower() in self.people and password == f"word of {name.lower()}"


@pytest.fixture
def directory(site: Site) -> Site:
    site.services.directory = Book("ann.smith", "ann_smith", "ann-smith", "ann", "a.nn", "root2", "root.2")
    for name in ("ann-smith", "fresh-one"):
        site.db.users.create(name, f"{name}@example.org", "hash", site.now, state=UserState.ACTIVE)
    return site


def log_in(site: Site, name: str, password: str = "") -> Any:
    report = {"name": name, "password": password or f"word of {name.lower()}"}
    return site.call("POST", "/sessions", json=report)


def test_a_name_with_a_dot_logs_in_to_its_account(directory: Site) -> None:
    done = log_in(directory, "ann.smith")
    assert (done.status_code, done.json()["user"]["name"]) == (201, "ann-smith")
    assert log_in(directory, "Ann.Smith").status_code == 201, "directories do not tell capitals apart"
    assert log_in(directory, "ann.smith", "word of ann_smith").status_code == 401


@pytest.mark.parametrize("first", ["ann.smith", "ann_smith", "ann-smith"])
def test_two_people_never_share_an_account(directory: Site, first: str) -> None:
    assert log_in(directory, first).status_code == 201
    for other in {"ann.smith", "ann_smith", "ann-smith"} - {first}:
        refused = log_in(directory, other)
        assert (refused.status_code, codes(refused)) == (409, ["name-of-another"])
        assert first == "ann-smith" or first not in refused.text
    assert log_in(directory, first).status_code == 201


def test_an_account_that_is_in_use_under_its_own_name_is_not_taken(directory: Site) -> None:
    # It has logged in with a release before, which kept no identity.
    directory.db.users.record_login("ann-smith", directory.now)
    assert log_in(directory, "ann.smith").status_code == 409
    assert log_in(directory, "ann-smith").status_code == 201


def test_the_databases_own_password_goes_with_the_accounts_name_alone(directory: Site) -> None:
    assert log_in(directory, "root2", WORD).status_code == 201
    assert log_in(directory, "root.2", WORD).status_code == 401


@pytest.mark.parametrize(
    "name", ["ann.smith@x", "ann smith", ".ann", "ann.", "ann*", "a" * 70, "ann\x00", "änn.smith"]
)
def test_other_names_are_not_mapped(directory: Site, name: str) -> None:
    directory.services.directory = Book(name.lower())
    assert log_in(directory, name).status_code in (401, 422)


@pytest.mark.parametrize("name", ["ann.smith", "ann_smith"])
def test_the_bind_is_with_the_name_as_it_was_given(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    whole = ldap3.Connection

    def filled(*args: Any, **more: Any) -> Any:
        connection = whole(*args, **more)
        connection.strategy.add_entry(
            f"uid={name},ou=people,dc=example,dc=org", {"userPassword": "word", "sn": "a"}
        )
        return connection

    monkeypatch.setattr(ldap3, "Connection", filled)
    book = LdapDirectory(LDAP, ldap3.MOCK_SYNC)
    assert book.knows(name, "word")
    assert not book.knows("ann-smith", "word")
