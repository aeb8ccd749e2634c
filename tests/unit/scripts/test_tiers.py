"""The lab's tests by tier: `core(COMPONENT)` is what CI runs, `slow` plants faults, and no test is in both."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from avadm.components import catalog

ROOT = Path(__file__).parents[3]
PHASES = {phase.name for phase in catalog.PHASES}
INSIDE = {"addons", "backups", "base", "docker", "grafana"}
"""Phases that tests of others look at: no test stands for one of these alone."""
TOPICS = {
    "acceptance",
    "accounts",
    "disks",
    "dns",
    "doctor",
    "ingress",
    "load-balancer",
    "network-policy",
    "pods",
    "second-run",
    "secrets",
    "site",
    "trainings",
    "workbenches",
}
"""What CI's pass looks at beside phases."""


def test_every_test_of_the_lab_can_be_collected_and_is_in_one_tier():
    env = {key: value for key, value in os.environ.items() if not key.startswith("PYTEST_")}
    argv = [sys.executable, "-m", "pytest", "tests/lab", "--collect-only"]
    done = subprocess.run(argv, cwd=ROOT, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr
    assert done.stdout.count("::") > 400


def test_each_component_has_a_test_that_stands_for_it_and_no_test_for_another():
    """By `core(NAME)`: the name of its phase, underscores as spaces; or of a topic."""
    named = {
        part.partition('"')[0].replace(" ", "-")
        for path in (ROOT / "tests/lab").rglob("test_*.py")
        for part in path.read_text().split('\n@pytest.mark.core("')[1:]
    }
    assert named == {name.replace("_", "-") for name in PHASES - INSIDE} | TOPICS
    assert INSIDE < PHASES
    assert not TOPICS & PHASES


@pytest.mark.parametrize(
    ("target", "wanted"),
    [
        ("test", "scripts/test"),
        ("test-core", "scripts/test-lab core"),
        ("test-faults", 'scripts/test-lab "lab and slow and not day2"'),
        ("test-day2", "scripts/test-lab day2"),
        ("test-lab", "scripts/test-lab"),
    ],
)
def test_make_runs_the_tier(target, wanted):
    done = subprocess.run(["make", "-n", target], cwd=ROOT, capture_output=True, text=True, check=True)
    assert wanted in done.stdout.splitlines()
