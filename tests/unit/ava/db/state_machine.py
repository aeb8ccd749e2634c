"""Random work on a database with crashes between any two statements, beside a model of what must come of it."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace

from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, initialize, invariant, multiple, rule
from sqlalchemy import select

from ava.db.tables import charges, groups, messages, queues, runs
from ava.domain.model import Kind, Outcome, Phase, Quota, Topic, UserState
from ava.domain.problems import ApiError
from ava.domain.resources import Resources
from tests.unit.ava.db.crashes import Crash, Crasher
from tests.unit.ava.db.world import NOW, SPEC, later

PARTS = ("gpu", "cpu", "memory")
GROUPS, QUEUES, USERS = ("red", "blue"), ("default", "night"), ("ann", "bob")
AMOUNTS = st.builds(Resources, st.integers(0, 3), st.integers(0, 3), st.integers(0, 3))
LIMIT = st.none() | st.integers(0, 8)
QUOTAS = st.builds(Quota, LIMIT, LIMIT, LIMIT)
CRASHES = st.none() | st.tuples(st.integers(0, 14), st.sampled_from(Crasher.MOMENTS))


@dataclass(frozen=True)
class Modelled:
    """What a run must be like."""

    owner: str
    kind: Kind
    definition: str
    group: str
    queue: str
    asks: Resources
    key: str
    phase: Phase = Phase.QUEUED
    stop: bool = False
    attempt: int = 0
    outcome: Outcome | None = None


@dataclass
class Model:
    """What the database must hold."""

    quotas: dict[str, Quota] = field(default_factory=dict)
    lines: dict[str, Quota] = field(default_factory=dict)
    members: dict[str, list[str]] = field(default_factory=dict)
    default: dict[str, str | None] = field(default_factory=dict)
    runs: dict[str, Modelled] = field(default_factory=dict)

    def used(self, where: str, name: str) -> Resources:
        """Return what a group or queue must use."""
        total = Resources()
        for run in self.runs.values():
            if run.phase is Phase.ADMITTED and getattr(run, where) == name:
                total = total.plus(run.asks)
        return total


def within(amount: Resources, quota: Quota) -> bool:
    return all(
        limit is None or value <= limit
        for value, limit in zip(amount, (quota.gpu, quota.cpu, quota.memory), strict=True)
    )


class DatabaseMachine(RuleBasedStateMachine):
    """Two groups, two queues, two users; a subclass says where the database is (``begin``, ``end``)."""

    started = Bundle("runs")

    def begin(self):
        """Return an empty database and its crasher."""
        raise NotImplementedError

    def end(self) -> None:
        """Give back what ``begin`` took."""

    def __init__(self) -> None:
        super().__init__()
        self.db, self.crasher = self.begin()
        self.model = Model()
        self.clock = 0
        self.operations = 0

    def teardown(self) -> None:
        self.db.close()
        self.end()

    def now(self):
        self.clock += 1
        return later(self.clock)

    def done(self, call, crash):
        """Return what a call answers; where it crashes, the database is whole, and the same call again is carried out."""
        self.operations += 1
        if crash is not None:
            try:
                with self.crasher.at(*crash):
                    return self.answer(call)
            except Crash:
                self.books_are_right()
        return self.answer(call)

    def answer(self, call):
        try:
            return call()
        except ApiError as refusal:
            if refusal.status == 503:
                raise Crash from refusal
            return refusal

    @initialize()
    def people(self) -> None:
        for name in GROUPS:
            self.model.quotas[name] = Quota(6, 6, 6)
            self.db.groups.create(name, self.model.quotas[name], NOW)
        for name in QUEUES:
            self.model.lines[name] = Quota(None, None, None)
            self.db.queues.put(name, NOW, quota=self.model.lines[name])
        for name in USERS:
            self.db.users.create(name, f"{name}@example.org", "h", NOW, state=UserState.ACTIVE)
            self.db.groups.add_member("red", name, NOW)
            self.model.members[name], self.model.default[name] = ["red"], "red"

    @rule(
        target=started, user=st.sampled_from(USERS), kind=st.sampled_from(Kind), asks=AMOUNTS,
        queue=st.sampled_from(QUEUES), key=st.integers(0, 30), crash=CRASHES,
    )  # fmt: skip
    def submit(self, user, kind, asks, queue, key, crash):
        definition = self.db.definitions.save(user, kind, "d", SPEC, NOW).id
        now, key = self.now(), f"k{key}"
        before = [i for i, r in self.model.runs.items() if (r.owner, r.key) == (user, key)]
        answer = self.done(
            lambda: self.db.runs.create(
                definition, key, now, asks=asks, spec=SPEC, queue=queue, priority=50, cluster="default"
            ),
            crash,
        )
        if before:
            same = self.model.runs[before[0]].definition == definition
            assert answer.id == before[0] if same else answer.problems[0].code == "idempotency-key-reused"
            return multiple()
        group = self.model.default[user]
        open_bench = kind in (Kind.WORKBENCH, Kind.SERVICE) and any(
            r.definition == definition and r.phase is not Phase.FINISHED for r in self.model.runs.values()
        )
        if group is None or open_bench:
            assert answer.status == 409
            return multiple()
        if not (within(asks, self.model.quotas[group]) and within(asks, self.model.lines[queue])):
            assert answer.status == 422
            return multiple()
        assert answer.phase is Phase.QUEUED
        self.model.runs[answer.id] = Modelled(user, kind, definition, group, queue, asks, key)
        return answer.id

    @rule(run=started, crash=CRASHES)
    def admit(self, run, crash):
        now, known = self.now(), self.model.runs[run]
        why_not = self.done(lambda: self.db.runs.admit(run, now), crash)
        if known.phase is not Phase.QUEUED:
            assert bool(why_not) == (known.phase is Phase.FINISHED)
            return
        fits = within(known.asks.plus(self.model.used("group", known.group)), self.model.quotas[known.group])
        fits = fits and within(
            known.asks.plus(self.model.used("queue", known.queue)), self.model.lines[known.queue]
        )
        fits = fits and known.group in self.model.members[known.owner]
        assert (why_not == ()) == fits
        if fits:
            self.model.runs[run] = replace(known, phase=Phase.ADMITTED)

    @rule(run=started, crash=CRASHES)
    def stop(self, run, crash):
        now, known = self.now(), self.model.runs[run]
        self.done(lambda: self.db.runs.stop(run, now, by="ann"), crash)
        if known.phase is Phase.QUEUED:
            self.model.runs[run] = replace(known, phase=Phase.FINISHED, stop=True, outcome=Outcome.STOPPED)
        elif known.phase is Phase.ADMITTED:
            self.model.runs[run] = replace(known, stop=True)

    @rule(run=started, outcome=st.sampled_from(Outcome), crash=CRASHES)
    def finish(self, run, outcome, crash):
        now, known = self.now(), self.model.runs[run]
        self.done(lambda: self.db.runs.finish(run, outcome, "", now), crash)
        if known.phase is not Phase.FINISHED:
            self.model.runs[run] = replace(known, phase=Phase.FINISHED, outcome=outcome)

    @rule(run=started, crash=CRASHES)
    def restart(self, run, crash):
        now, known = self.now(), self.model.runs[run]
        answer = self.done(lambda: self.db.runs.restart(run, known.attempt, now), crash)
        if known.phase is Phase.ADMITTED and not known.stop:
            self.model.runs[run] = replace(known, attempt=known.attempt + 1)
            assert answer.attempt == known.attempt + 1
        else:
            assert answer.status == 409

    @rule(group=st.sampled_from(GROUPS), quota=QUOTAS, crash=CRASHES)
    def set_quota(self, group, quota, crash):
        now = self.now()
        answer = self.done(lambda: self.db.groups.set_quota(group, quota, now), crash)
        if within(self.model.used("group", group), quota):
            self.model.quotas[group] = quota
        else:
            assert answer.status == 409

    @rule(queue=st.sampled_from(QUEUES), quota=QUOTAS, crash=CRASHES)
    def set_queue(self, queue, quota, crash):
        now = self.now()
        answer = self.done(lambda: self.db.queues.put(queue, now, quota=quota), crash)
        if within(self.model.used("queue", queue), quota):
            self.model.lines[queue] = quota
        else:
            assert answer.status == 409

    @rule(user=st.sampled_from(USERS), group=st.sampled_from(GROUPS), crash=CRASHES)
    def join(self, user, group, crash):
        now = self.now()
        self.done(lambda: self.db.groups.add_member(group, user, now), crash)
        if group not in self.model.members[user]:
            self.model.members[user].append(group)
        self.model.default[user] = self.model.default[user] or group

    @rule(user=st.sampled_from(USERS), group=st.sampled_from(GROUPS), crash=CRASHES)
    def leave(self, user, group, crash):
        now = self.now()
        self.done(lambda: self.db.groups.remove_member(group, user, now), crash)
        if group in self.model.members[user]:
            self.model.members[user].remove(group)
        if self.model.default[user] == group:
            self.model.default[user] = next(iter(self.model.members[user]), None)

    @rule(user=st.sampled_from(USERS), group=st.sampled_from(GROUPS), crash=CRASHES)
    def choose(self, user, group, crash):
        answer = self.done(lambda: self.db.users.set_default_group(user, group), crash)
        if group in self.model.members[user]:
            self.model.default[user] = group
        else:
            assert answer.status == 409

    @invariant()
    def database_is_as_modelled(self) -> None:
        found = self.books_are_right()
        assert {
            id: (r.owner, r.group_name, r.queue, r.phase, r.attempt, r.outcome, r.stop is not None)
            for id, r in found.items()
        } == {
            id: (r.owner, r.group, r.queue, r.phase, r.attempt, r.outcome, r.stop)
            for id, r in self.model.runs.items()
        }
        for user, default in self.model.default.items():
            assert self.db.users.get(user).default_group == default

    def books_are_right(self):
        """Check what holds of every database at any time; return its runs."""
        with self.db.engine.connect() as connection:
            rows = {row.id: row for row in connection.execute(select(runs))}
            booked = connection.execute(select(charges)).all()
            shared = [(t, row) for t in (groups, queues) for row in connection.execute(select(t))]
            report = connection.execute(select(messages)).all()
        still = [c for c in booked if c.ended is None]
        for table, row in shared:
            column = "group_name" if table is groups else "queue"
            for part in PARTS:
                used, limit = getattr(row, f"used_{part}"), getattr(row, f"quota_{part}")
                assert used == sum(getattr(c, part) for c in still if getattr(c, column) == row.name)
                assert limit is None or used <= limit
        assert max(Counter(c.run for c in booked).values(), default=0) <= 1, "charged twice"
        assert {c.run for c in still} == {id for id, r in rows.items() if r.phase == Phase.ADMITTED}
        assert {c.run for c in booked} == {id for id, r in rows.items() if r.admitted is not None}
        for charge in booked:
            run = rows[charge.run]
            assert all(getattr(charge, part) == getattr(run, part) for part in PARTS)
            assert (charge.group_name, charge.user_name) == (run.group_name, run.owner)
            assert (charge.began, charge.ended) == (run.admitted, run.finished)
        self.messages_are_right(rows, Counter((m.topic, m.kind, m.object) for m in report))
        return rows

    def messages_are_right(self, rows, sent) -> None:
        for id, run in rows.items():
            admitted, finished = run.admitted is not None, run.phase == Phase.FINISHED
            assert sent[Topic.SCHEDULER, "run-queued", id] == 1
            assert sent[Topic.OPERATOR, "run-admitted", id] == (run.attempt + 1 if admitted else 0)
            assert sent[Topic.OPERATOR, "run-stop", id] == (admitted and run.stop is not None)
            assert sent[Topic.OPERATOR, "run-finished", id] == (admitted and finished)
            assert (
                sent[Topic.SCHEDULER, "run-finished", id]
                == sent[Topic.NOTICE, "run-finished", id]
                == finished
            )
