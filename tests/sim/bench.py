"""Growth of `avadm preflight` with the number of hosts: wall time, the controller's CPU, findings (there are none)."""

from __future__ import annotations

import json
import os
import resource
import sys
import time
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path
from statistics import median

from rich.console import Console
from rich.table import Table

from avadm.paths import home
from tests.sim.room import Room, missing

COUNTS = [8, 16, 32, 64]
GOALS = {64: 20.0}  # hosts to seconds, on the machine of 2 cores that the lab is made for
RUNS = 3
SHOWN = 10  # most frequent findings kept for each number of hosts


def _cpu() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def measure(count: int) -> dict[str, object]:
    """Return what some preflights of a room of hosts took: each one's figures, and the middle ones."""
    begun = time.monotonic()
    walls, cpus, errors, warnings = [], [], 0, 0
    reply: Counter[str] = Counter()
    with Room(count) as room:
        made = time.monotonic() - begun
        for _ in range(RUNS):
            begun, cpu = time.monotonic(), _cpu()
            done = room.avadm("preflight", "--json")
            walls.append(round(time.monotonic() - begun, 2))
            cpus.append(round(_cpu() - cpu, 2))
            if done.returncode not in (0, 1):
                raise SystemExit(done.stderr)
            found = [f for c in json.loads(done.stdout)["checks"] for f in c["findings"]]
            errors += sum(f["severity"] == "error" for f in found)
            warnings += sum(f["severity"] == "warning" for f in found)
            reply.update(
                f"{f['check']}, {f['severity']}: {f['what']}"
                + (f" {f['host'] or f['where']}: {f['found']}" if f["severity"] == "error" else "")
                for f in found
            )
    return {
        "hosts": count,
        "made_s": round(made, 1),
        "wall_s": median(walls),
        "controller_cpu_s": median(cpus),
        "walls_s": walls,
        "controller_cpus_s": cpus,
        "errors": errors,
        "warnings": warnings,
        "findings": dict(sorted(reply.items(), key=lambda item: ", error: " not in item[0])[:SHOWN]),
        "load": os.getloadavg()[0],
    }


def main(counts: list[int]) -> int:
    """Measure, print, store in runs/bench (or in the file that AVADM_BENCH_OUT names).

    Returns the exit status: 1 where a goal was missed or a host was found wanting, 2 where it cannot be done here.
    """
    console = Console(highlight=False)
    if reason := missing():
        console.print(f"bench-preflight: {reason}")
        return 2
    rows = []
    table = Table(
        "hosts", "wall s", "ms per host", "controller CPU s", "ms per host", "errors", "warnings", "load"
    )
    for count in counts or COUNTS:
        row = measure(count)
        rows.append(row)
        wall, cpu = float(str(row["wall_s"])), float(str(row["controller_cpu_s"]))
        cells = (
            count,
            f"{wall:.1f}",
            f"{1000 * wall / count:.0f}",
            f"{cpu:.2f}",
            f"{1000 * cpu / count:.0f}",
        )
        table.add_row(*map(str, cells), str(row["errors"]), str(row["warnings"]), f"{row['load']:.1f}")
    console.print(table)
    for row in rows:
        for text, times in dict(row["findings"]).items():
            console.print(f"{row['hosts']} hosts, {times} × {text}")
    console.print(
        f"Middle of {RUNS} runs each, start of Python included; load: of the whole machine, {os.cpu_count()} cores."
    )
    folder = home() / "runs" / "bench"
    folder.mkdir(parents=True, exist_ok=True)
    named = os.environ.get("AVADM_BENCH_OUT")
    path = Path(named) if named else folder / f"{datetime.now(UTC):%Y%m%dT%H%M%SZ}-preflight.json"
    path.write_text(json.dumps({"cores": os.cpu_count(), "rows": rows}, indent=2) + "\n", encoding="utf-8")
    console.print(f"Stored: {Path(os.path.relpath(path))}")
    missed = [n for n in GOALS for r in rows if r["hosts"] == n and float(str(r["wall_s"])) > GOALS[n]]
    for n in missed:
        console.print(f"Goal missed: {n} hosts in {GOALS[n]:g} s.")
    return 1 if missed or any(r["errors"] for r in rows) else 0


if __name__ == "__main__":
    sys.exit(main([int(a) for a in sys.argv[1:]]))
