"""How AVA's cost grows with what is in its ledger: ``python -m bench.ava_growth [--users 1000] [--json]``.

Twice on a real PostgreSQL that waits for the disk: a room of 1,000 users, 200 groups, 2,000 workbenches (stopped) and 100,000
finished runs, and a tenth of it. Told are the API's latencies, memory and processor under the same requests (bench/ava_api.py),
and what the operator and the scheduler ask of the ledger again and again, in milliseconds; then the ratio of the two. Goal
(issue 16, part 10): what is finished costs nothing, so that no ratio comes near ten. Operator and scheduler as processes are
measured by `make bench-scheduler` and the platform's tests.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ava.domain.model import Kind, Topic
from ava.store.open import Ledger, migrate, open_store
from bench.ava_api import api, cpu_seconds, load, resident_mib, summary, tokens
from tests.platform.postgres import Server
from tests.platform.store.measure import fill, people
from tests.unit.ava.store.world import World

USERS, GROUPS_OF, BENCHES_OF, RUNS_OF = 1000, 5, 2, 100
"""Users; of them a group for each five, two workbenches and a hundred finished runs for each."""
TIMES = 30
RATIO = 5.0
"""A ratio from which on something grows with what is finished; ten is as the ledger."""
ASKED: dict[str, Callable[[Ledger], Any]] = {
    "operator: runs that are wanted": lambda store: store.active(),
    "operator: its messages": lambda store: store.open_messages(Topic.OPERATOR),
    "scheduler: runs that wait": lambda store: store.waiting(),
    "scheduler: queues": lambda store: store.queues(),
}


def asked(store: Ledger, times: int = TIMES) -> dict[str, float]:
    """Return how long each question to the ledger takes at best, ms: what neighbours on the machine change least."""
    found = {}
    for name, question in ASKED.items():
        took = []
        for _ in range(times):
            begin = time.perf_counter()
            question(store)
            took.append((time.perf_counter() - begin) * 1000)
        found[name] = round(min(took), 2)
    return found


def measure(users: int, rate: float, seconds: float) -> dict[str, Any]:
    """Return the figures of a room of so many users."""
    server = Server(durable=True)
    try:
        url = server.url(server.create())
        migrate(url)
        store = open_store(url)
        if not isinstance(store, Ledger):
            raise TypeError(type(store).__name__)
        world = World(store)
        groups = people(world, users, max(users // GROUPS_OF, 1))
        fill(store, world, groups, users * RUNS_OF)
        for name in groups:
            for n in range(BENCHES_OF):
                world.definition(name, f"bench{n}", Kind.WORKBENCH)
        ledger = asked(store)
        found = {name: [r.id for r in store.runs(owner=name, limit=50).items] for name in list(groups)[:60]}
        runs = {name: ids for name, ids in found.items() if ids}
        who = tokens(store, list(runs))
        store.close()
        with tempfile.TemporaryDirectory() as folder, api(url, Path(folder)) as (address, pid):
            before, begin = cpu_seconds(pid), time.perf_counter()
            answers = summary(asyncio.run(load(address, rate, seconds, who, runs)))
            spent = (cpu_seconds(pid) - before) / (time.perf_counter() - begin)
            memory = resident_mib(pid)
        return {
            "users": users,
            "finished_runs": users * RUNS_OF,
            "api_p50_ms": answers["all"]["p50"],
            "api_p99_ms": answers["all"]["p99"],
            "api_failed": answers["failed"],
            "api_memory_mib": round(memory, 1),
            "api_cpu_of_one_core": round(spent, 3),
            **ledger,
        }
    finally:
        server.remove()


def ratios(small: dict[str, Any], large: dict[str, Any]) -> dict[str, float]:
    """Return how many times as much the large room costs, by figure; what is under a tenth of a unit counts as that."""
    names = [n for n, value in large.items() if isinstance(value, float)]
    return {name: round(max(large[name], 0.1) / max(small[name], 0.1), 2) for name in names}


def main(argv: list[str] | None = None) -> int:
    """Measure and print; exit status 1 where a figure grows with what is finished, or a request failed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--users", type=int, default=USERS, help="of the large room; the small one has a tenth"
    )
    parser.add_argument("--rate", type=float, default=50.0)
    parser.add_argument("--seconds", type=float, default=20.0)
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args(argv)
    rooms = [measure(max(n, 10), given.rate, given.seconds) for n in (given.users // 10, given.users)]
    grown = ratios(*rooms)
    if given.json:
        print(json.dumps({"rooms": rooms, "ratios": grown, "load": os.getloadavg()[0]}, indent=2))
    else:
        for name in rooms[1]:
            print(f"{name:34} {rooms[0][name]!s:>12} {rooms[1][name]!s:>12}   {grown.get(name, '')}")
    failed = any(room["api_failed"] for room in rooms)
    return 1 if failed or any(ratio >= RATIO for ratio in grown.values()) else 0


if __name__ == "__main__":
    sys.exit(main())
