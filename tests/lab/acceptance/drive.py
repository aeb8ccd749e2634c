"""Running acceptance from tests."""

import json
import subprocess
import sys
import time
from pathlib import Path

AVADM = Path(sys.executable).parent / "avadm"


def accept(*checks, suite="all", timeout=900):
    """Run quick checks of a suite; return (exit status, checks of the report by id)."""
    argv = [
        AVADM,
        "accept",
        "run",
        "--json",
        "--effort",
        "quick",
        "--suite",
        suite,
        *(w for c in checks for w in ("--only", c)),
    ]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=timeout, check=False)
    assert done.stdout.startswith("{"), done.stderr
    return done.returncode, {c["id"]: c for c in json.loads(done.stdout)["checks"]}


def wait_healthy(lab, limit=300):
    """Wait until the cluster is healthy; scrubs that a killed run held off are the next run's to let go."""
    until, mon = time.monotonic() + limit, lab.names("mon")[0]
    held = "HEALTH_WARN noscrub,nodeep-scrub flag(s) set"
    while (seen := lab.sh(mon, "ceph health").strip()) not in ("HEALTH_OK", held):
        assert time.monotonic() < until, seen
        time.sleep(2)
