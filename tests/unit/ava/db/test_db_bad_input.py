"""What no one should send: refused with a problem, and the database is as it was."""

from datetime import datetime, timedelta, timezone

from sqlalchemy import select

from ava.db.tables import metadata
from ava.domain.model import Kind, Outcome, Pool, Quota
from ava.domain.problems import ApiError
from ava.domain.resources import Resources
from tests.unit.ava.db.world import NOW, ONE, SPEC

NAIVE = datetime(2026, 11, 24, 12)
LAST = datetime.max.replace(tzinfo=timezone(-timedelta(hours=5)))
TEXTS = {
    "nul": "a\0b",
    "half a character": "a\ud800b",
    "long": "a" * 10_000,
    "a mebibyte": "a" * 2**20,
    "empty": "",
    "blanks": "  ",
    "line": "a\nb",
    "path": "../../etc/passwd",
    "statement": "a'; DROP TABLE runs; --",
    "an id": "u1aaaaaaaaaaa",
    "capital": "Ann",
    "not ascii": "änn",
    "reserved": "root",
}
NOT_ALLOWED_ANYWHERE = ("nul", "half a character")
NUMBERS = {"negative": -1, "too much": 2**53 + 1, "64 bits": 2**63, "more": 2**100, "bool": True, "half": 0.5}


