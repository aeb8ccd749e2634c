"""Eight threads, each with a store of its own, that try to have more than there is."""

from __future__ import annotations

import random
import threading
import time
from datetime import UTC, datetime
from math import inf

import pytest

from ava.db.database import open_database
from ava.domain.model import Outcome, Quota
from ava.domain.problems import ApiError
from ava.domain.resources import Resources
from tests.platform.history import History, disagreements, overruns
from tests.unit.ava.db.world import NOW, SPEC, World

THREADS = 8
SECONDS = 300
"""At most; it ends when enough was tried, however busy the machine is."""
LIMITS = {"group vision": Quota(10, 16_000, 64 * 2**30), "queue default": Quota(7, None, None)}


def now() -> datetime:
    return datetime.now(UTC)


class Client:
    """Submits, admits, ends, and changes quotas, as fast as it can, and writes down what it got."""

    def __init__(self, url: str, definition: str, history: History, number: int) -> None:
        self.db = open_database(url)
        self.definition = definition
        self.history = history
        self.random = random.Random(number)  # noqa: S311
        self.number = number
        self.waiting: list[str] = []
        self.running: list[str] = []
        self.done = 0

    def work(self, ended: threading.Event) -> None:
        while not ended.is_set():
            step = self.random.choices([self.submit, self.admit, self.finish, self.change], [3, 5, 3, 0.3])[0]
            try:
                step()
            except ApiError as refusal:
                if refusal.status != 503:
                    raise
                time.sleep(0.05)
            self.done += 1
        self.db.close()

    def submit(self) -> None:
        asks = Resources(self.random.randint(0, 3), 100, 2**30)
        key = f"{self.number}-{self.done}"
        run = self.db.runs.create(
            self.definition, key, now(), asks=asks, spec=SPEC, queue="default", priority=50, cluster="default"
        )
        self.history.submitted(run)
        self.waiting.append(run.id)

    def admit(self) -> None:
        if not self.waiting:
            return
        run = self.random.choice(self.waiting)
        with self.history.operation("admit", run) as operation:
            operation.done = self.db.runs.admit(run, now()) == ()
        if operation.done:
            self.waiting.remove(run)
            self.running.append(run)

    def finish(self) -> None:
        if not self.running:
            return
        run = self.random.choice(self.running)
        with self.history.operation("finish", run) as operation:
            self.db.runs.finish(run, self.random.choice(list(Outcome)), "", now())
            operation.done = True
        self.running.remove(run)

    def change(self) -> None:
        gpus = self.random.randint(5, 12)
        if self.random.random() < 0.5:
            quota = Quota(gpus, 16_000, 64 * 2**30)
            with self.history.operation("quota", "group vision", quota) as operation:
                self.db.groups.set_quota("vision", quota, now())
                operation.done = True
        else:
            quota = Quota(gpus, None, None)
            with self.history.operation("quota", "queue default", quota) as operation:
                self.db.queues.put("default", now(), quota=quota)
                operation.done = True


def work(url: str, world: World, disturb=lambda: None, lost: int = 0) -> History:
    """Return what eight clients got while they are disturbed, until so many answers were lost."""
    world.db.groups.set_quota("vision", LIMITS["group vision"], NOW)
    world.db.queues.put("default", NOW, quota=LIMITS["queue default"])
    history, definition, errors = History(), world.definition(), []
    clients = [Client(url, definition, history, n) for n in range(THREADS)]
    ended, until = threading.Event(), time.monotonic() + SECONDS

    def run(client):
        try:
            client.work(ended)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=run, args=(client,)) for client in clients]
    for thread in threads:
        thread.start()
    while time.monotonic() < until and not errors and not enough(history, lost):
        time.sleep(1)
        disturb()
    ended.set()
    for thread in threads:
        thread.join(60)
    assert errors == []
    assert not any(thread.is_alive() for thread in threads)
    return history


def enough(history: History, lost: int = 0) -> bool:
    """Return whether something can be learnt: quotas were reached often, and so many answers were lost."""
    operations = list(history.operations)
    admissions = [o for o in operations if o.kind == "admit"]
    granted, refused = sum(o.done is True for o in admissions), sum(o.done is False for o in admissions)
    answers = sum(o.end == inf for o in operations)
    # Those that are under way have no end yet either.
    return granted >= 60 and refused >= 60 and (not lost or answers >= lost + THREADS)


def check(history: History, world: World, lost: int = 0) -> None:
    assert enough(history) and sum(o.end == inf for o in history.operations) >= lost
    assert overruns(history, LIMITS) == []
    assert disagreements(history, world.db) == []


def test_no_quota_is_exceeded_however_many_try(url, world):
    check(work(url, world), world)
    with world.db.engine.connect() as connection:
        deadlocks = "SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()"
        # Each costs a second and a repeated transaction: locks are to be taken in one order.
        assert connection.exec_driver_sql(deadlocks).scalar() == 0


@pytest.mark.slow
def test_no_charge_is_lost_or_doubled_while_connections_are_cut(server, database, url, world):
    check(work(url, world, disturb=lambda: server.cut(database), lost=3), world, lost=3)
