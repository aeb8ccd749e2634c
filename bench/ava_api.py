"""Latency of AVA's API over 100,000 finished runs: ``bench/ava_api.py [--rate 50] [--seconds 30] [--runs 100000] [--json]``.

A real PostgreSQL that waits for the disk, one worker of the API in a process of its own, all on loopback. Open loop: a
request is due at its time whatever became of those before it, and its latency counts from then on, so that a server that
stands still is not asked less. Goal (ava.md 9): p99 of at most 200 ms at 50 requests/s.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from statistics import quantiles
from typing import Any

import httpx

sys.path.insert(0, str(Path(__file__).parents[1]))

from ava.api.admin import sealing_key
from ava.db.database import Database
from ava.services.auth.caller import PREFIX, digest, new_secret
from bench.control_plane import free_port
from tests.platform.db.old_site import Room, room

GOAL_MS = 200.0
WARM_S = 3.0
AT_ONCE = 500
"""Requests that are open at most; more are counted as lost, for the server does not keep up."""
SPEC = {"image": "registry.local/torch:2", "command": ["python", "train.py"]}
MIX = (
    ("page of runs", 35, lambda n, r: ("GET", "/runs", None)),
    ("page of runs, one kind", 10, lambda n, r: ("GET", "/runs?kind=training&limit=100", None)),
    ("one run", 20, lambda n, r: ("GET", f"/runs/{r}", None)),
    ("why", 5, lambda n, r: ("GET", f"/runs/{r}/why", None)),
    ("groups", 10, lambda n, r: ("GET", "/groups", None)),
    ("queues", 5, lambda n, r: ("GET", "/queues", None)),
    ("usage of a month", 5, lambda n, r: ("GET", "/usage", None)),
    ("start", 10, lambda n, r: ("POST", "/runs", {"name": f"bench-{n}", "spec": SPEC})),
)
"""What is asked, and how often in a hundred. Of the users every tenth asks as the one who owns a tenth of all runs."""


def tokens(db: Database, names: list[str]) -> dict[str, str]:
    """Return a token for each user."""
    now, found = datetime.now(UTC), {}
    for name in names:
        secret = new_secret()
        id = db.secrets.create(name, "token", digest(secret), now, until=now + timedelta(hours=1))
        found[name] = f"{PREFIX}{id}.{secret}"
    return found


@contextmanager
def api(url: str, folder: Path) -> Iterator[tuple[str, int]]:
    """Run one worker of the API; give its address and process id."""
    sealing_key(folder / "key")
    ports = (free_port(), free_port())
    config = {
        "listen": f"127.0.0.1:{ports[0]}",
        "internal": f"127.0.0.1:{ports[1]}",
        "database": {"url": url},
        "sealing_key": str(folder / "key"),
        "limits": {"submit": "100000/minute", "change": "100000/minute"},
    }
    (folder / "api.yml").write_text(json.dumps(config))
    log = (folder / "log").open("w")
    process = subprocess.Popen(
        [sys.executable, "-m", "ava.api", "--config", str(folder / "api.yml")], stdout=log, stderr=log
    )
    try:
        _healthy(f"http://127.0.0.1:{ports[1]}/healthz", process, folder / "log")
        yield f"http://127.0.0.1:{ports[0]}", process.pid
    finally:
        process.terminate()
        process.wait(30)
        log.close()


def _healthy(url: str, process: subprocess.Popen[bytes], log: Path) -> None:
    for _ in range(600):
        if process.poll() is not None:
            raise RuntimeError(log.read_text())
        try:
            if httpx.get(url, timeout=5).status_code == 200:
                return
        except httpx.TransportError:
            pass
        time.sleep(0.1)
    raise RuntimeError("the API does not get healthy")


async def load(
    url: str, rate: float, seconds: float, who: dict[str, str], runs: dict[str, list[str]]
) -> dict[str, Any]:
    """Ask at a rate; return latencies in milliseconds by kind, and what failed."""
    took: dict[str, list[float]] = defaultdict(list)
    failed: dict[str, int] = defaultdict(int)
    chosen = random.Random(1)  # noqa: S311  the same mix each time
    names, open_now = list(who), 0
    limits = httpx.Limits(max_connections=AT_ONCE, max_keepalive_connections=100)
    async with httpx.AsyncClient(base_url=url, timeout=30, limits=limits, trust_env=False) as http:

        async def ask(kind: str, make: Callable[[int, str], Any], n: int, due: float, counted: bool) -> None:
            nonlocal open_now
            name = names[0] if n % 10 == 0 else chosen.choice(names)
            method, path, body = make(n, chosen.choice(runs[name]))
            headers = {"authorization": f"Bearer {who[name]}"}
            open_now += 1
            try:
                answer = await http.request(method, f"/api/v1{path}", json=body, headers=headers)
                if answer.is_error:
                    failed[f"{kind}: {answer.status_code}"] += 1
            except httpx.HTTPError as error:
                failed[f"{kind}: {type(error).__name__}"] += 1
            finally:
                open_now -= 1
            if counted:
                took[kind].append((time.perf_counter() - due) * 1000)

        begin, tasks = time.perf_counter(), []
        for n in range(int((seconds + WARM_S) * rate)):
            due = begin + n / rate
            await asyncio.sleep(max(0.0, due - time.perf_counter()))
            kind, _, make = chosen.choices(MIX, [weight for _, weight, _ in MIX])[0]
            if open_now >= AT_ONCE:
                failed[f"{kind}: not sent, {AT_ONCE} are open"] += 1
                continue
            tasks.append(asyncio.create_task(ask(kind, make, n, due, due - begin > WARM_S)))
        await asyncio.gather(*tasks)
    return {"took": took, "failed": dict(failed)}


def cpu_seconds(pid: int) -> float:
    """Return the CPU time of a process so far, its children not counted."""
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def resident_mib(pid: int) -> float:
    """Return the memory of a process, MiB."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return int(next(line for line in lines if line.startswith("VmRSS")).split()[1]) / 1024


