"""How AVA's cost grows with what is in its database: ``python -m bench.ava_growth [--users 1000] [--json]``.

Twice on a real PostgreSQL that waits for the disk: a room of 1,000 users, 200 groups, 2,000 workbenches (stopped) and 100,000
finished runs, and a tenth of it. Reported: the API's latencies, memory and processor under the same requests (bench/ava_api.py),
and what the operator and the scheduler ask of the database again and again, in milliseconds; then the ratio of the two. Goal
(issue 16, part 10): what is finished costs nothing, so that no ratio comes near ten. Operator and scheduler as processes are
measured by `make bench-scheduler` and the platform's tests.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Callable
from typing import Any

from ava.db.database import Database
from ava.domain.model import Kind, Topic
from bench.ava_api import asked
from tests.platform.db.old_site import room

USERS, GROUPS_OF, BENCHES_OF, RUNS_OF = 1000, 5, 2, 100
"""Users; of them a group for each five, two workbenches and a hundred finished runs for each."""
TIMES = 30
RATIO = 5.0
"""A ratio from which on something grows with what is finished; ten is as the database."""
ASKED: dict[str, Callable[[Database], Any]] = {
    "operator: runs that are wanted": lambda db: db.runs.active(),
    "operator: its messages": lambda db: db.outbox.list_open(Topic.OPERATOR),
    "scheduler: runs that wait": lambda db: db.runs.waiting(),
    "scheduler: queues": lambda db: db.queues.list(),
}


def of_database(db: Database, times: int = TIMES) -> dict[str, float]:
    """Return how long each question to the database takes at best, ms: what neighbours on the machine change least."""
    found = {}
    for name, question in ASKED.items():
        took = []
        for _ in range(times):
            begin = time.perf_counter()
            question(db)
            took.append((time.perf_counter() - begin) * 1000)
        found[name] = round(min(took), 2)
    return found


def measure(users: int, rate: float, seconds: float) -> dict[str, Any]:
    """Return the figures of a room of so many users."""
    with room(users * RUNS_OF, users, max(users // GROUPS_OF, 1)) as made:
        for name in made.groups:
            for n in range(BENCHES_OF):
                made.world.definition(name, f"bench{n}", Kind.WORKBENCH)
        of_room = of_database(made.db)
        answers = asked(made, rate, seconds)
    return {
        "users": users,
        "finished_runs": users * RUNS_OF,
        "api_p50_ms": answers["all"]["p50"],
        "api_p99_ms": answers["all"]["p99"],
        "api_failed": answers["failed"],
        "api_memory_mib": answers["memory_mib"],
        "api_cpu_of_one_core": answers["cpu_of_one_core"],
        **of_room,
    }


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
