"""Sessions and tokens."""

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


def test_no_one_ends_what_is_another_persons(world):
    world.person("bob")
    id = world.db.secrets.create("ann", "token", DIGEST, NOW, until=None)
    assert code(world.db.secrets.delete, "bob", id) == (404, "not-found")
    assert world.db.secrets.authenticate("token", DIGEST, NOW).name == "ann"


def test_who_may_not_login_gets_no_session(world):
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
