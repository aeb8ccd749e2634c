"""The audit log."""

import pytest

from tests.unit.ava.db.world import NOW, code, later


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
def test_a_cursor_of_another_user_s_making_is_refused(world, cursor):
    assert code(world.db.audit.list, after=cursor) == (422, "cursor-invalid")
