"""Users: who they are, and what they may."""

import pytest

from ava.domain.model import UserState
from tests.unit.ava.db.world import NOW, code, later, refused


def test_a_person_is_found_by_name_and_by_id_and_has_the_next_uid(db):
    first = db.users.create("ann", "Ann@Example.org", "hash-a", NOW)
    second = db.users.create("bob", "bob@example.org", "hash-b", NOW, admin=True, state=UserState.ACTIVE)
    assert second.uid == first.uid + 1 >= 20_000
    assert (first.email, first.admin, first.state) == ("ann@example.org", False, UserState.PENDING)
    assert (second.admin, second.state, second.default_group) == (True, UserState.ACTIVE, None)
    assert db.users.get("ann") == db.users.get(first.id) == first
    assert db.users.password_hash("bob") == "hash-b"
    assert first.created == NOW


@pytest.mark.parametrize(
    ("name", "email", "expected"),
    [("ann", "other@example.org", "name-taken"), ("other", "ANN@example.ORG", "email-taken")],
)
def test_a_name_or_address_is_given_once(db, name, email, expected):
    db.users.create("ann", "ann@example.org", "h", NOW)
    assert code(db.users.create, name, email, "h", NOW) == (409, expected)
    assert [u.name for u in db.users.list().items] == ["ann"]


def test_a_refused_person_takes_no_uid(db):
    first = db.users.create("ann", "ann@example.org", "h", NOW)
    refused(db.users.create, "ann", "a@example.org", "h", NOW)
    assert db.users.create("bob", "bob@example.org", "h", NOW).uid == first.uid + 1


def test_people_come_in_pages_by_name(db):
    for name in ("eve", "ann", "dan", "bob", "cat"):
        state = UserState.ACTIVE if name in ("ann", "eve") else UserState.PENDING
        db.users.create(name, f"{name}@example.org", "h", NOW, state=state)
    first = db.users.list(limit=2)
    second = db.users.list(limit=2, after=first.next)
    third = db.users.list(limit=2, after=second.next)
    assert [[u.name for u in page.items] for page in (first, second, third)] == [
        ["ann", "bob"],
        ["cat", "dan"],
        ["eve"],
    ]
    assert third.next is None
    assert [u.name for u in db.users.list(state=UserState.ACTIVE).items] == ["ann", "eve"]


def test_a_page_that_ends_with_the_list_has_no_next(db):
    for name in ("ann", "bob"):
        db.users.create(name, f"{name}@example.org", "h", NOW)
    assert db.users.list(limit=2).next is None


def test_what_is_given_is_changed_and_nothing_else(world):
    before = world.db.users.get("ann")
    after = world.db.users.update("ann", NOW, email="New@example.org")
    assert after.email == "new@example.org"
    assert (after.admin, after.state, after.uid, after.default_group) == (
        before.admin,
        before.state,
        before.uid,
        before.default_group,
    )
    world.db.users.update("ann", NOW, password="hash-2")
    assert world.db.users.password_hash("ann") == "hash-2"
    assert world.db.users.update("ann", NOW) == world.db.users.get("ann")


def test_an_address_is_not_taken_from_another_user_s(world):
    world.person("bob")
    assert code(world.db.users.update, "bob", NOW, email="ANN@example.org") == (409, "email-taken")
    assert world.db.users.update("bob", NOW, email="BOB@example.org").email == "bob@example.org"


def test_who_is_shut_out_loses_sessions_and_tokens(world):
    world.person("bob")
    for kind, digest in (("session", "a" * 64), ("token", "b" * 64)):
        world.db.secrets.create("bob", kind, digest, NOW, until=later(3600))
    world.db.secrets.create("ann", "token", "c" * 64, NOW, until=None)
    world.db.users.update("bob", NOW, state=UserState.DISABLED)
    assert world.db.secrets.authenticate("session", "a" * 64, NOW) is None
    world.db.users.update("bob", NOW, state=UserState.ACTIVE)
    assert world.db.secrets.authenticate("token", "b" * 64, NOW) is None
    assert world.db.secrets.authenticate("token", "c" * 64, NOW).name == "ann"


@pytest.mark.parametrize(
    "change", [{"state": UserState.DISABLED}, {"admin": False}, {"state": UserState.PENDING}]
)
def test_the_last_administrator_stays(world, change):
    world.person("bob", admin=True)
    world.db.users.update("bob", NOW, state=UserState.DISABLED)
    assert code(world.db.users.update, "ann", NOW, **change) == (409, "last-administrator")
    world.db.users.update("bob", NOW, state=UserState.ACTIVE)
    world.db.users.update("ann", NOW, **change)
    assert code(world.db.users.update, "bob", NOW, **change) == (409, "last-administrator")


def test_the_default_group_is_one_of_the_users_own(world):
    for name in ("speech", "other"):
        world.db.groups.create(name, world.db.groups.get("vision").quota, NOW)
    world.db.groups.add_member("speech", "ann", NOW)
    assert world.db.users.get("ann").default_group == "vision"
    assert world.db.users.set_default_group("ann", "speech").default_group == "speech"
    assert code(world.db.users.set_default_group, "ann", "other") == (409, "not-a-member")
    assert code(world.db.users.set_default_group, "ann", "nothing") == (404, "not-found")
    assert world.db.users.get("ann").default_group == "speech"


@pytest.mark.parametrize(
    "name", ["bob", "u1aaaaaaaaaaa", "", "Ann", "a" * 33, "ann\0", "../ann", "ann' OR 1=1"]
)
def test_who_is_not_there_is_not_found(world, name):
    for call in (world.db.users.get, world.db.users.password_hash):
        assert code(call, name) == (404, "not-found")
    assert code(world.db.users.update, name, NOW, admin=True) == (404, "not-found")


def test_another_password_ends_sessions_and_tokens_but_one(world):
    db = world.db
    world.person("bob")
    _, two = (db.secrets.create("ann", "session", digit * 64, NOW, until=later(3600)) for digit in "12")
    db.secrets.create("ann", "token", "3" * 64, NOW, until=None)
    others = db.secrets.create("bob", "token", "4" * 64, NOW, until=None)
    db.users.replace_password("ann", "h2", keep=two)
    assert db.users.password_hash("ann") == "h2"
    assert [row["id"] for kind in ("session", "token") for row in db.secrets.list("ann", kind)] == [two]
    db.users.replace_password("ann", "h3")
    assert db.secrets.list("ann", "session") == []
    assert [row["id"] for row in db.secrets.list("bob", "token")] == [others]
    assert code(db.users.replace_password, "nobody", "h")[0] == 404
