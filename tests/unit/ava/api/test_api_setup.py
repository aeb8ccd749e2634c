"""The settings, the sealing key, the first administrator, and login by a directory."""

from __future__ import annotations

import io
from datetime import timedelta
from pathlib import Path
from typing import Any

import ldap3
import pytest
from cryptography.fernet import Fernet, InvalidToken

from ava.api import admin
from ava.api.__main__ import main
from ava.db.database import migrate, open_database
from ava.db.url import DatabaseUrl
from ava.domain.model import UserState
from ava.services import factory
from ava.services.auth.caller import digest, new_secret
from ava.services.auth.directory import LdapUnavailable
from ava.services.auth.encryption import Sealer, sealer
from ava.services.auth.ldap import LdapDirectory
from ava.services.auth.passwords import Passwords
from ava.services.config import Config, Ldap
from ava.services.context import utc_now
from ava.settings import ConfigError, load, split
from tests.unit.ava.api.site import CHEAP, WORD, Site, codes


def test_all_that_is_wrong_with_the_settings_is_reported(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "api.yml"
    file.write_text("listen: nowhere\nlimits: {submit: often}\ncolour: red\n")
    assert main(["--config", str(file)]) == 2
    report = capsys.readouterr().err
    for part in ("listen", "limits.submit", "colour", "sealing_key", str(file)):
        assert part in report
    with pytest.raises(ConfigError, match="cannot be read"):
        load(tmp_path / "none", Config)


def test_addresses_to_listen_on() -> None:
    assert split("127.0.0.1:8443") == ("127.0.0.1", 8443)
    assert split("[::1]:8443") == ("::1", 8443)
    assert split(":8443") == ("0.0.0.0", 8443)  # noqa: S104


def test_a_sealing_key_is_made_once_and_for_its_owner_alone(tmp_path: Path) -> None:
    file = tmp_path / "key"
    assert admin.main(["sealing-key", str(file)]) == 0
    key = file.read_bytes()
    assert file.stat().st_mode & 0o777 == 0o600
    assert admin.main(["sealing-key", str(file)]) == 0
    assert file.read_bytes() == key
    assert sealer(file).open(sealer(file).seal("secret")) == "secret"


@pytest.mark.parametrize(
    ("content", "mode"),
    [(b"", 0o600), (b"short", 0o600), (None, 0o600), (Fernet.generate_key(), 0o644)],
    ids=["empty", "short", "missing", "read by others"],
)
def test_a_sealing_key_that_is_none_or_that_others_read_is_refused(
    tmp_path: Path, content: bytes | None, mode: int
) -> None:
    file = tmp_path / "key"
    if content is not None:
        file.write_bytes(content)
        file.chmod(mode)
    with pytest.raises(ConfigError, match=str(file)):
        sealer(file)


def test_what_an_older_key_has_sealed_is_opened_and_a_strangers_is_not() -> None:
    old, new = Fernet.generate_key(), Fernet.generate_key()
    sealed = Sealer([old]).seal("secret")
    assert Sealer([new, old]).open(sealed) == "secret"
    with pytest.raises(InvalidToken):
        Sealer([new]).open(sealed)


@pytest.fixture
def settings(tmp_path: Path) -> Path:
    url = f"sqlite:///{tmp_path / 'database.db'}"
    migrate(url)
    (tmp_path / "api.yml").write_text(f"sealing_key: {tmp_path / 'key'}\ndatabase: {{url: '{url}'}}\n")
    return tmp_path / "api.yml"


def _admin(monkeypatch: pytest.MonkeyPatch, settings: Path, word: str, name: str = "boss") -> int:
    monkeypatch.setattr("sys.stdin", io.StringIO(word + "\n"))
    monkeypatch.setattr(admin, "Passwords", lambda: Passwords(CHEAP))
    return admin.main(["create-admin", "--config", str(settings), "--name", name])


def test_the_first_administrator_is_made_once(
    monkeypatch: pytest.MonkeyPatch, settings: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert [_admin(monkeypatch, settings, WORD) for _ in range(2)] == [0, 0]
    assert capsys.readouterr().out.split() == ["made", "unchanged"]
    db = open_database(load(settings, Config).database.address())
    kept = db.users.password_hash("boss")
    db.secrets.create("boss", "token", "0" * 64, utc_now(), until=None)
    assert db.users.get("boss").admin
    assert db.users.get("boss").state is UserState.ACTIVE
    assert _admin(monkeypatch, settings, "another long password") == 0
    assert capsys.readouterr().out.split() == ["changed"]
    assert db.users.password_hash("boss") != kept
    assert not db.secrets.list("boss", "token")
    assert WORD not in str(db.audit.list().items)
    db.close()


@pytest.mark.parametrize(
    ("word", "name", "message"),
    [("short", "boss", "password"), (WORD, "root", "--name"), ("", "boss", "password")],
)
def test_an_administrator_of_a_bad_name_or_password_is_not_made(
    monkeypatch: pytest.MonkeyPatch,
    settings: Path,
    capsys: pytest.CaptureFixture[str],
    word: str,
    name: str,
    message: str,
) -> None:
    assert _admin(monkeypatch, settings, word, name) == 2
    reply = capsys.readouterr().err
    assert message in reply
    assert not word or word not in reply


def test_settings_become_services(settings: Path) -> None:
    admin.main(["sealing-key", str(settings.parent / "key")])
    made = factory.make(load(settings, Config))
    assert [q.name for q in made.db.queues.list()] == ["default"]
    assert made.directory is None
    made.db.close()


def test_a_password_in_the_data_bases_url_is_refused(settings: Path) -> None:
    config = Config(sealing_key=Path("/x"), database=DatabaseUrl(url="postgresql://ava:hunter2@h/ava"))
    with pytest.raises(ConfigError) as caught:
        factory.database(config)
    assert "hunter2" not in str(caught.value)


LDAP = Ldap(url="ldaps://ldap.example.org", user_dn="uid={name},ou=people,dc=example,dc=org")


class Book:
    """A directory that knows ann by another password than the database."""

    def __init__(self) -> None:
        self.down = False

    def knows(self, name: str, password: str) -> bool:
        if self.down:
            raise LdapUnavailable("no answer")
        return (name, password) == ("ann", "the directory's word")


def test_a_directory_lets_in_whom_the_database_knows(site: Site) -> None:
    book = Book()
    site.services.directory = book

    def log_in(name: str, password: str) -> int:
        return site.call("POST", "/sessions", json={"name": name, "password": password}).status_code

    assert log_in("ann", "the directory's word") == 201
    assert log_in("nemo", "the directory's word") == 401
    assert log_in("ben", WORD) == 401, "who is locked in the directory does not get in by another password"
    assert log_in("root2", WORD) == 201, "administrators do"
    book.down = True
    assert {log_in(name, "the directory's word") for name in ("ann", "nemo", "root2")} == {503}
    assert log_in("root2", WORD) == 201
    reports = [line for line in site.db.audit.list(limit=50).items if line["outcome"] == "unreachable"]
    assert [line["detail"]["why"] for line in reports] == ["no answer"] * 3
    site.db.users.update("ann", site.now, state=UserState.DISABLED)
    book.down = False
    answer = site.call("POST", "/sessions", json={"name": "ann", "password": "the directory's word"})
    assert codes(answer) == ["account-disabled"]


@pytest.mark.parametrize(
    ("name", "password", "found"),
    [
        ("ann", "word", True),
        ("ann", "no", False),
        ("ann", "", False),
        ("ben", "word", False),
        ("ann,ou=x", "word", False),
    ],
)
def test_a_bind_as_the_person_decides(
    monkeypatch: pytest.MonkeyPatch, name: str, password: str, found: bool
) -> None:
    whole = ldap3.Connection

    def filled(*args: Any, **more: Any) -> Any:
        connection = whole(*args, **more)
        connection.strategy.add_entry(
            "uid=ann,ou=people,dc=example,dc=org", {"userPassword": "word", "sn": "a"}
        )
        return connection

    monkeypatch.setattr(ldap3, "Connection", filled)
    assert LdapDirectory(LDAP, ldap3.MOCK_SYNC).knows(name, password) is found


def test_a_directory_that_is_away_is_distinguished_from_a_wrong_password() -> None:
    away = LdapDirectory(Ldap(url="ldaps://127.0.0.1:9", user_dn="uid={name}"))
    with pytest.raises(LdapUnavailable):
        away.knows("ann", "word")


def _lend(monkeypatch: pytest.MonkeyPatch, settings: Path, secret: str, *words: str) -> int:
    monkeypatch.setattr("sys.stdin", io.StringIO(secret + "\n"))
    return admin.main(["lend", "--config", str(settings), *words])


def test_the_only_administrator_is_lent_a_token_for_an_hour_by_a_secret_that_nothing_repeats(
    monkeypatch: pytest.MonkeyPatch, settings: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _admin(monkeypatch, settings, WORD)
    capsys.readouterr()
    secret = new_secret()
    assert _lend(monkeypatch, settings, secret) == 0
    reply = capsys.readouterr()
    name, id = reply.out.split()
    db = open_database(load(settings, Config).database.address())
    [kept] = db.secrets.list("boss", "token")
    assert (name, id) == ("boss", kept["id"])
    assert kept["until"] - kept["created"] == timedelta(hours=1)
    found = db.secrets.authenticate("token", digest(secret), utc_now())
    assert found is not None and found.name == "boss"
    assert secret not in reply.out + reply.err + str(db.audit.list().items)
    db.close()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ((), "boss, chief"),
        (("--name", "ann"), "ann is no active administrator"),
        (("--name", "none"), "none is no"),
    ],
)
def test_no_one_is_lent_a_token_who_is_no_administrator_or_one_of_several(
    monkeypatch: pytest.MonkeyPatch,
    settings: Path,
    capsys: pytest.CaptureFixture[str],
    words: tuple[str, ...],
    message: str,
) -> None:
    for name in ("boss", "chief"):
        _admin(monkeypatch, settings, WORD, name)
    db = open_database(load(settings, Config).database.address())
    db.users.create("ann", "ann@example.org", "x" * 20, utc_now(), state=UserState.ACTIVE)
    assert _lend(monkeypatch, settings, new_secret(), *words) == 2
    assert message in capsys.readouterr().err
    assert not [s for name in ("boss", "chief", "ann") for s in db.secrets.list(name, "token")]
    db.close()


@pytest.mark.parametrize("secret", ["", "short", "x" * 44, "$" * 43])
def test_what_is_no_secret_opens_nothing(
    monkeypatch: pytest.MonkeyPatch, settings: Path, secret: str
) -> None:
    _admin(monkeypatch, settings, WORD)
    assert _lend(monkeypatch, settings, secret) == 2
