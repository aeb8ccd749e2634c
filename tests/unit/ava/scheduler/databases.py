"""Random work for a database: people submit, runs end, others are stopped; what was ever exceeded is reported at once."""
# ruff: noqa: S311 - sizes of runs, not secrets

from __future__ import annotations

import random
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from ava.db.database import Database
from ava.domain.model import Kind, Outcome, Quota, UserState
from ava.domain.problems import ApiError
from ava.domain.resources import Resources
from ava.scheduler.admission import AdmissionController

NOW = datetime(2026, 11, 24, tzinfo=UTC)
QUEUES = {"big": 20, "small": 10}
GROUPS = {"a": 12, "b": 9, "c": None}
SPEC = {"image": "i"}


@dataclass
class Random:
    """Submits, and rounds of admission after each few."""

    db: Database
    seed: int = 1
    full: int = 0
    running: list[str] = field(default_factory=list)
    waiting: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.r = random.Random(self.seed)
        self.definitions = {}
        for name, limit in QUEUES.items():
            self.db.queues.put(name, NOW, quota=Quota(limit, None, None), priority=limit)
        for name, limit in GROUPS.items():
            self.db.groups.create(name, Quota(limit, None, None), NOW)
            self.db.users.create(f"u{name}", f"{name}@example.org", "hash", NOW, state=UserState.ACTIVE)
            self.db.groups.add_member(name, f"u{name}", NOW)
            self.definitions[name] = self.db.definitions.save(f"u{name}", Kind.TRAINING, "t", SPEC, NOW).id
        self.admitters = [AdmissionController(self.db, "default") for _ in range(2)]

    def step(self, n: int) -> None:
        """Submit once; decide, end and stop at random; check."""
        now = NOW + timedelta(seconds=n)
        try:
            run = self.db.runs.create(
                self.definitions[self.r.choice(list(GROUPS))],
                f"k{n}",
                now,
                asks=Resources(self.r.choice((1, 1, 2, 4, 8)), 1000, 2**20),
                spec=SPEC,
                queue=self.r.choice(list(QUEUES)),
                priority=self.r.choice((10, 50, 90)),
                cluster="default",
            )
        except ApiError as error:
            assert error.status == 422, error
            return
        self.waiting.append(run.id)
        if self.r.random() < 0.3:
            self.r.choice(self.admitters).round(now, None)
            self.running = [run.id for run in self.db.runs.active()]
            self.waiting = [run.id for run in self.db.runs.waiting()]
            self.check()
            for id in [id for id in self.running if self.r.random() < 0.4]:
                self.db.runs.finish(id, Outcome.SUCCEEDED, "", now)
            while len(self.waiting) > 15:
                self.db.runs.stop(self.waiting.pop(self.r.randrange(len(self.waiting))), now, by="ann")

    def check(self) -> None:
        """Compare what runs, what is charged and what is used with the quotas."""
        active = {run.id: run for run in self.db.runs.active()}
        charges = {c.run: c.amount for c in self.db.charges.list(open_only=True)}
        assert charges == {id: run.asks for id, run in active.items()}
        for queue in self.db.queues.list():
            gpus = sum(run.asks.gpu for run in active.values() if run.queue == queue.name)
            assert gpus == queue.used.gpu
            assert gpus <= QUEUES.get(queue.name, 10**9)
            self.full += gpus == QUEUES.get(queue.name)
        for name, limit in GROUPS.items():
            gpus = sum(run.asks.gpu for run in active.values() if run.group == name)
            assert gpus <= (10**9 if limit is None else limit)
