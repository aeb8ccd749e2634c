"""Figures of the database on PostgreSQL: ``python -m tests.platform.db.measure [FINISHED_RUNS]``; a table on standard output.

The server waits for the disk at each commit, as in a room. Latencies are of calls through the store, one client unless reported.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Callable
from datetime import timedelta
from statistics import quantiles
from typing import Any

from ava.db.database import Database
from ava.domain.model import Outcome, Phase
from ava.domain.resources import Resources
from tests.platform.db.old_site import GROUPS, USERS, room
from tests.unit.ava.db.world import NOW, SPEC, World

THREADS = 8


def timed(what: str, call: Callable[[int], Any], times: int = 300) -> None:
    """Print p50 and p99 of a call in milliseconds, and the processor's time of this process, which neighbours change little."""
    call(0)
    took = []
    cpu = time.process_time()
    for n in range(times):
        begin = time.perf_counter()
        call(n)
        took.append((time.perf_counter() - begin) * 1000)
    cpu = (time.process_time() - cpu) * 1000 / times
    cuts = quantiles(took, n=100)
    print(
        f"{what:50} p50 {cuts[49]:8.2f}   p99 {cuts[98]:8.2f}   client's CPU {cpu:6.2f} ms   n {times}",
        flush=True,
    )


def rate(what: str, calls: Callable[[int, int], Any], threads: int, each: int) -> None:
    """Print how often a second something is done by so many threads."""
    workers = [
        threading.Thread(target=lambda t=t: [calls(t, n) for n in range(each)]) for t in range(threads)
    ]
    begin = time.perf_counter()
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    took = time.perf_counter() - begin
    print(f"{what:58} {threads * each / took:8.0f} /s   {threads} threads", flush=True)


def main() -> None:
    """Measure."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000
    with room(count) as made:
        print(f"load {os.getloadavg()}, {count} finished runs, {USERS} users, {GROUPS} groups", flush=True)
        measure(made.db, made.world, made.groups)
        print(f"load {os.getloadavg()}")


def measure(db: Database, world: World, groups: dict[str, str]) -> None:
    """Measure pages, one by one and deep in a list, then submitting and admitting."""
    names = list(groups)
    timed("page of 50: runs of a user", lambda n: db.runs.list(owner=names[n % USERS]))
    timed("page of 50: runs of the user with a tenth of all", lambda _: db.runs.list(owner=names[0]))
    timed("page of 50: runs of a group", lambda n: db.runs.list(group=f"group{n % GROUPS}"))
    timed("page of 50: all runs", lambda _: db.runs.list())
    timed(
        "page of 50: finished runs of a group",
        lambda n: db.runs.list(group=f"group{n % 9}", phase=Phase.FINISHED),
    )
    deep = db.runs.list(limit=1000)
    for _ in range(40):
        deep = db.runs.list(limit=1000, after=deep.next) if deep.next else deep
    timed("page of 50: all runs, 40,000 in", lambda _: db.runs.list(after=deep.next))
    timed(
        "page of 50: queued runs of a user (none)", lambda n: db.runs.list(owner=names[0], phase=Phase.QUEUED)
    )
    timed("page of 50: users", lambda _: db.users.list())
    timed("one run", lambda n: db.runs.get(deep.items[n].id))
    timed(
        "usage of a month, all",
        lambda _: db.charges.usage(NOW - timedelta(days=90), NOW - timedelta(days=60), now=NOW),
        30,
    )
    timed("usage of a month, a group", lambda _: db.charges.usage(
        NOW - timedelta(days=90), NOW - timedelta(days=60), now=NOW, group="group1"), 30)  # fmt: skip
    definitions = {name: world.definition(name) for name in names[:THREADS]}
    one = Resources(1, 1000, 2**30)

    def submit(name: str, key: str) -> str:
        return db.runs.create(
            definitions[name], key, NOW, asks=one, spec=SPEC, queue="default", priority=50, cluster="default"
        ).id

    def whole(thread: int, n: int) -> None:
        run = submit(names[thread], f"{thread}-{n}")
        assert db.runs.admit(run, NOW) == ()

    def life(thread: int, n: int) -> None:
        run = submit(names[thread], f"life-{thread}-{n}")
        assert db.runs.admit(run, NOW) == ()
        db.runs.finish(run, Outcome.SUCCEEDED, "", NOW)

    timed("submit", lambda n: submit(names[0], f"timed-{n}"))
    waiting = [submit(names[0], f"admit-{n}") for n in range(301)]
    timed("admit", lambda n: db.runs.admit(waiting[n], NOW))
    rate("submit + admit, eight groups, one queue", whole, THREADS, 50)
    rate("submit + admit + finish, eight groups, one queue", life, THREADS, 50)
    timed("waiting (300 queued)", lambda _: db.runs.waiting(), 50)


if __name__ == "__main__":
    main()