def measure(rate: float, seconds: float, count: int) -> dict[str, Any]:
    """Return the figures."""
    with room(count) as made:
        figures = asked(made, rate, seconds)
    return figures | {"finished_runs": count, "rate": rate}


def asked(made: Room, rate: float, seconds: float) -> dict[str, Any]:
    """Return the figures of the API over a room, whose store is closed; the users who ask have runs."""
    db, names = made.db, list(made.groups)[:60]
    found = {name: [r.id for r in db.runs.list(owner=name, limit=50).items] for name in names}
    # The first one has a tenth of all runs, and with it those that every tenth user would have had.
    runs = {name: ids for name, ids in found.items() if ids}
    who = tokens(db, list(runs))
    db.close()
    with tempfile.TemporaryDirectory() as folder, api(made.url, Path(folder)) as (address, pid):
        before, begin = cpu_seconds(pid), time.perf_counter()
        loads = os.getloadavg()[0]
        answers = summary(asyncio.run(load(address, rate, seconds, who, runs)))
        spent = (cpu_seconds(pid) - before) / (time.perf_counter() - begin)
        answers |= {"memory_mib": round(resident_mib(pid), 1), "cpu_of_one_core": round(spent, 3)}
    return answers | {"machine_load": [round(loads, 1), round(os.getloadavg()[0], 1)]}


def summary(found: dict[str, Any]) -> dict[str, Any]:
    """Return p50, p99 and the worst of each kind and of all, ms."""
    took: dict[str, list[float]] = found["took"]
    rows = {kind: _cuts(values) for kind, values in sorted(took.items()) if len(values) > 1}
    whole = _cuts([value for values in took.values() for value in values])
    return {
        "kinds": rows,
        "all": whole,
        "failed": found["failed"],
        "goal_ms": GOAL_MS,
        "reached": whole["p99"] <= GOAL_MS and not found["failed"],
    }


def _cuts(values: list[float]) -> dict[str, float]:
    cuts = quantiles(values, n=100, method="inclusive")
    return {
        "n": len(values),
        "p50": round(cuts[49], 1),
        "p99": round(cuts[98], 1),
        "max": round(max(values), 1),
    }


def main() -> int:
    """Measure and print; exit status 1 where the goal is not reached."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rate", type=float, default=50.0)
    parser.add_argument("--seconds", type=float, default=30.0)
    parser.add_argument("--runs", type=int, default=100_000)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    found = measure(min(options.rate, 500.0), min(options.seconds, 300.0), options.runs)
    if options.json:
        print(json.dumps(found, indent=2))
    else:
        for kind, row in [*found["kinds"].items(), ("all", found["all"])]:
            print(
                f"{kind:26} p50 {row['p50']:8.1f} ms   p99 {row['p99']:8.1f} ms   max {row['max']:8.1f} ms   n {row['n']}"
            )
        rest = {k: v for k, v in found.items() if k not in ("kinds", "all")}
        print("   ".join(f"{k} {v}" for k, v in rest.items()))
    return 0 if found["reached"] else 1


if __name__ == "__main__":
    sys.exit(main())
