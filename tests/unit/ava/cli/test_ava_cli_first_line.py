"""From submit to the first line: nothing waits a second where it need not, and the steps of a run can be measured."""

from __future__ import annotations

import os
import subprocess
import sys
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace

import pytest

from ava.cli import runs
from ava.operator.reconciler import Reconciler
from tests.unit.fakes.clock import Clock

ROOT = Path(__file__).parents[4]


def test_a_run_that_is_about_to_start_is_looked_at_often(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock()
    looks: list[float] = []
    monkeypatch.setattr(runs.time, "sleep", clock.sleep)
    monkeypatch.setattr(runs.time, "monotonic", clock)

    def run(_: str) -> SimpleNamespace:
        looks.append(clock.now)
        state = "running" if clock.now > 60 else "starting"
        return SimpleNamespace(id="r1", name="hello", state=state, reason="")

    ava = SimpleNamespace(run=run, watch=lambda id: iter([run(id)]), pods=lambda _: [])
    runs._wait_for_log(ava, "r1")  # type: ignore[arg-type]
    assert looks[-1] > 60
    early = [look for look in looks if look <= 3]
    assert max(b - a for a, b in pairwise(early)) <= 0.3
    assert len(looks) < 100, "a run that waits long is not asked for so often"


def test_folders_of_a_first_run_are_looked_for_often_and_then_seldom() -> None:
    reconciler = Reconciler.__new__(Reconciler)
    reconciler._asked = {}
    run = SimpleNamespace(id="r1")
    waits = [reconciler._patience(run) for _ in range(20)]  # type: ignore[arg-type]
    assert sum(waits[:3]) <= 1.0
    assert waits == sorted(waits) and waits[-1] == 15.0


def test_the_script_that_prints_the_steps_of_runs_makes_its_client(tmp_path: Path) -> None:
    token = tmp_path / "token"
    token.write_text("none")
    token.chmod(0o600)
    script = [sys.executable, str(ROOT / "scripts" / "run-steps"), "--image", "none", "--count", "0"]
    known = {"AVA_SERVER": "https://ava.invalid", "AVA_TOKEN_FILE": str(token), "HOME": str(tmp_path)}
    done = subprocess.run(script, capture_output=True, text=True, check=False, env={**os.environ, **known})
    assert (done.returncode, done.stderr) == (0, "")
