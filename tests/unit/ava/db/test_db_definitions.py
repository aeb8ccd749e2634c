"""Definitions: stored once by owner, kind and name."""

from ava.domain.model import Kind, Outcome, Topic
from tests.unit.ava.db.world import NOW, ONE, SPEC, code


def test_the_same_again_changes_nothing(world):
    first = world.db.definitions.save("ann", Kind.TRAINING, "train", SPEC, NOW)
    again = world.db.definitions.save(world.db.users.get("ann").id, Kind.TRAINING, "train", dict(SPEC), NOW)
    assert first == again == world.db.definitions.get(first.id)
    assert (first.owner, first.spec) == ("ann", SPEC)
    # What comes as a tuple is read back as a list, and is the same.
    as_tuples = SPEC | {"roles": tuple(SPEC["roles"])}
    assert world.db.definitions.save("ann", Kind.TRAINING, "train", as_tuples, NOW) == first


def test_another_spec_is_a_conflict_unless_it_replaces(world):
    first = world.definition()
    other = SPEC | {"image": "tensorflow:2"}
    assert code(world.db.definitions.save, "ann", Kind.TRAINING, "train", other, NOW) == (
        409,
        "definition-exists",
    )
    assert world.db.definitions.get(first).spec == SPEC
    replaced = world.db.definitions.save("ann", Kind.TRAINING, "train", other, NOW, replace=True)
    assert (replaced.id, replaced.spec) == (first, other)


def test_replacing_leaves_runs_as_they_were(world):
    run = world.submit()
    world.db.definitions.save("ann", Kind.TRAINING, "train", SPEC | {"image": "x"}, NOW, replace=True)
    assert world.db.runs.get(run.id).spec == SPEC


def test_one_name_serves_each_kind_and_each_owner(world):
    world.person("bob", "vision")
    ids = {world.definition(o, kind=k) for o in ("ann", "bob") for k in Kind}
    assert len(ids) == 6
    assert len(world.db.definitions.list(owner="ann").items) == 3
    assert len(world.db.definitions.list(kind=Kind.WORKBENCH).items) == 2
    (one,) = world.db.definitions.list(owner="bob", kind=Kind.SERVICE, name="train").items
    assert (one.owner, one.kind) == ("bob", Kind.SERVICE)


def test_definitions_come_in_pages_newest_first(world):
    made = [world.definition(name=f"t{n}") for n in range(5)]
    first = world.db.definitions.list(limit=3)
    second = world.db.definitions.list(limit=3, after=first.next)
    assert [d.id for d in (*first.items, *second.items)] == made[::-1]
    assert second.next is None


def test_a_definition_in_use_is_not_removed(world):
    run = world.submit()
    assert code(world.db.definitions.delete, run.definition, NOW) == (409, "definition-in-use")
    world.db.runs.finish(run.id, Outcome.FAILED, "x", NOW)
    world.db.definitions.delete(run.definition, NOW)
    assert code(world.db.definitions.get, run.definition) == (404, "not-found")
    assert code(world.db.definitions.delete, run.definition, NOW) == (404, "not-found")
    assert world.db.definitions.list().items == ()
    assert world.db.runs.get(run.id).definition == run.definition
    assert ("definition-deleted", run.definition) in world.kinds(Topic.OPERATOR)


def test_the_name_of_a_removed_definition_is_free_again(world):
    first = world.definition()
    world.db.definitions.delete(first, NOW)
    second = world.definition()
    assert second != first
    assert [d.id for d in world.db.definitions.list().items] == [second]


def test_what_names_an_image_is_found_as_long_as_it_may_use_it(world):
    image = "registry.site:5000/users/ann/torch@sha256:abc"
    spec = SPEC | {"image": image}
    kept = world.db.definitions.save("ann", Kind.TRAINING, "train", spec, NOW).id
    run = world.db.runs.create(
        kept, "key", NOW, asks=ONE, spec=spec, queue="default", priority=50, cluster="default"
    ).id
    world.db.definitions.save("ann", Kind.TRAINING, "other", SPEC | {"image": "users/anna/torch:1"}, NOW)
    rows = [(u.kind, u.id, u.name, u.owner, u.image) for u in world.db.images.uses("users/ann/")]
    assert rows == [("run", run, "train", "ann", image), ("definition", kept, "train", "ann", image)]
    assert [u.name for u in world.db.images.uses("users/anna/")] == ["other"]
    assert world.db.images.uses("users/%/") == world.db.images.uses("users_ann/") == []
    world.db.runs.stop(run, NOW, by="ann")
    assert [u.kind for u in world.db.images.uses("users/ann/")] == ["definition"]
    world.db.definitions.delete(kept, NOW)
    assert world.db.images.uses("users/ann/") == []
