"""make bench: how long an installation takes, against the floor; a second run; the controller's work.

Each ratio is of one run on one machine: the floor (bench/floor) and `avadm apply base ceph` run one after the other on
the same lab recreated, with the same warm package cache. Figures go to runs/bench/TIME.json and the table is printed;
evidence/performance.md is written from the JSON by ``bench/run.py --document FILE``.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

ROOT = Path(__file__).resolve().parent.parent
LAB = ROOT / ".lab-bench"
RUNS = ROOT / "runs" / "bench"
DOCUMENT = ROOT / "evidence" / "performance.md"
NODES = ("--name", "bench", "--subnet", "10.77.99.0/24", "--masters", "0", "--with", "none")
SSHD = Path("/usr/sbin/sshd")
AVADM = (sys.executable, "-m", "avadm")
MARGINAL = "controller CPU per host and task"
# One node of each kind: all playbooks and tasks run, on as few nodes as there can be.
FEWEST = "stor1,comp1"
PREFLIGHT = "preflight of 64 hosts, s"
GOALS = {
    "install / floor": (1.5, "wall time from bare nodes to HEALTH_OK"),
    "second run / install": (0.15, "wall time where nothing is to be done"),
    MARGINAL: (0.030, "seconds, of each further one: what starting playbooks costs is apart"),
    PREFLIGHT: (20.0, "wall time, simulated hosts with real sshd and probes"),
}


@dataclass(frozen=True)
class Cost:
    """What a command took.

    Attributes:
        wall: seconds.
        cpu: CPU seconds of the command with all its children, on the controller.
    """

    wall: float
    cpu: float


def environment() -> dict[str, str]:
    """Return the environment of a lab of its own, so that a user's lab and runs stay as they are."""
    # The floor's python3 is this one, which has what reads a site file.
    path = f"{Path(sys.executable).parent}:{os.environ.get('PATH', os.defpath)}"
    own = {
        "PATH": path,
        "AVADM_LAB_DIR": str(LAB),
        "AVADM_SITE": str(LAB / "site.yml"),
        "AVADM_RUNS": str(RUNS),
    }
    return {**os.environ, **own}


def run(*argv: str | Path) -> None:
    """Run a command; SystemExit with its last words where it fails."""
    done = subprocess.run(argv, env=environment(), cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(
            f"{' '.join(map(str, argv))} exited {done.returncode}:\n{(done.stdout + done.stderr)[-2000:]}"
        )


def timed(what: str, *argv: str | Path) -> Cost:
    """Run a command and return what it took; SystemExit where it fails."""
    print(f"· {what} …", file=sys.stderr, flush=True)
    log = RUNS / "last.log"
    with log.open("w", encoding="utf-8") as out:
        began = time.monotonic()
        child = subprocess.Popen(argv, env=environment(), cwd=ROOT, stdout=out, stderr=out)
        # wait4 counts the child with all of its own children that it waited for.
        _, status, used = os.wait4(child.pid, 0)
        wall = time.monotonic() - began
        child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode:
        raise SystemExit(f"{what}: exited {child.returncode}:\n{log.read_text(encoding='utf-8')[-2000:]}")
    return Cost(round(wall, 1), round(used.ru_utime + used.ru_stime, 1))


def fresh() -> None:
    """Make the bench's lab again: bare nodes that take the controller's key."""
    run(*AVADM, "lab", "down", "--name", "bench")
    run(*AVADM, "lab", "up", *NODES)
    run(*AVADM, "bootstrap", "--password-file", LAB / "password", "--accept-host-keys")


def tasks() -> int:
    """Return how many times a task ran on a host in the latest run."""
    summary = json.loads((RUNS / "latest" / "summary.json").read_text(encoding="utf-8"))
    return sum(h["ok"] + h["failed"] for h in summary["hosts"].values())


def preflight() -> list[dict[str, Any]]:
    """Return what preflight took over 8 to 64 simulated hosts (tests/sim/bench.py)."""
    print("· avadm preflight of 8, 16, 32, 64 simulated hosts …", file=sys.stderr, flush=True)
    out = RUNS / "preflight.json"
    out.unlink(missing_ok=True)
    done = subprocess.run(
        [ROOT / "scripts" / "bench-preflight"],
        env={**os.environ, "AVADM_BENCH_OUT": str(out)},
        capture_output=True,
        text=True,
        check=False,
    )
    if not out.exists():
        raise SystemExit(f"scripts/bench-preflight: {(done.stdout + done.stderr)[-2000:]}")
    rows: list[dict[str, Any]] = json.loads(out.read_text(encoding="utf-8"))["rows"]
    return rows


def measure() -> dict[str, Any]:
    """Measure everything and return the figures, JSON-ready."""
    fresh()
    floor = timed("the floor: base and ceph by a shell script", ROOT / "bench" / "floor", LAB / "site.yml")
    fresh()
    ceph = timed("avadm apply base ceph", *AVADM, "apply", "base", "ceph")
    ran = tasks()
    rest = timed("avadm apply: the rest", *AVADM, "apply")
    ran += tasks()
    again = timed("avadm apply: nothing to do", *AVADM, "apply")
    full = timed("avadm apply --force: every task again", *AVADM, "apply", "--force")
    asked = tasks()
    fewest = timed(f"the same on {FEWEST}", *AVADM, "apply", "--force", "--limit", FEWEST)
    further = asked - tasks()
    run(*AVADM, "lab", "down", "--name", "bench")
    growth = preflight()
    install = Cost(round(ceph.wall + rest.wall, 1), round(ceph.cpu + rest.cpu, 1))
    return {
        "when": f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}",
        "machine": f"{os.cpu_count()} cores, {platform.machine()}, Python {platform.python_version()}",
        "costs": {
            name: {"wall_s": c.wall, "cpu_s": c.cpu}
            for name, c in {
                "floor: base and ceph": floor,
                "avadm apply base ceph": ceph,
                "avadm apply, all phases": install,
                "avadm apply again": again,
                "avadm apply --force": full,
                f"avadm apply --force --limit {FEWEST}": fewest,
            }.items()
        },
        "ratios": {
            "install / floor": round(ceph.wall / floor.wall, 3),
            "second run / install": round(again.wall / install.wall, 3),
            MARGINAL: round((full.cpu - fewest.cpu) / further, 4),
            PREFLIGHT: growth[-1]["wall_s"],
        },
        "preflight": growth,
        "tasks": ran,
        "further_tasks": further,
    }


