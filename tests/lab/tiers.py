"""Which of the lab's tests run when: each is in exactly one tier, and one that chooses none is in `full`."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]

TIERS = {
    "core": "core",
    "full": "lab and not core and not slow",
    "faults": "lab and slow",
}
"""Tier to pytest's expression for it: what CI runs (`make test`), and what `make test-full` runs besides."""

COMPONENTS = {
    "acceptance",
    "accounts",
    "ava",
    "cache",
    "ceph",
    "cephfs",
    "database",
    "disks",
    "dns",
    "doctor",
    "etcd",
    "filter",
    "gpu",
    "ingress",
    "load balancer",
    "logs",
    "masters",
    "monitoring",
    "network policy",
    "nodes",
    "objects",
    "pods",
    "rbd",
    "registry",
    "second run",
    "secrets",
    "site",
    "trainings",
    "volumes",
    "workbenches",
}
"""What CI's pass looks at; a test says by `core(COMPONENT)` for which it stands."""


def collected(tiers: dict[str, str] = TIERS) -> dict[str, list[str]]:
    """Return each tier's tests as pytest finds them."""
    code = """import sys, pytest
for expression in sys.argv[1:]:
    print("#", flush=True)
    if pytest.main(["tests/lab", "--collect-only", "-m", expression]): sys.exit(1)"""
    env = {key: value for key, value in os.environ.items() if not key.startswith("PYTEST_")}
    argv = [sys.executable, "-c", code, *tiers.values()]
    done = subprocess.run(argv, cwd=ROOT, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr
    parts = done.stdout.split("#\n")[1:]
    return {
        tier: [line for line in part.splitlines() if line.startswith("tests/") and "::" in line]
        for tier, part in zip(tiers, parts, strict=True)
    }
