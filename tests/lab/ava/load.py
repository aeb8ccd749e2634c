"""Small runs of several users at once, and what each client saw of them as a history (tests/platform/history.py)."""
# ruff: noqa: S311 - how long a run sleeps, not a secret

import random
import threading
import time
from types import SimpleNamespace

from ava.client import ApiError
from ava.domain.model import Quota
from ava.domain.resources import Resources
from tests.platform.history import History, Operation, overruns

SMALL = {"cpu": 50, "memory": 2**26}
PERIOD = 3.0
"""Seconds between two looks of a client."""
AWAY = (502, 503, 504)
"""What is answered while the API, or what it asks, is away."""
ABREAST = 2
"""Runs that each user has at once."""


class Load:
    """Users who run small things, and an administrator who changes their quotas.

    Args:
        users: a client each; several threads never share one.
        admin: the administrator's.
        quotas: the groups' GPUs at the beginning.
        image: with Python.
    """

    def __init__(self, users, admin, quotas, image):
        self.users, self.admin, self.image = users, admin, image
        self.quotas = quotas
        self.history = History()
        self.errors = []
        self.finished = 0
        self._over = threading.Event()
        self._unfinished = {}
        self._threads = [threading.Thread(target=self._user, args=(n,)) for n in range(len(users))]
        self._threads.append(threading.Thread(target=self._quotas))

    def __enter__(self):
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_):
        self._over.set()
        for thread in self._threads:
            thread.join()
        for user in self.users:
            for run in user.runs():
                if run.phase != "finished":
                    user.stop(run.id)

    def drain(self, seconds=90):
        """End all that is there, and see it finished."""
        until = time.monotonic() + seconds
        while sum(self._look(user) for user in self.users):
            assert time.monotonic() < until, "runs that were stopped do not end"
            time.sleep(PERIOD)

    def problems(self):
        """Return each instant at which a group certainly had more than it may have."""
        return overruns(
            self.history, {f"group {name}": Quota(gpu, None, None) for name, gpu in self.quotas.items()}
        )

    def _user(self, number):
        user, dice, made = self.users[number], random.Random(number), 0
        while not self._over.is_set():
            try:
                there = self._look(user)
                if there < ABREAST:
                    made += 1
                    self._start(user, f"small-{number}-{made}", dice)
            except ApiError as refused:
                # The group's quota may have been lowered below what one run asks for.
                if refused.status not in (*AWAY, 422, 429):
                    self.errors.append(f"user {number}: {refused}")
            self._over.wait(PERIOD)

    def _start(self, user, name, dice):
        each = {**SMALL, "gpu": dice.choice((0, 1, 1, 1))}
        spec = {
            "image": self.image,
            "command": ["sleep", str(dice.choice((2, 4, 8)))],
            "roles": [{"each": each, "replicas": dice.choice((1, 1, 2))}],
            "retries": 2,
        }
        user.start(name, spec)

    def _look(self, user):
        """Note what a user's runs have come to; return how many have not finished."""
        began = time.monotonic()
        runs = list(user.runs(most=60))
        ended = time.monotonic()
        for run in runs:
            self._seen(run, began, ended)
        return sum(run.phase != "finished" for run in runs)

    def _seen(self, run, began, ended):
        """A run was seen admitted: it certainly was so from the end of that look until the start of the last such look."""
        if run.id not in self.history.runs:
            asks = Resources(run.asks.gpu, run.asks.cpu, run.asks.memory)
            self.history.submitted(SimpleNamespace(id=run.id, group=run.group, queue=run.queue, asks=asks))
        if run.admitted is None:
            return
        known = self._unfinished.setdefault(run.id, {})
        if "admitted" not in known:
            known["admitted"] = True
            self.history.operations.append(Operation("admit", run.id, began, ended, True))
        if run.phase != "finished":
            known["last"] = began
        elif "finished" not in known:
            known["finished"] = True
            self.history.operations.append(Operation("finish", run.id, known.get("last", 0.0), ended, True))
            self.finished += 1

    def _quotas(self):
        """Raise and lower the groups' GPUs; what is used now is never taken away, which the API refuses."""
        dice = random.Random(99)
        while not self._over.wait(7):
            name = dice.choice(list(self.quotas))
            gpu = self.quotas[name] + dice.choice((-1, 0, 1))
            try:
                with self.history.operation("quota", f"group {name}", Quota(gpu, None, None)) as operation:
                    self._set(name, gpu)
                    operation.done = True
            except ConnectionError:
                pass  # Whether it was carried out is not known, which the history says.

    def _set(self, name, gpu):
        try:
            self.admin.set_quota(name, {"gpu": gpu, "cpu": None, "memory": None, "storage": None})
        except ApiError as refused:
            if refused.status in AWAY:
                # A proxy's own answer leaves open whether the API behind it did something.
                raise ConnectionError from refused
            raise
