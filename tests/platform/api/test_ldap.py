"""Login by a real directory: who gets in, who is locked, who tries to be somebody else, and what when it is away."""

from __future__ import annotations

import socket
import time

import ldap3
import pytest

from ava.services.auth.directory import LdapUnavailable
from ava.services.auth.ldap import LdapDirectory
from ava.services.config import Ldap, LdapSearch
from tests.platform.slapd import BASE, WORD, Slapd

DN = f"uid={{name}},ou=people,{BASE}"


@pytest.fixture(scope="module")
def server():
    with Slapd() as running:
        yield running


@pytest.fixture(params=["ldaps", "ldap"])
def directory(request, server):
    """The directory by TLS from the first byte, and by StartTLS."""
    port = server.tls if request.param == "ldaps" else server.plain
    return LdapDirectory(Ldap(url=f"{request.param}://127.0.0.1:{port}", user_dn=DN, ca=server.ca))


def test_a_person_gets_in_by_the_right_word_alone(directory):
    assert directory.knows("ann", WORD)
    for name, word in [
        ("ann", "wrong"),
        ("ann", ""),
        ("nobody", WORD),
        ("ann", WORD + "\0"),
        ("ben", WORD.upper()),
    ]:
        assert not directory.knows(name, word), (name, word)


@pytest.mark.parametrize(
    "name",
    [
        f"ann,ou=people,{BASE}",
        "ann,ou=people",
        f"cn=admin,{BASE}",
        "admin",
        "*",
        "a*",
        "ann)(uid=*",
        "ann+cn=x",
        "ann\0",
        "ann ",
        " ann",
        "\\61nn",
        "#616e6e",
        "ann;ben",
    ],
)
def test_a_name_is_nothing_but_a_name(directory, name):
    assert not directory.knows(name, WORD)


def test_capitals_are_the_same_person(directory):
    """A directory compares names without regard to case, and so do accounts."""
    assert directory.knows("Ann", WORD)
    assert not directory.knows("Ann", "wrong")


def test_who_is_locked_does_not_get_in_until_unlocked(directory, server):
    assert directory.knows("eve", WORD)
    server.change("uid=eve,ou=people", {"pwdAccountLockedTime": [(ldap3.MODIFY_ADD, ["000001010000Z"])]})
    try:
        assert not directory.knows("eve", WORD)
        assert directory.knows("ann", WORD)
    finally:
        server.change("uid=eve,ou=people", {"pwdAccountLockedTime": [(ldap3.MODIFY_DELETE, [])]})
    assert directory.knows("eve", WORD)


@pytest.mark.parametrize("scheme", ["ldap", "ldaps"])
def test_a_server_of_another_authority_gets_no_password(server, scheme):
    port = server.tls if scheme == "ldaps" else server.plain
    for ca in (server.others, None):
        with pytest.raises(LdapUnavailable, match="its certificate does not prove"):
            LdapDirectory(Ldap(url=f"{scheme}://127.0.0.1:{port}", user_dn=DN, ca=ca)).knows("ann", WORD)


@pytest.mark.parametrize("scheme", ["ldap", "ldaps"])
def test_a_server_of_another_name_gets_no_password(server, scheme, monkeypatch):
    """Its certificate is good, for somebody else: localhost and 127.0.0.1."""
    known = socket.getaddrinfo
    monkeypatch.setattr(
        socket,
        "getaddrinfo",
        lambda host, *r, **m: known("127.0.0.1" if host == "dir.example.org" else host, *r, **m),
    )
    port = server.tls if scheme == "ldaps" else server.plain
    with pytest.raises(LdapUnavailable, match="its certificate does not prove"):
        LdapDirectory(Ldap(url=f"{scheme}://dir.example.org:{port}", user_dn=DN, ca=server.ca)).knows(
            "ann", WORD
        )


def test_a_server_that_is_away_is_no_wrong_password_and_is_found_again(server):
    own = LdapDirectory(Ldap(url=f"ldaps://127.0.0.1:{server.tls}", user_dn=DN, ca=server.ca))
    server.stop()
    try:
        with pytest.raises(LdapUnavailable):
            own.knows("ann", WORD)
    finally:
        server.start()
    assert own.knows("ann", WORD)


@pytest.mark.parametrize("scheme", ["ldap", "ldaps"])
def test_a_server_that_does_not_answer_holds_no_one_up(server, scheme):
    with socket.socket() as deaf:
        deaf.bind(("127.0.0.1", 0))
        deaf.listen(1)
        url = f"{scheme}://127.0.0.1:{deaf.getsockname()[1]}"
        began = time.monotonic()
        with pytest.raises(LdapUnavailable):
            LdapDirectory(Ldap(url=url, user_dn=DN, ca=server.ca)).knows("ann", WORD)
        assert time.monotonic() - began < 15


@pytest.fixture
def searching(server, tmp_path):
    """Return a function that makes a directory which searches, as a site with Active Directory has it."""
    word = tmp_path / "word"

    def make(
        filter="(&(objectClass=inetOrgPerson)(uid={name}))", base=BASE, password=WORD, plain=False, ca=None
    ):
        word.write_text(password + "\n")
        search = LdapSearch(base=base, filter=filter, bind_dn=f"cn=admin,{BASE}", passfile=word)
        url = f"ldap://127.0.0.1:{server.plain}" if plain else f"ldaps://127.0.0.1:{server.tls}"
        return LdapDirectory(Ldap(url=url, search=search, ca=ca or server.ca))

    return make


@pytest.mark.parametrize("plain", [False, True], ids=["ldaps", "ldap"])
def test_a_user_who_is_found_gets_in_by_their_own_password_alone(searching, plain):
    directory = searching(plain=plain)
    assert directory.knows("ann", WORD)
    for name, word in [("ann", "wrong"), ("ann", ""), ("none", WORD), ("ann", WORD + "\0"), ("admin", WORD)]:
        assert not directory.knows(name, word), (name, word)


@pytest.mark.parametrize(
    "name", ["*", "a*", "ann)(uid=*", "ann)(|(uid=*)", "\\61nn", "ann\0", "ann*", "(ann)", "ann,ou=people"]
)
def test_a_name_is_no_part_of_a_filter(searching, monkeypatch, name):
    """Also where the check of names would let it through."""
    monkeypatch.setattr("ava.services.auth.ldap.is_directory_name", lambda name: True)
    assert not searching().knows(name, WORD)


def test_where_several_entries_match_none_gets_in(searching):
    assert not searching("(|(uid={name})(cn=ben))").knows("ann", WORD)
    assert not searching("(|(uid={name})(objectClass=inetOrgPerson))").knows("ann", WORD), (
        "more than the limit of the search"
    )
    assert searching("(|(uid={name})(cn=ben))").knows("ben", WORD), "the very same entry twice is one"


@pytest.mark.parametrize(
    ("more", "cause"),
    [
        ({"password": "wrong"}, "the service account is refused"),
        ({"password": ""}, "the service account has no password"),
        ({"base": "ou=none,dc=example,dc=org"}, "the search failed: noSuchObject"),
    ],
)
def test_what_is_wrong_with_the_search_is_no_wrong_password(searching, more, cause):
    with pytest.raises(LdapUnavailable, match=cause):
        searching(**more).knows("ann", WORD)


@pytest.mark.parametrize("plain", [False, True], ids=["ldaps", "ldap"])
def test_the_service_accounts_password_goes_to_no_other_server(searching, server, plain):
    with pytest.raises(LdapUnavailable, match="its certificate does not prove"):
        searching(plain=plain, ca=server.others).knows("ann", WORD)
