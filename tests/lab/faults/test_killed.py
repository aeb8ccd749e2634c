"""kill -9 of the installer at random points: the next `avadm apply` continues, and the end is as if nothing had been."""

import os
import random
import time

import pytest

from tests.lab.faults.drive import avadm, fixed, start, unmake

pytestmark = [pytest.mark.lab, pytest.mark.slow]

KILLS = int(os.environ.get("AVADM_KILLS", "10"))  # fewer for a quick look


def test_killed_at_random_points(lab, tried, capsys):
    seed = random.SystemRandom().randrange(10**6)
    with capsys.disabled():
        print(f"\nseed of the kills: {seed}")
    row = tried(
        "kill -9",
        f"the installer is killed at {KILLS} random points (seed {seed})",
        "the next apply fixes it",
    )
    unmake(lab)
    begun = time.monotonic()
    first = avadm("apply")
    assert first.returncode == 0, first.stdout + first.stderr
    whole = time.monotonic() - begun
    rng, points = random.Random(seed), []  # noqa: S311  no key is made from it
    while len(points) < KILLS:
        unmake(lab)
        running, delay = start("apply"), rng.uniform(0.1, 0.95 * whole)
        time.sleep(delay)
        early = running.poll() is not None
        running.kill()
        running.communicate()
        if early:  # with less left to do than the first time it was through before
            whole = min(whole, delay)
        else:
            points.append(round(delay, 1))
    row.came = f"killed after {', '.join(map(str, points))} of about {whole:.0f} s; {fixed(lab)}"
