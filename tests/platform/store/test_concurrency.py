"""Eight threads, each with a store of its own, that try to have more than there is."""

from __future__ import annotations

import random
import threading
import time
from datetime import UTC, datetime

import pytest

from ava.domain.model import Outcome, Quota
from ava.domain.problems import Refused
from ava.domain.resources import Resources
from ava.store.open import open_store
from tests.platform.history import History, disagreements, overruns
from tests.unit.ava.store.world import NOW, SPEC, World

pytestmark = pytest.mark.platform
THREADS = 8
SECONDS = 10
LIMITS = {"group vision": Quota(10, 16_000, 64 * 2**30), "queue default": Quota(7, None, None)}


def now() -> datetime:
    return datetime.now(UTC)


class Client:
    """Submits, admits, ends, and changes quotas, as fast as it can, and writes down what it was told."""

    def __init__(self, url: str, definition: str, history: History, number: int) -> None:
        self.store = open_store(url)
        self.definition = definition
        self.history = history
        self.random = random.Random(number)  # noqa: S311
        self.number = number
        self.waiting: list[str] = []
        self.running: list[str] = []
        self.done = 0

    def work(self, until: float) -> None:
        while time.monotonic() < until:
            step = self.random.choices([self.submit, self.admit, self.finish, self.change], [3, 5, 3, 0.3])[0]
            try:
                step()
            except Refused as refusal:
                if refusal.status != 503:
                    raise
                time.sleep(0.05)
            self.done += 1
        self.store.close()

    def submit(self) -> None:
        asks = Resources(self.random.randint(0, 3), 100, 2**30)
        key = f"{self.number}-{self.done}"
        run = self.store.submit(
            self.definition, key, now(), asks=asks, spec=SPEC, queue="default", priority=50, cluster="default"
        )
        self.history.submitted(run)
        self.waiting.append(run.id)

    def admit(self) -> None:
        if not self.waiting:
            return
        run = self.random.choice(self.waiting)
        with self.history.operation("admit", run) as operation:
            operation.done = self.store.admit(run, now()) == ()
        if operation.done:
            self.waiting.remove(run)
            self.running.append(run)

    def finish(self) -> None:
        if not self.running:
            return
        run = self.random.choice(self.running)
        with self.history.operation("finish", run) as operation:
            self.store.finish(run, self.random.choice(list(Outcome)), "", now())
            operation.done = True
        self.running.remove(run)

    def change(self) -> None:
        gpus = self.random.randint(5, 12)
        if self.random.random() < 0.5:
            quota = Quota(gpus, 16_000, 64 * 2**30)
            with self.history.operation("quota", "group vision", quota) as operation:
                self.store.set_quota("vision", quota, now())
                operation.done = True
        else:
            quota = Quota(gpus, None, None)
            with self.history.operation("quota", "queue default", quota) as operation:
                self.store.put_queue("default", now(), quota=quota)
                operation.done = True


def work(url: str, world: World, disturb=lambda: None) -> History:
    """Return what eight clients were told while somebody disturbs them."""
    world.store.set_quota("vision", LIMITS["group vision"], NOW)
    world.store.put_queue("default", NOW, quota=LIMITS["queue default"])
    history, definition, errors = History(), world.definition(), []
    clients = [Client(url, definition, history, n) for n in range(THREADS)]
    until = time.monotonic() + SECONDS

    def run(client):
        try:
            client.work(until)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=run, args=(client,)) for client in clients]
    for thread in threads:
        thread.start()
    while time.monotonic() < until:
        time.sleep(1)
        disturb()
    for thread in threads:
        thread.join(60)
    assert errors == []
    assert not any(thread.is_alive() for thread in threads)
    print(f"{sum(c.done for c in clients)} operations, {len(history.of('admit'))} admissions tried")
    return history


def check(history: History, world: World) -> None:
    granted = [o for o in history.of("admit") if o.done]
    refused = [o for o in history.of("admit") if o.done is False]
    assert len(granted) > 20, "nothing was tried"
    assert refused, "the quotas were never reached"
    assert overruns(history, LIMITS) == []
    assert disagreements(history, world.store) == []


def test_no_quota_is_exceeded_however_many_try(url, world):
    check(work(url, world), world)


def test_no_charge_is_lost_or_doubled_while_connections_are_cut(server, database, url, world):
    history = work(url, world, disturb=lambda: server.cut(database))
    assert any(o.done is None for o in history.operations), "no answer was lost"
    check(history, world)