def tables(figures: Mapping[str, Any]) -> Sequence[Table]:
    """Return what is printed."""
    costs = Table("", "wall, s", "controller CPU, s", title="Cost", box=None)
    for name, cost in figures["costs"].items():
        costs.add_row(name, f"{cost['wall_s']:.1f}", f"{cost['cpu_s']:.1f}")
    ratios = Table("", "found", "goal", "", title="Goals", box=None)
    for name, (goal, what) in GOALS.items():
        found = figures["ratios"][name]
        ratios.add_row(name, f"{found:.3g}", f"≤ {goal:g}", f"{judged(found, goal)}: {what}")
    growth = Table("hosts", "wall, s", "controller CPU, s", "findings", title="Preflight", box=None)
    for row in figures["preflight"]:
        growth.add_row(*(str(cell) for cell in cells(row)))
    return costs, ratios, growth


def judged(found: float, goal: float) -> str:
    """Return in words whether a goal is met."""
    return "met" if found <= goal else "NOT met"


def cells(row: Mapping[str, Any]) -> tuple[Any, ...]:
    """Return what is shown of preflight over a number of hosts."""
    return row["hosts"], row["wall_s"], row["controller_cpu_s"], row["errors"] + row["warnings"]


def others() -> str:
    """Return the sections of evidence/performance.md that other measurements wrote; each has a marker before it."""
    text = DOCUMENT.read_text(encoding="utf-8") if DOCUMENT.is_file() else ""
    _, marker, rest = text.partition("<!-- ")
    return f"\n{marker}{rest}" if marker else ""


def document(figures: Mapping[str, Any]) -> str:
    """Return evidence/performance.md."""
    cpu = figures["costs"]["avadm apply, all phases"]["cpu_s"]
    lines = [
        "# Performance",
        "",
        "Written by `make bench` (bench/run.py) from one run on one machine; only the ratios mean something elsewhere.",
        f"{figures['when']}, {figures['machine']}; a lab of six nodes on the same machine, packages from its own cache.",
        "",
        "| | wall, s | controller CPU, s |",
        "| --- | --- | --- |",
        *(f"| {n} | {c['wall_s']:.1f} | {c['cpu_s']:.1f} |" for n, c in figures["costs"].items()),
        "",
        "| ratio | found | goal | |",
        "| --- | --- | --- | --- |",
        *(
            f"| {n} | {figures['ratios'][n]:.3g} | ≤ {goal:g} | {judged(figures['ratios'][n], goal)}: {what} |"
            for n, (goal, what) in GOALS.items()
        ),
        "",
        "Controller CPU per host and task is that of each further one: `apply --force` on six nodes against the same on",
        f"{FEWEST}, which runs every playbook and every task too, by the {figures['further_tasks']} tasks more. What starting",
        "playbooks costs is apart; with it, those of the installation took "
        f"{1000 * cpu / figures['tasks']:.0f} ms each ({figures['tasks']} of them).",
        "",
        "Preflight of simulated hosts (real sshd, real probes, all on the controller's machine; middle of three runs):",
        "",
        "| hosts | wall, s | controller CPU, s | findings |",
        "| --- | --- | --- | --- |",
        *("| " + " | ".join(map(str, cells(row))) + " |" for row in figures["preflight"]),
        "",
        "The floor is [bench/floor](../bench/floor): the same packages, monitors, managers and OSDs on all nodes at once by a",
        "shell script without checks, a second run or safety. The controller and all nodes share the same cores, so that what a",
        "node does (unpacking packages) counts in wall time and not in the controller's CPU.",
        "",
    ]
    return "\n".join(lines)


def main() -> int:
    """Measure (or write the document from a file); exit status 1 where a goal is not met."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--document", type=Path, metavar="FILE", help="write evidence/performance.md from this file and end"
    )
    given = parser.parse_args()
    if given.document:
        figures = json.loads(given.document.read_text(encoding="utf-8"))
        DOCUMENT.write_text(document(figures) + others(), encoding="utf-8")
        return 0
    if not SSHD.exists():
        raise SystemExit(f"{SSHD} is not here, which preflight's simulated hosts need: run scripts/sshd")
    RUNS.mkdir(parents=True, exist_ok=True)
    try:
        figures = measure()
    finally:
        run(*AVADM, "lab", "down", "--name", "bench")
    store = RUNS / f"{datetime.now(UTC):%Y%m%dT%H%M%SZ}.json"
    store.write_text(json.dumps(figures, indent=1) + "\n", encoding="utf-8")
    console = Console()
    for table in tables(figures):
        console.print(table)
    console.print(f"Stored: {store}")
    return int(any(figures["ratios"][n] > goal for n, (goal, _) in GOALS.items()))


if __name__ == "__main__":
    sys.exit(main())
