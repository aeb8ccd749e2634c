"""Definitions: stored once by owner, kind and name."""

from ava.domain.model import Kind, Outcome, Topic
from tests.unit.ava.db.world import NOW, ONE, SPEC, code


def test_the_same_again_changes_nothing(world):
    first = world.store.save_definition("ann", Kind.TRAINING, "train", SPEC, NOW)
    again = world.store.save_definition(world.store.user("ann").id, Kind.TRAINING, "train", dict(SPEC), NOW)
    assert first == again == world.store.definition(first.id)
    assert (first.owner, first.spec) == ("ann", SPEC)
    # What comes as a tuple is read back as a list, and is the same.
    as_tuples = SPEC | {"roles": tuple(SPEC["roles"])}
    assert world.store.save_definition("ann", Kind.TRAINING, "train", as_tuples, NOW) == first


def test_another_spec_is_a_conflict_unless_it_replaces(world):
    first = world.definition()
    other = SPEC | {"image": "tensorflow:2"}
    assert code(world.store.save_definition, "ann", Kind.TRAINING, "train", other, NOW) == (
        409,
        "definition-exists",
    )
    assert world.store.definition(first).spec == SPEC
    replaced = world.store.save_definition("ann", Kind.TRAINING, "train", other, NOW, replace=True)
    assert (replaced.id, replaced.spec) == (first, other)


def test_replacing_leaves_runs_as_they_were(world):
    run = world.submit()
    world.store.save_definition("ann", Kind.TRAINING, "train", SPEC | {"image": "x"}, NOW, replace=True)
    assert world.store.run(run.id).spec == SPEC


def test_one_name_serves_each_kind_and_each_owner(world):
    world.person("bob", "vision")
    ids = {world.definition(o, kind=k) for o in ("ann", "bob") for k in Kind}
    assert len(ids) == 6
    assert len(world.store.definitions(owner="ann").items) == 3
    assert len(world.store.definitions(kind=Kind.WORKBENCH).items) == 2
    (one,) = world.store.definitions(owner="bob", kind=Kind.SERVICE, name="train").items
    assert (one.owner, one.kind) == ("bob", Kind.SERVICE)


def test_definitions_come_in_pages_newest_first(world):
    made = [world.definition(name=f"t{n}") for n in range(5)]
    first = world.store.definitions(limit=3)
    second = world.store.definitions(limit=3, after=first.next)
    assert [d.id for d in (*first.items, *second.items)] == made[::-1]
    assert second.next is None


def test_a_definition_in_use_is_not_removed(world):
    run = world.submit()
    assert code(world.store.delete_definition, run.definition, NOW) == (409, "definition-in-use")
    world.store.finish(run.id, Outcome.FAILED, "x", NOW)
    world.store.delete_definition(run.definition, NOW)
    assert code(world.store.definition, run.definition) == (404, "not-found")
    assert code(world.store.delete_definition, run.definition, NOW) == (404, "not-found")
    assert world.store.definitions().items == ()
    assert world.store.run(run.id).definition == run.definition
    assert ("definition-deleted", run.definition) in world.kinds(Topic.OPERATOR)


def test_the_name_of_a_removed_definition_is_free_again(world):
    first = world.definition()
    world.store.delete_definition(first, NOW)
    second = world.definition()
    assert second != first
    assert [d.id for d in world.store.definitions().items] == [second]


def test_what_names_an_image_is_found_as_long_as_it_may_use_it(world):
    image = "registry.site:5000/users/ann/torch@sha256:abc"
    spec = SPEC | {"image": image}
    kept = world.store.save_definition("ann", Kind.TRAINING, "train", spec, NOW).id
    run = world.store.submit(
        kept, "key", NOW, asks=ONE, spec=spec, queue="default", priority=50, cluster="default"
    ).id
    world.store.save_definition("ann", Kind.TRAINING, "other", SPEC | {"image": "users/anna/torch:1"}, NOW)
    rows = [(u.kind, u.id, u.name, u.owner, u.image) for u in world.store.image_uses("users/ann/")]
    assert rows == [("run", run, "train", "ann", image), ("definition", kept, "train", "ann", image)]
    assert [u.name for u in world.store.image_uses("users/anna/")] == ["other"]
    assert world.store.image_uses("users/%/") == world.store.image_uses("users_ann/") == []
    world.store.stop(run, NOW, by="ann")
    assert [u.kind for u in world.store.image_uses("users/ann/")] == ["definition"]
    world.store.delete_definition(kept, NOW)
    assert world.store.image_uses("users/ann/") == []
