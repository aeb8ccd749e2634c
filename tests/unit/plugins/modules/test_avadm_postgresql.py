"""avadm_postgresql: users, their passwords and databases; what others made is left alone."""

import base64
import re

import pytest
from avadm_postgresql import PostgresError, Server, is_of, verifier

USERS = {"ava": "pencil", "other": "secret"}


class Postgres:
    """The few statements of the module, as PostgreSQL 15 answers them."""

    def __init__(self):
        self.users, self.databases, self.done = (
            {"postgres": ("true", "")},
            {"postgres": ["postgres", "true"]},
            [],
        )
        self.standby = False

    def __call__(self, text):
        if "pg_is_in_recovery" in text:
            return ["t" if self.standby else "f"]
        if "FROM pg_authid" in text:
            return [f"{name}|{login}|{kept}" for name, (login, kept) in self.users.items()]
        if text == "SELECT datname FROM pg_database":
            return list(self.databases)
        if "FROM pg_database" in text:
            return [f"{name}|{owner}|{public}" for name, (owner, public) in self.databases.items()]
        self.done.append(text)
        if found := re.match(r"(CREATE|ALTER) ROLE (\w+) LOGIN PASSWORD '(\S+)'$", text):
            assert (found[1] == "ALTER") == (found[2] in self.users)
            self.users[found[2]] = ("true", found[3])
        elif found := re.match(r"CREATE DATABASE (\w+) OWNER (\w+)$", text):
            self.databases[found[1]] = [found[2], "true"]
        elif found := re.match(r"DROP DATABASE (\w+) WITH \(FORCE\)$", text):
            del self.databases[found[1]]
        elif found := re.match(r"ALTER DATABASE (\w+) OWNER TO (\w+)$", text):
            self.databases[found[1]][0] = found[2]
        elif found := re.match(r"REVOKE CONNECT, TEMPORARY ON DATABASE (\w+) FROM PUBLIC$", text):
            self.databases[found[1]][1] = "false"
        else:
            raise PostgresError(text)
        return []


def test_a_verifier_is_that_of_rfc_7677():
    kept = verifier("pencil", base64.b64decode("W22ZaJ0SNY7soEsUEjb6gQ=="))
    assert kept == (
        "SCRAM-SHA-256$4096:W22ZaJ0SNY7soEsUEjb6gQ==$"
        "WG5d8oPm3OtcPnkdi4Uo7BkeZkBFzpcXkuLmtbsT4qY=:wfPLwcE6nTWhTAmQ7tl2KeoiWGPlZqQxSrmfPwDl2dU="
    )
    assert is_of(kept, "pencil")
    assert not is_of(kept, "pencil ")
    assert not any(is_of(other, "pencil") for other in (None, "", "md5" + "0" * 32, kept[:-1]))


def test_everything_is_made_once_and_no_password_is_sent():
    postgres = Postgres()
    assert len(Server(postgres).keep(USERS, dry=True)) == 6
    assert postgres.done == []
    assert Server(postgres).keep(USERS)[:3] == ["user ava", "database ava", "who may connect to ava"]
    assert not any(word in text for text in postgres.done for word in USERS.values())
    postgres.done.clear()
    assert Server(postgres).keep(USERS) == postgres.done == []


@pytest.mark.parametrize(
    ("harm", "changes"),
    [
        (lambda p: p.users.update(ava=("true", verifier("another", b"salt"))), ["user ava"]),
        (lambda p: p.users.update(ava=("false", p.users["ava"][1])), ["user ava"]),
        (lambda p: p.databases["ava"].__setitem__(0, "postgres"), ["owner of ava"]),
        (lambda p: p.databases["ava"].__setitem__(1, "true"), ["who may connect to ava"]),
        (lambda p: p.users.update(theirs=("true", "")), []),
    ],
)
def test_what_someone_changed_is_put_right_and_reported(harm, changes):
    postgres = Postgres()
    Server(postgres).keep(USERS)
    harm(postgres)
    assert Server(postgres).keep(USERS, dry=True) == changes
    assert Server(postgres).keep(USERS) == changes
    assert Server(postgres).keep(USERS) == []


def test_a_standby_is_known():
    postgres = Postgres()
    assert Server(postgres).primary()
    postgres.standby = True
    assert not Server(postgres).primary()


def test_a_database_is_dropped_where_it_is_there_and_no_other():
    postgres = Postgres()
    Server(postgres).keep(USERS)
    assert Server(postgres).drop(["ava", "never"], dry=True) == ["dropped ava"]
    assert "ava" in postgres.databases
    assert Server(postgres).drop(["ava", "never"]) == ["dropped ava"]
    assert Server(postgres).drop(["ava"]) == []
    assert {"postgres", "other"} == set(postgres.databases)
