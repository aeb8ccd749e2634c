"""Whose a repository is, and which scopes a client asks for; the registry itself is in tests/platform/api/test_user_images.py."""

from __future__ import annotations

from pathlib import Path

import pytest

from ava.services.config import UserRegistry
from ava.services.registry.repositories import LONGEST, owned, scopes
from ava.services.registry.tokens import signer
from ava.settings import ConfigError
from bench.control_plane import Authority

NO_OWNER = ("users", "")


@pytest.mark.parametrize(
    ("name", "whose"),
    [
        ("users/ann/torch", ("users", "ann")),
        ("users/ann/a/b/c", ("users", "ann")),
        ("groups/vision/torch", ("groups", "vision")),
        ("avadm/ava-base", ("", "")),
        ("torch", ("", "")),
        ("usersx/ann/torch", ("", "")),
        ("users", NO_OWNER),
        ("users/ann", NO_OWNER),
        ("users//torch", NO_OWNER),
        ("users/ann/", NO_OWNER),
        ("/users/ann/torch", NO_OWNER),
        ("users/ann/../ben/torch", NO_OWNER),
        ("users/./ann/torch", NO_OWNER),
        ("Users/ann/torch", NO_OWNER),
        ("users/ann/torch\n", NO_OWNER),
        ("users/ann/t%6frch", NO_OWNER),
        ("users/ann/" + "a" * LONGEST, NO_OWNER),
        ("", NO_OWNER),
    ],
)
def test_whose_a_repository_is(name: str, whose: tuple[str, str]) -> None:
    kind, owner = owned(name)
    assert (kind, owner) == whose or (whose == NO_OWNER and kind in ("users", "groups") and owner == "")


def test_scopes_are_read_as_docker_sends_them() -> None:
    assert scopes(
        ["repository:users/ann/x:pull,push repository:a/b:pull", "registry:catalog:*", "x", ":", ""]
    ) == [
        ("repository", "users/ann/x", ["pull", "push"]),
        ("repository", "a/b", ["pull"]),
        ("registry", "catalog", ["*"]),
    ]
    assert scopes(["repository:host:5000/users/ann/x:pull"])[0][1] == "host:5000/users/ann/x"


@pytest.mark.parametrize("wrong", ["missing", "empty", "another's"])
def test_a_key_that_is_none_or_not_the_certificates_is_refused_at_the_start(
    tmp_path: Path, wrong: str
) -> None:
    authority = Authority(tmp_path)
    certificate, key = authority.issue("ava", "ava")
    if wrong == "missing":
        key.unlink()
    elif wrong == "empty":
        key.write_text("")
    else:
        key.write_bytes(authority.issue("other", "other")[1].read_bytes())
    with pytest.raises(ConfigError, match="user_registry"):
        signer(
            UserRegistry(
                host="registry.site:5004",
                pulled="registry.site:5000",
                space="registry.site:5006",
                key=key,
                certificate=certificate,
            )
        )
