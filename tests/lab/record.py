"""What was planted in a run of the lab tests and what came of it: a table at the end, and JSON in a run folder."""

import json
import time
from dataclasses import asdict, dataclass
from pathlib import Path

import pytest

from avadm import paths

ROWS = pytest.StashKey[list]()


@dataclass
class Tried:
    """One fault: ``came`` is what was seen, filled in by the test; ``good`` whether the test passed."""

    part: str
    planted: str
    wanted: str
    test: str
    came: str = ""
    good: bool = False
    seconds: float = 0.0


def write(rows, folder: Path) -> Path:
    """Write the rows as JSON into the run folder and return the file."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "faults.json"
    path.write_text(json.dumps([asdict(r) for r in rows], indent=1) + "\n")
    return path


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    report = yield
    mine = [r for r in item.config.stash.get(ROWS, []) if r.test == item.nodeid]
    for row in mine:
        if report.when == "call":
            row.good, row.seconds = report.passed, report.duration
        elif report.failed:
            row.good = False
        if report.failed and call.excinfo is not None:
            row.came = f"NOT AS WANTED: {str(call.excinfo.value).splitlines()[0][:300]}"
    return report


def pytest_terminal_summary(terminalreporter, config):
    rows = config.stash.get(ROWS, [])
    if not rows:
        return
    terminalreporter.section("planted faults")
    for row in rows:
        word = "as wanted" if row.good else "NOT AS WANTED"
        terminalreporter.line(
            f"{word:13} {row.seconds:5.0f} s  {row.part}: {row.planted} → {row.came or row.wanted}"
        )
    folder = paths.runs() / time.strftime("%Y%m%dT%H%M%SZ-faults", time.gmtime())
    terminalreporter.line(f"stored: {write(rows, folder)}")
