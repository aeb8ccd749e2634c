"""scripts/test-full with a `make` that only notes what is asked of it: what passed is not repeated, what failed is."""

import os
import shutil
import signal
import subprocess
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
MAKE = """#!/bin/sh
echo "$2" >> asked
echo "FAILED tests/x.py::test_$2"
test ! -e "hang-$2" || exec sleep 60
test ! -e "bad-$2"
"""


@pytest.fixture
def checkout(tmp_path):
    """A checkout with the script and such a `make`; what was asked is in the ignored file ``asked``."""
    for name, text in (
        ("bin/make", MAKE),
        (".venv/bin/avadm", '#!/bin/sh\necho "${AVADM_LAB_DIR##*/}down" >> asked\n'),
    ):
        (tmp_path / name).parent.mkdir(parents=True)
        (tmp_path / name).write_text(text)
        (tmp_path / name).chmod(0o755)
    (tmp_path / "scripts").mkdir()
    shutil.copy(ROOT / "scripts/test-full", tmp_path / "scripts")
    (tmp_path / ".gitignore").write_text(".test-full/\n.venv\nasked\nbad-*\nhang-*\n")
    subprocess.run(["git", "init", "-q", tmp_path], check=True)
    return tmp_path


@pytest.fixture
def full(checkout):
    env = {**os.environ, "PATH": f"{checkout}/bin:{os.environ['PATH']}"}

    def start(*stages):
        (checkout / "asked").write_text("")
        return subprocess.Popen(
            [checkout / "scripts/test-full", *stages], stdout=subprocess.PIPE, text=True, env=env
        )

    def run(*stages):
        process = start(*stages)
        shown, _ = process.communicate(timeout=60)
        return process.returncode, (checkout / "asked").read_text().split(), shown

    run.start = start
    return run


def test_what_passed_is_done_once_for_a_tree(full, checkout):
    code, asked, shown = full()
    assert code == 0, shown
    assert asked[:3] == ["lint", "unit", "unit-slow"]
    downs = ["down", ".lab-hadown", ".lab-fivedown", ".lab-bullseyedown"]
    assert asked[-17:] == [
        "test-faults",
        *downs,
        "test-day2",
        *downs,
        "test-first-site",
        "test-bullseye",
        *downs,
        "molecule",
    ]
    assert full()[:2] == (0, [*downs, *downs, *downs])
    (checkout / "scripts/new").write_text("uncommitted\n")
    assert full()[1] == asked


def test_a_stage_that_failed_is_named_with_its_tests_and_repeated(full, checkout):
    (checkout / "bad-unit").touch()
    code, asked, shown = full("lint", "unit", "test-lab")
    assert (code, asked) == (1, ["lint", "unit", "test-lab"])
    assert "FAILED   unit" in shown
    assert "FAILED tests/x.py::test_unit" in shown
    (checkout / "bad-unit").unlink()
    code, asked, shown = full("lint", "unit", "test-lab")
    assert (code, asked) == (0, ["unit"])
    assert shown.count("(earlier run)") == 4


def test_a_run_that_is_stopped_continues_with_the_stage_that_was_running(full, checkout):
    (checkout / "hang-unit").touch()
    running = full.start("lint", "unit")
    end = time.monotonic() + 30
    while "unit" not in (checkout / "asked").read_text() and time.monotonic() < end:
        time.sleep(0.05)
    running.send_signal(signal.SIGTERM)
    assert running.wait(30) == 130
    (checkout / "hang-unit").unlink()
    assert full("lint", "unit")[:2] == (0, ["unit"])
