"""A user who is shut out or leaves a group: all that follows is one transaction, also when it fails half-way."""

from __future__ import annotations

import pytest

from ava.db import offboarding, runs
from ava.db import users as users_module
from ava.db.offboarding import RunStop
from ava.domain.model import CONFIRM_EMAIL, Outcome, Phase, Topic, UserState
from tests.unit.ava.db.world import NOW, World

WISH = RunStop("ann", "192.0.2.1")
CHANGES = {
    "disabled": lambda db: db.users.update("bob", NOW, state=UserState.DISABLED, stop=WISH),
    "removed": lambda db: db.groups.remove_member("vision", "bob", NOW, stop=WISH),
}


class Broken(Exception):
    """A failure that was planted."""


@pytest.fixture
def three_runs(world: World) -> list[str]:
    """Return runs of bob, oldest first: two queued, one admitted."""
    world.person("bob", "vision")
    found = [world.submit(owner="bob", definition=world.definition("bob", name)).id for name in ("a", "b")]
    definition = world.definition("bob", "c")
    found.append(world.submit(owner="bob", definition=definition).id)
    assert world.db.runs.admit(found[2], NOW) == ()
    return found


def snapshot(world: World, ids: list[str]) -> object:
    """Return what a change of bob may touch."""
    return (
        world.db.users.get("bob"),
        [u.name for u in world.db.groups.members("vision")],
        [world.db.runs.get(id) for id in ids],
        [line["action"] for line in world.db.audit.list().items],
        {topic: world.kinds(topic) for topic in Topic},
    )


@pytest.mark.parametrize("change", CHANGES)
def test_all_runs_are_stopped_with_the_change(world: World, three_runs: list[str], change: str) -> None:
    CHANGES[change](world.db)
    found = [world.db.runs.get(id) for id in three_runs]
    assert [r.phase for r in found] == [Phase.FINISHED, Phase.FINISHED, Phase.ADMITTED]
    assert [r.outcome for r in found] == [Outcome.STOPPED, Outcome.STOPPED, None]
    assert all(r.stop == NOW for r in found)
    lines = [(line["action"], line["object"], line["address"]) for line in world.db.audit.list().items]
    assert sorted(lines) == [("runs.stop", f"run {id}", "192.0.2.1") for id in sorted(three_runs)]


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("at", [0, 2])
def test_failure_at_one_run_leaves_nothing_half_done(
    world: World, three_runs: list[str], change: str, at: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = snapshot(world, three_runs)

    def stop_run(connection, run, now, *, by):
        if run == three_runs[at]:
            raise Broken
        return runs.stop_run(connection, run, now, by=by)

    with monkeypatch.context() as planted:
        planted.setattr(offboarding, "stop_run", stop_run)
        with pytest.raises(Broken):
            CHANGES[change](world.db)
    assert snapshot(world, three_runs) == before
    CHANGES[change](world.db)
    assert snapshot(world, three_runs) != before


def test_address_is_not_changed_without_its_mail(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    world.person("bob", "vision")
    enqueue = users_module.enqueue

    def failing(connection, now, kind, *args, **payload):
        if kind == CONFIRM_EMAIL:
            raise Broken
        enqueue(connection, now, kind, *args, **payload)

    def change():
        return world.db.users.update(
            "bob", NOW, email="new@example.org", confirmation=("new@example.org", "x")
        )

    with monkeypatch.context() as planted:
        planted.setattr(users_module, "enqueue", failing)
        with pytest.raises(Broken):
            change()
    assert world.db.users.get("bob").email == "bob@example.org"
    assert change().email == "new@example.org"
    assert (CONFIRM_EMAIL, "bob") in world.kinds(Topic.NOTICE)


def test_link_of_another_address_is_not_mailed(world: World) -> None:
    world.person("bob", "vision")
    world.db.users.update("bob", NOW, email="new@example.org", confirmation=("other@example.org", "x"))
    world.db.users.update(
        "bob", NOW, email="third@example.org", email_confirmed=True, confirmation=("third@example.org", "x")
    )
    assert (CONFIRM_EMAIL, "bob") not in world.kinds(Topic.NOTICE)
