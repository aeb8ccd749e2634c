"""Sessions, tokens, keys, the audit log."""

import pytest
from sqlalchemy import text

from ava.domain.model import UserState
from tests.unit.ava.db.world import NOW, code, later, refused

DIGEST = "5e" * 32


def test_a_token_is_its_owners_until_it_ends(world):
    id = world.db.secrets.create("ann", "token", DIGEST, NOW, until=later(60), label="laptop")
    assert world.db.secrets.authenticate("token", DIGEST, later(59)).name == "ann"
    assert world.db.secrets.authenticate("token", DIGEST, later(60)) is None
    assert world.db.secrets.authenticate("session", DIGEST, NOW) is None
    assert world.db.secrets.authenticate("token", "5f" * 32, NOW) is None
    (kept,) = world.db.secrets.list("ann", "token")
    assert (kept["id"], kept["label"], kept["created"], kept["until"]) == (id, "laptop", NOW, later(60))
    assert "digest" not in kept
    world.db.secrets.delete("ann", id)
    assert world.db.secrets.authenticate("token", DIGEST, NOW) is None
    assert code(world.db.secrets.delete, "ann", id) == (404, "not-found")


def test_when_it_was_used_is_kept_to_a_minute(world):
    world.db.secrets.create("ann", "token", DIGEST, NOW, until=None)

    def used():
        return world.db.secrets.list("ann", "token")[0]["used"]

    assert used() is None
    world.db.secrets.authenticate("token", DIGEST, later(1))
    world.db.secrets.authenticate("token", DIGEST, later(30))
    assert used() == later(1)
    world.db.secrets.authenticate("token", DIGEST, later(90))
    assert used() == later(90)


def test_nobody_ends_what_is_another_persons(world):
    world.person("bob")
    id = world.db.secrets.create("ann", "token", DIGEST, NOW, until=None)
    assert code(world.db.secrets.delete, "bob", id) == (404, "not-found")
    assert world.db.secrets.authenticate("token", DIGEST, NOW).name == "ann"


def test_who_may_not_log_in_gets_no_session(world):
    world.db.users.create("bob", "bob@example.org", "h", NOW)
    assert code(world.db.secrets.create, "bob", "session", DIGEST, NOW, until=None) == (
        409,
        "user-not-active",
    )
    world.db.users.update("bob", NOW, state=UserState.ACTIVE)
    world.db.secrets.create("bob", "session", DIGEST, NOW, until=None)
    assert world.db.secrets.authenticate("session", DIGEST, NOW).name == "bob"


def test_a_session_that_outlived_its_owners_rights_opens_nothing(world):
    world.db.secrets.create("ann", "session", DIGEST, NOW, until=None)
    with world.db.engine.begin() as connection:
        connection.execute(text("UPDATE users SET state = 'disabled'"))
    assert world.db.secrets.authenticate("session", DIGEST, NOW) is None


def test_a_secret_itself_is_neither_kept_nor_repeated(world):
    refusal = refused(world.db.secrets.create, "ann", "token", "ava_very-secret", NOW, until=None)
    assert refusal.problems[0].code == "digest-invalid"
    assert "very-secret" not in str(refusal.problems)
    assert world.db.secrets.authenticate("token", "ava_very-secret", NOW) is None
    assert world.db.secrets.authenticate("nonsense", DIGEST, NOW) is None
    assert code(world.db.secrets.create, "ann", "cookie", DIGEST, NOW, until=None) == (422, "kind-unknown")


def test_keys_are_kept_by_kind_and_name(world):
    world.db.keys.put("ann", "ssh", "laptop", "ssh-ed25519 AAAA", NOW)
    world.db.keys.put("ann", "ssh", "desk", "ssh-ed25519 BBBB", NOW)
    world.db.keys.put("ann", "deploy", "laptop", "sealed", NOW)
    world.db.keys.put("ann", "ssh", "laptop", "ssh-ed25519 CCCC", later(1))
    assert world.db.keys.list("ann", "ssh") == {"desk": "ssh-ed25519 BBBB", "laptop": "ssh-ed25519 CCCC"}
    world.db.keys.delete("ann", "ssh", "laptop")
    assert world.db.keys.list("ann", "ssh") == {"desk": "ssh-ed25519 BBBB"}
    assert world.db.keys.list("ann", "deploy") == {"laptop": "sealed"}
    assert code(world.db.keys.delete, "ann", "ssh", "laptop") == (404, "not-found")
    assert code(world.db.keys.put, "ann", "gpg", "x", "y", NOW) == (422, "kind-unknown")


def test_keys_of_others_are_not_touched(world):
    world.person("bob")
    world.db.keys.put("ann", "ssh", "laptop", "A", NOW)
    assert world.db.keys.list("bob", "ssh") == {}
    assert code(world.db.keys.delete, "bob", "ssh", "laptop") == (404, "not-found")
    assert world.db.keys.list("ann", "ssh") == {"laptop": "A"}


def line(db, n, who="ann", object="run r1"):
    db.audit.write(
        later(n), who=who, action="stop", object=object, outcome="ok", address="192.0.2.1", detail={"n": n}
    )


def test_the_audit_log_is_read_newest_first(world):
    for n in range(5):
        line(world.db, n, who="ann" if n % 2 else "bob")
    first = world.db.audit.list(limit=3)
    second = world.db.audit.list(limit=3, after=first.next)
    assert [entry["detail"]["n"] for entry in (*first.items, *second.items)] == [4, 3, 2, 1, 0]
    assert second.next is None
    assert [entry["detail"]["n"] for entry in world.db.audit.list(who="ann").items] == [3, 1]
    assert first.items[0]["at"] == later(4) and first.items[0]["address"] == "192.0.2.1"
    assert world.db.audit.list(object="run r2").items == ()


def test_an_attempt_with_bad_characters_is_logged_all_the_same(world):
    world.db.audit.write(
        NOW,
        who="x\0" + "y" * 1000,
        action="login",
        object="\ud800",
        outcome="refused",
        address="?" * 500,
        detail={"name\0": ["\0", {"deep": "z" * 9999}], "odd": {1, 2}},
    )
    (entry,) = world.db.audit.list().items
    assert len(entry["who"]) == 254 and entry["who"].startswith("x\ufffd")
    assert (
        entry["detail"]["name\ufffd"][0] == "\ufffd" and len(entry["detail"]["name\ufffd"][1]["deep"]) == 4096
    )


def deep(levels):
    value = []
    for _ in range(levels):
        value = [value]
    return value


@pytest.mark.parametrize(
    ("detail", "kept"),
    [
        ({"a": deep(100_000)}, {"left_out": "nested too deeply"}),
        ({str(n): "x" * 1000 for n in range(1000)}, {"left_out": "1010890 bytes"}),
        ({"a": float("nan"), "b": 2**70, "c": None}, {"a": "nan", "b": 2**70, "c": None}),
    ],
)
def test_an_attempt_with_too_much_is_logged_without_it(world, detail, kept):
    world.db.audit.write(
        NOW, who="x", action="a", object="o", outcome="refused", address="::1", detail=detail
    )
    assert world.db.audit.list().items[0]["detail"] == kept


@pytest.mark.parametrize("cursor", ["", "x", "-1", "1; DROP TABLE audit", "9" * 40, "٣"])
def test_a_cursor_of_somebody_elses_making_is_refused(world, cursor):
    assert code(world.db.audit.list, after=cursor) == (422, "cursor-invalid")
