"""The database's address: the server is verified, the one that takes writes is used, and no password is in it."""

from __future__ import annotations

from pathlib import Path

import pytest
from pydantic import ValidationError
from sqlalchemy import make_url

from ava.db.url import DatabaseUrl


def test_it_has_no_password_and_verifies_the_server() -> None:
    made = DatabaseUrl(host="10.0.0.5", passfile=Path("/etc/ava/pg pass"), ca=Path("/etc/ava/ca.crt"))
    assert made.address() == (
        "postgresql://ava@10.0.0.5:5432/ava?connect_timeout=5&target_session_attrs=read-write"
        "&passfile=%2Fetc%2Fava%2Fpg+pass&sslmode=verify-full&sslrootcert=%2Fetc%2Fava%2Fca.crt"
    )


@pytest.mark.parametrize(
    ("host", "name"),
    [("db.example.org", "ava"), ("10.0.0.5,10.0.0.6", "ava"), ("[fd00::5]", "ava"), ("db", "a/b?c@d")],
)
def test_what_is_shown_is_what_is_connected_to(host: str, name: str) -> None:
    url = make_url(DatabaseUrl(host=host, port=6432, name=name, user="o'hara").address())
    assert (url.host, url.port, url.database, url.username) == (host.strip("[]"), 6432, name, "o'hara")
    assert url.query["target_session_attrs"] == "read-write"


def test_a_url_is_taken_as_it_is() -> None:
    assert DatabaseUrl(url="sqlite:////tmp/x").address() == "sqlite:////tmp/x"


@pytest.mark.parametrize("settings", [{"password": "secret"}, {"port": 0}, {"port": 65536}])
def test_what_it_does_not_know_is_refused(settings: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        DatabaseUrl.model_validate(settings)
