"""scripts/test-full with stages that only note that they ran: it continues, repeats what did not pass, and tells the truth."""

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
STAGES = """
from tests.real_stages import LABS, Lab, Stage

def sh(script):
    return ("sh", "-c", script)

LABS["lab"] = Lab(sh("echo install >> asked; test ! -e broken"), sh("echo down >> asked"))

def stages():
    return [
        Stage("lint", sh("echo lint >> asked")),
        Stage("core", sh("echo core >> asked; test ! -e bad"), "lab"),
        Stage("full ceph", sh("echo ceph >> asked; test ! -e slow || exec sleep 60"), "lab", 2),
    ]
"""


@pytest.fixture
def checkout(tmp_path):
    """A checkout with the script and other stages; what ran is in the ignored file ``asked``."""
    for name in ("scripts/test-full", "tests/lab/tiers.py"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    shutil.copy(ROOT / "tests/stages.py", tmp_path / "tests/real_stages.py")
    (tmp_path / "tests/stages.py").write_text(STAGES)
    (tmp_path / ".gitignore").write_text(".test-full/\nasked\nbad\nslow\nbroken\n__pycache__\n")
    subprocess.run(["git", "init", "-q", tmp_path], check=True)
    return tmp_path


@pytest.fixture
def full(checkout):
    def run(*argv):
        (checkout / "asked").write_text("")
        done = subprocess.run(
            [sys.executable, checkout / "scripts/test-full", *argv], capture_output=True, text=True, timeout=60,
            env={**os.environ, "PYTHONPATH": ""},
        )  # fmt: skip
        return done, (checkout / "asked").read_text().split()

    return run


def test_all_that_passed_is_done_once_for_a_tree_and_again_when_asked(full, checkout):
    everything = ["lint", "down", "install", "core", "ceph", "down"]
    done, asked = full()
    assert (done.returncode, asked) == (0, everything), done.stdout + done.stderr
    done, asked = full()
    assert (done.returncode, asked) == (0, [])
    assert done.stdout.count("(earlier run)") == 3
    assert full("--again")[1] == everything
    (checkout / "scripts/new").write_text("uncommitted\n")
    assert full()[1] == everything


def test_a_stage_that_failed_is_told_repeated_and_the_lab_mended_before_the_next(full, checkout):
    (checkout / "bad").touch()
    done, asked = full()
    assert (done.returncode, asked) == (1, ["lint", "down", "install", "core", "install", "ceph", "down"])
    assert "FAILED" in done.stdout
    assert "exit status 1" in done.stdout
    (checkout / "bad").unlink()
    # The lab is there or is made again; what passed on it is not repeated.
    assert full()[1] == ["install", "core", "down"]


def test_without_its_lab_no_stage_is_called_passed(full, checkout):
    (checkout / "broken").touch()
    done, asked = full()
    assert (done.returncode, asked) == (1, ["lint", "down", "install", "down"])
    assert done.stdout.count("not run") == 2


def test_a_stage_that_hangs_is_stopped_at_its_limit(full, checkout):
    (checkout / "slow").touch()
    done, _ = full("full")
    assert done.returncode == 1
    assert "stopped: not done after" in done.stdout


def test_a_run_that_is_stopped_goes_on_where_it_stood(full, checkout):
    (checkout / "slow").touch()
    (checkout / "asked").write_text("")
    running = subprocess.Popen([sys.executable, checkout / "scripts/test-full"], stdout=subprocess.DEVNULL)
    end = time.monotonic() + 30
    while "ceph" not in (checkout / "asked").read_text() and time.monotonic() < end:
        time.sleep(0.05)
    running.send_signal(signal.SIGTERM)
    assert running.wait(30) == 1
    (checkout / "slow").unlink()
    done, asked = full()
    assert (done.returncode, asked) == (0, ["install", "ceph", "down"]), done.stdout


def test_some_stages_are_chosen_by_the_beginning_of_their_names(full):
    done, asked = full("li")
    assert (done.returncode, asked) == (0, ["lint"])
    assert full("nothing")[0].returncode == 2


def test_a_list_runs_nothing(full):
    done, asked = full("--list")
    assert (done.returncode, asked) == (1, [])
    assert done.stdout.count("not run") == 3