def doing(world):
    """Return what is tried: name → call."""
    db, run = world.db, world.running()
    world.person("bob")
    secret = db.secrets.create("ann", "token", "a" * 64, NOW, until=None)
    definition = run.definition

    def submit(**change):
        request = {"asks": ONE, "spec": SPEC, "queue": "default", "priority": 50, "cluster": "default"}
        key = change.pop("key", "k")
        at = change.pop("now", NOW)
        return lambda: db.runs.create(definition, key, at, **(request | change))

    cases = {}
    for what, text in TEXTS.items():
        bad = text
        cases |= {
            f"user's name: {what}": lambda t=bad: db.users.create(t, "x@example.org", "h", NOW),
            f"group's name: {what}": lambda t=bad: db.groups.create(t, Quota(), NOW),
            f"address: {what}": lambda t=bad: db.users.create("eve", t, "h", NOW),
            f"new address: {what}": lambda t=bad: db.users.update("ann", NOW, email=t),
            f"asked user: {what}": lambda t=bad: db.users.get(t),
            f"asked group: {what}": lambda t=bad: db.groups.get(t),
            f"asked run: {what}": lambda t=bad: db.runs.get(t),
            f"asked definition: {what}": lambda t=bad: db.definitions.get(t),
            f"member: {what}": lambda t=bad: db.groups.add_member("vision", t, NOW),
            f"runs of: {what}": lambda t=bad: db.runs.list(owner=t),
            f"queue: {what}": submit(queue=text),
        }
        if what not in ("an id", "reserved"):
            cases[f"definition's name: {what}"] = lambda t=bad: db.definitions.save(
                "ann", Kind.TRAINING, t, {}, NOW
            )
            cases[f"queue's name: {what}"] = lambda t=bad: db.queues.put(t, NOW)
            cases[f"key's name: {what}"] = lambda t=bad: db.keys.put("ann", "ssh", t, "v", NOW)
            cases[f"cluster: {what}"] = submit(cluster=text)
        if what in (*NOT_ALLOWED_ANYWHERE, "long", "a mebibyte", "empty", "line"):
            cases[f"key: {what}"] = submit(key=text)
        if what in NOT_ALLOWED_ANYWHERE:
            cases |= {
                f"hash: {what}": lambda t=bad: db.users.update("ann", NOW, password=t),
                f"label: {what}": lambda t=bad: db.secrets.create(
                    "ann", "token", "b" * 64, NOW, until=None, label=t
                ),
                f"ssh key: {what}": lambda t=bad: db.keys.put("ann", "ssh", "x", t, NOW),
                f"spec: {what}": lambda t=bad: db.definitions.save(
                    "ann", Kind.TRAINING, "x", {"a": [t]}, NOW
                ),
                f"spec's key: {what}": lambda t=bad: db.definitions.save(
                    "ann", Kind.TRAINING, "x", {t: 1}, NOW
                ),
                f"run's spec: {what}": submit(spec={"command": [text]}),
                f"cursor of users: {what}": lambda t=bad: db.users.list(after=t),
                f"cursor of runs: {what}": lambda t=bad: db.runs.list(after=t),
                f"audit of: {what}": lambda t=bad: db.audit.list(who=t),
                f"charges of: {what}": lambda t=bad: db.charges.list(run=t),
            }
    for what, number in NUMBERS.items():
        for part in range(3):
            amounts = [1, 1, 1]
            amounts[part] = number
            cases |= {
                f"asks {part}: {what}": submit(asks=Resources(*amounts)),
                f"quota {part}: {what}": lambda a=tuple(amounts): db.groups.set_quota(
                    "vision", Quota(*a), NOW
                ),
                f"new quota {part}: {what}": lambda a=tuple(amounts): db.groups.create("new", Quota(*a), NOW),
                f"queue's quota {part}: {what}": lambda a=tuple(amounts): db.queues.put(
                    "q", NOW, quota=Quota(*a)
                ),
            }
        cases[f"storage: {what}"] = lambda n=number: db.groups.set_quota("vision", Quota(9, 9, 9, n), NOW)
        cases[f"priority: {what}"] = submit(priority=number)
        if what != "bool":
            cases[f"queue's priority: {what}"] = lambda n=number: db.queues.put("q", NOW, priority=n)
            cases[f"slots: {what}"] = lambda n=number: db.pools.put(Pool("", "p", True, {}, gpu_slots=n))
    for limit in (0, -1, 1001, 2**70):
        cases |= {
            f"runs, {limit}": lambda n=limit: db.runs.list(limit=n),
            f"users, {limit}": lambda n=limit: db.users.list(limit=n),
            f"waiting, {limit}": lambda n=limit: db.runs.waiting(n),
            f"charges, {limit}": lambda n=limit: db.charges.list(limit=n),
        }
    for what, at in (("no zone", NAIVE), ("end of time", LAST)):
        cases |= {
            f"user at {what}": lambda t=at: db.users.create("eve", "e@example.org", "h", t),
            f"group at {what}": lambda t=at: db.groups.create("new", Quota(), t),
            f"definition at {what}": lambda t=at: db.definitions.save("ann", Kind.TRAINING, "x", {}, t),
            f"submit at {what}": submit(now=at),
            f"stop at {what}": lambda t=at: db.runs.stop(run.id, t, by="ann"),
            f"finish at {what}": lambda t=at: db.runs.finish(run.id, Outcome.FAILED, "", t),
            f"token until {what}": lambda t=at: db.secrets.create("ann", "token", "b" * 64, NOW, until=t),
            f"usage until {what}": lambda t=at: db.charges.usage(NOW, t, now=t),
            f"message done at {what}": lambda t=at: db.outbox.complete([1], t),
            f"log at {what}": lambda t=at: db.audit.write(
                t, who="a", action="b", object="c", outcome="d", address="e", detail={}
            ),
        }
    deep: list = []
    for _ in range(100_000):
        deep = [deep]
    for what, spec in {
        "no number": {"a": float("nan")},
        "without end": {"a": float("inf")},
        "two mebibytes": {"a": "x" * 2**21},
        "deep": {"a": deep},
        "bytes": {"a": b"x"},
        "a set": {"a": {1}},
    }.items():
        cases[f"spec: {what}"] = lambda s=spec: db.definitions.save("ann", Kind.TRAINING, "x", s, NOW)
        cases[f"run's spec: {what}"] = submit(spec=spec)
    return cases | {
        "another's token": lambda: db.secrets.delete("bob", secret),
        "a run as a definition": lambda: db.definitions.get(run.id),
        "a definition as a run": lambda: db.runs.get(definition),
        "a run as a user": lambda: db.users.get(run.id),
        "a user as a group": lambda: db.groups.add_member(db.users.get("ann").id, "bob", NOW),
        "an attempt before the first": lambda: (
            db.runs.restart(run.id, -1, NOW) and db.runs.restart(run.id, 5, NOW)
        ),
        "long hash": lambda: db.users.update("ann", NOW, password="x" * 501),
        "long label": lambda: db.secrets.create("ann", "token", "b" * 64, NOW, until=None, label="x" * 201),
        "long key": lambda: db.keys.put("ann", "ssh", "x", "y" * 20_001, NOW),
    }


def content(db):
    """Return all rows of all tables."""
    with db.engine.connect() as connection:
        return {t.name: sorted(map(str, connection.execute(select(t)))) for t in metadata.sorted_tables}


def test_bad_input_is_refused_and_changes_nothing(world):
    cases = doing(world)
    assert len(cases) >= 300
    wrong, before = {}, content(world.db)
    for name, call in cases.items():
        try:
            answer = call()
        except ApiError as refusal:
            problem = refusal.problems[0]
            if (
                refusal.status not in (404, 409, 422)
                or not problem.what
                or "sqlalche" in str(refusal.problems)
            ):
                wrong[name] = f"{refusal.status} {refusal.problems}"
        except Exception as error:
            wrong[name] = repr(error)[:200]
        else:
            wrong[name] = f"accepted: {answer!r}"[:200]
        if (after := content(world.db)) != before:
            wrong[name] = f"{wrong.get(name, '')} changed the database"
            before = after
    assert wrong == {}


def test_amounts_without_limit_are_still_counted_exactly(world):
    world.db.groups.set_quota("vision", Quota(None, None, None), NOW)
    most = Resources(2**53, 2**53, 2**53)
    for _ in range(3):
        world.running(most)
    assert world.db.groups.get("vision").used == most.times(3)
