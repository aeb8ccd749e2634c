"""The lab's tests by tier: nothing is lost between what CI runs and the rest, and CI looks at each component."""

import subprocess
from pathlib import Path

import pytest

from tests.lab import tiers

ROOT = Path(__file__).parents[3]


@pytest.fixture(scope="module")
def collected():
    return tiers.collected({**tiers.TIERS, "all": ""})


def test_every_test_is_in_exactly_one_tier(collected):
    every = [test for tier in tiers.TIERS for test in collected[tier]]
    assert len(every) > 400
    assert sorted(every) == sorted(collected["all"])


@pytest.mark.parametrize("component", sorted(tiers.COMPONENTS))
def test_every_component_has_a_test_that_stands_for_it(component):
    texts = [path.read_text() for path in (ROOT / "tests/lab").rglob("test_*.py")]
    assert any(f'\n@pytest.mark.core("{component}")\n' in text for text in texts)


def test_no_test_stands_for_another_component():
    named = {
        part.partition('"')[0]
        for path in (ROOT / "tests/lab").rglob("test_*.py")
        for part in path.read_text().split('mark.core("')[1:]
    }
    assert named == tiers.COMPONENTS


@pytest.mark.parametrize(
    ("target", "wanted"),
    [
        ("test", "scripts/test-lab core"),
        ("test-faults", 'scripts/test-lab "lab and slow"'),
        ("test-lab", "scripts/test-lab"),
    ],
)
def test_make_runs_the_tier(target, wanted):
    done = subprocess.run(["make", "-n", target], cwd=ROOT, capture_output=True, text=True, check=True)
    assert wanted in done.stdout.splitlines()
