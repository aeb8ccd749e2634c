"""What users write at length stays where it is: definitions are bounded, and lists and queues read their outlines alone."""

import tracemalloc

import pytest

from ava.db import definitions
from ava.domain import outline
from ava.domain.model import Kind
from tests.unit.ava.db.world import NOW, ONE, code

LARGE = {f"V{i}": "x" * 4000 for i in range(13)}
SPEC = {
    "image": "registry.local/torch:2",
    "env": LARGE,
    "command": ["sh", "-c", "y" * 4000],
    "roles": [
        {"name": "worker", "replicas": 2, "each": {"gpu": 1}, "command": ["z" * 4000], "policy": "abort"}
    ],
    "data_sets": [],
    "gpu_model": "V100",
    "disk": None,
    "serving": None,
}
MANY = 40


def submit(world, number, spec=SPEC, definition=None):
    id = definition or world.db.definitions.save("ann", Kind.TRAINING, f"t{number}", SPEC, NOW).id
    return world.db.runs.create(
        id, f"k{number}", NOW, asks=ONE, spec=spec, queue="default", priority=50, cluster="default"
    )


def peak(call):
    """Return what a call returns and the MiB that it has taken at most."""
    tracemalloc.start()
    found = call()
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return found, most / 2**20


@pytest.mark.parametrize(
    ("change", "fits"),
    [
        ({"env": {}}, True),
        ({"env": {f"V{i}": "x" * 4096 for i in range(16)}}, False),
        (
            {
                "env": {
                    "A": "字" * 4000,
                    "B": "字" * 4000,
                    "C": "字" * 4000,
                }
            },
            True,
        ),
        ({"env": {}, "command": ["x" * 4096] * 4}, False),
        ({"env": {}, "roles": [{"command": [""] * 6000}]}, False),
    ],
)
def test_a_definition_has_a_largest_size_wherever_it_is_kept(world, change, fits):
    spec = SPEC | change

    def keep():
        return world.db.definitions.save("ann", Kind.TRAINING, "a", spec, NOW)

    def run():
        return submit(world, 0, spec, world.definition())

    if fits:
        assert keep().spec == spec and run().spec == spec
    else:
        assert code(keep) == code(run) == (422, "definition-too-large")


def test_a_service_takes_no_larger_one_either(world):
    service = SPEC | {"env": {}, "roles": [{"replicas": 1, "each": {}}], "queue": "default"}
    id = world.db.definitions.save("ann", Kind.SERVICE, "s", service, NOW).id
    run = submit(world, 0, service, id)
    larger = service | {"env": {f"V{i}": "x" * 4096 for i in range(16)}}
    assert code(world.db.model_services.update, run.id, larger, NOW) == (422, "definition-too-large")


def test_a_user_has_so_many_definitions_and_may_go_on_when_one_is_deleted(world, monkeypatch):
    monkeypatch.setattr(definitions, "MOST_DEFINITIONS", 3)
    ids = [world.definition(name=f"t{i}") for i in range(3)]
    assert code(world.definition, name="t3") == (409, "too-many-definitions")
    world.definition(name="t2")  # what is there may be stored again
    world.db.definitions.delete(ids[0], NOW)
    world.definition(name="t3")
    world.person("bob", "vision")
    world.definition("bob", name="t3")


def test_lists_and_the_queue_read_outlines(world):
    runs = [submit(world, i) for i in range(MANY)]
    for run in runs[: MANY // 4]:
        world.db.runs.admit(run.id, NOW)
    for read in (
        lambda: world.db.definitions.list(limit=500).items,
        lambda: world.db.runs.list(limit=500).items,
        lambda: world.db.runs.waiting(),
        lambda: world.db.runs.active(),
    ):
        read()
        found, taken = peak(read)
        assert found and taken < 1.0, f"{taken:.1f} MiB for {len(found)}"
        assert all(one.spec == outline.outline(SPEC) for one in found)
    role = {"name": "worker", "replicas": 2, "each": {"gpu": 1}, "policy": "abort"}
    assert found[0].spec["roles"] == [role] and "env" not in found[0].spec
    assert world.db.runs.get(runs[0].id).spec == world.db.definitions.get(runs[0].definition).spec == SPEC
    (one,) = world.db.definitions.list(name="t1", whole=True).items
    assert one.spec == SPEC


def test_outlines_follow_every_change(world):
    service = SPEC | {
        "kind": "service",
        "roles": [{"replicas": 1, "each": {}}],
        "serving": {"access": "group"},
    }
    id = world.db.definitions.save("ann", Kind.SERVICE, "s", service, NOW).id
    run = submit(world, 0, service, id)
    world.db.runs.admit(run.id, NOW)
    world.db.model_services.scale(run.id, 3, NOW)
    assert world.db.runs.active()[0].spec["roles"][0]["replicas"] == 3
    world.db.model_services.update(run.id, service | {"image": "other", "serving": {"access": "public"}}, NOW)
    now = world.db.runs.list().items[0].spec
    assert (now["image"], now["serving"]) == ("other", {"access": "public"})
    world.db.definitions.save("ann", Kind.SERVICE, "s", service | {"image": "new"}, NOW, replace=True)
    assert world.db.definitions.list().items[0].spec["image"] == "new"


@pytest.mark.parametrize(
    "spec", [{}, {"roles": None}, {"roles": [None, 1]}, {"roles": {"a": 1}}, {"roles": "x"}]
)
def test_an_outline_of_what_an_earlier_version_kept_is_there(spec):
    assert outline.outline(spec | {"env": 1}) == spec
