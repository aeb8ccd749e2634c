"""Users: who they are, and what they may."""

import pytest

from ava.domain.model import UserState
from tests.unit.ava.db.world import NOW, code, later, refused


def test_a_person_is_found_by_name_and_by_id_and_has_the_next_uid(store):
    first = store.add_user("ann", "Ann@Example.org", "hash-a", NOW)
    second = store.add_user("bob", "bob@example.org", "hash-b", NOW, admin=True, state=UserState.ACTIVE)
    assert second.uid == first.uid + 1 >= 20_000
    assert (first.email, first.admin, first.state) == ("ann@example.org", False, UserState.PENDING)
    assert (second.admin, second.state, second.default_group) == (True, UserState.ACTIVE, None)
    assert store.user("ann") == store.user(first.id) == first
    assert store.password("bob") == "hash-b"
    assert first.created == NOW


@pytest.mark.parametrize(
    ("name", "email", "expected"),
    [("ann", "other@example.org", "name-taken"), ("other", "ANN@example.ORG", "email-taken")],
)
def test_a_name_or_address_is_given_once(store, name, email, expected):
    store.add_user("ann", "ann@example.org", "h", NOW)
    assert code(store.add_user, name, email, "h", NOW) == (409, expected)
    assert [u.name for u in store.users().items] == ["ann"]


def test_a_refused_person_takes_no_uid(store):
    first = store.add_user("ann", "ann@example.org", "h", NOW)
    refused(store.add_user, "ann", "a@example.org", "h", NOW)
    assert store.add_user("bob", "bob@example.org", "h", NOW).uid == first.uid + 1


def test_people_come_in_pages_by_name(store):
    for name in ("eve", "ann", "dan", "bob", "cat"):
        state = UserState.ACTIVE if name in ("ann", "eve") else UserState.PENDING
        store.add_user(name, f"{name}@example.org", "h", NOW, state=state)
    first = store.users(limit=2)
    second = store.users(limit=2, after=first.next)
    third = store.users(limit=2, after=second.next)
    assert [[u.name for u in page.items] for page in (first, second, third)] == [
        ["ann", "bob"],
        ["cat", "dan"],
        ["eve"],
    ]
    assert third.next is None
    assert [u.name for u in store.users(state=UserState.ACTIVE).items] == ["ann", "eve"]


def test_a_page_that_ends_with_the_list_has_no_next(store):
    for name in ("ann", "bob"):
        store.add_user(name, f"{name}@example.org", "h", NOW)
    assert store.users(limit=2).next is None


def test_what_is_given_is_changed_and_nothing_else(world):
    before = world.store.user("ann")
    after = world.store.set_user("ann", NOW, email="New@example.org")
    assert after.email == "new@example.org"
    assert (after.admin, after.state, after.uid, after.default_group) == (
        before.admin,
        before.state,
        before.uid,
        before.default_group,
    )
    world.store.set_user("ann", NOW, password="hash-2")
    assert world.store.password("ann") == "hash-2"
    assert world.store.set_user("ann", NOW) == world.store.user("ann")


def test_an_address_is_not_taken_from_somebody_else(world):
    world.person("bob")
    assert code(world.store.set_user, "bob", NOW, email="ANN@example.org") == (409, "email-taken")
    assert world.store.set_user("bob", NOW, email="BOB@example.org").email == "bob@example.org"


def test_who_is_shut_out_loses_sessions_and_tokens(world):
    world.person("bob")
    for kind, digest in (("session", "a" * 64), ("token", "b" * 64)):
        world.store.add_secret("bob", kind, digest, NOW, until=later(3600))
    world.store.add_secret("ann", "token", "c" * 64, NOW, until=None)
    world.store.set_user("bob", NOW, state=UserState.DISABLED)
    assert world.store.authenticate("session", "a" * 64, NOW) is None
    world.store.set_user("bob", NOW, state=UserState.ACTIVE)
    assert world.store.authenticate("token", "b" * 64, NOW) is None
    assert world.store.authenticate("token", "c" * 64, NOW).name == "ann"


@pytest.mark.parametrize(
    "change", [{"state": UserState.DISABLED}, {"admin": False}, {"state": UserState.PENDING}]
)
def test_the_last_administrator_stays(world, change):
    world.person("bob", admin=True)
    world.store.set_user("bob", NOW, state=UserState.DISABLED)
    assert code(world.store.set_user, "ann", NOW, **change) == (409, "last-administrator")
    world.store.set_user("bob", NOW, state=UserState.ACTIVE)
    world.store.set_user("ann", NOW, **change)
    assert code(world.store.set_user, "bob", NOW, **change) == (409, "last-administrator")


def test_the_default_group_is_one_of_the_users_own(world):
    for name in ("speech", "other"):
        world.store.add_group(name, world.store.group("vision").quota, NOW)
    world.store.add_member("speech", "ann", NOW)
    assert world.store.user("ann").default_group == "vision"
    assert world.store.set_default_group("ann", "speech").default_group == "speech"
    assert code(world.store.set_default_group, "ann", "other") == (409, "not-a-member")
    assert code(world.store.set_default_group, "ann", "nothing") == (404, "not-found")
    assert world.store.user("ann").default_group == "speech"


@pytest.mark.parametrize(
    "name", ["bob", "u1aaaaaaaaaaa", "", "Ann", "a" * 33, "ann\0", "../ann", "ann' OR 1=1"]
)
def test_who_is_not_there_is_not_found(world, name):
    for call in (world.store.user, world.store.password):
        assert code(call, name) == (404, "not-found")
    assert code(world.store.set_user, name, NOW, admin=True) == (404, "not-found")


def test_another_password_ends_sessions_and_tokens_but_one(world):
    store = world.store
    world.person("bob")
    _, two = (store.add_secret("ann", "session", digit * 64, NOW, until=later(3600)) for digit in "12")
    store.add_secret("ann", "token", "3" * 64, NOW, until=None)
    others = store.add_secret("bob", "token", "4" * 64, NOW, until=None)
    store.replace_password("ann", "h2", keep=two)
    assert store.password("ann") == "h2"
    assert [row["id"] for kind in ("session", "token") for row in store.secrets("ann", kind)] == [two]
    store.replace_password("ann", "h3")
    assert store.secrets("ann", "session") == []
    assert [row["id"] for row in store.secrets("bob", "token")] == [others]
    assert code(store.replace_password, "nobody", "h")[0] == 404
