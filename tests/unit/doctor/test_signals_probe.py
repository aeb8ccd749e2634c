"""Which containers' first processes take no SIGTERM (K9), by what the kernel says of them in /proc."""

import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from avadm_node.probes.health import nodes, signals

TAKES, TAKES_NOT = f"{signals.TERM:016x}", f"{0:016x}"
READY = "print('ready', flush=True); "
DEAF = READY + "signal.pause()"
WAITS = READY + "signal.sigwait([signal.{0}])"
READS = (
    "import ctypes; signal.pthread_sigmask(signal.SIG_BLOCK, [signal.{0}]);"
    "mask = ctypes.create_string_buffer(128); ctypes.CDLL(None).sigaddset(mask, signal.{0});"
    "assert ctypes.CDLL(None).signalfd(-1, mask, 0) > 2;" + DEAF
)
THREAD = (
    "import threading; signal.pthread_sigmask(signal.SIG_BLOCK, [signal.{0}]);"
    "threading.Thread(target=signal.sigwait, args=([signal.{0}],), daemon=True).start();" + DEAF
)


@pytest.mark.parametrize(
    ("takes", "first", "deaf"),
    # The last is not process 1 of its container: the default of SIGTERM ends it.
    [(False, "4711\t1", True), (True, "4711\t1", False), (None, "4711\t1", False), (False, "4711\t7", False)],
)
def test_a_first_process_that_takes_no_sigterm_is_found(monkeypatch, takes, first, deaf):
    status = f"Name:\tbash\nNSpid:\t{first}\n"
    monkeypatch.setattr(nodes, "must", lambda argv: "c1")
    monkeypatch.setattr(nodes, "call", lambda argv: (0, "4711 lab/p1\n", ""))
    monkeypatch.setattr(nodes, "slurp", lambda path: status if path.endswith("status") else "bash\0x")
    monkeypatch.setattr(nodes, "takes_term", lambda pid: takes)
    found = nodes.containers({})
    assert found == {"count": 1, "deaf": [{"pod": "lab/p1", "command": "bash x"}] if deaf else []}


@pytest.fixture
def started() -> Iterator[Callable[[list[str]], str]]:
    """Start a program and give its pid when it has reported that it is ready and sleeps; it is killed after the test."""
    running: list[Any] = []

    def start(argv: list[str]) -> str:
        process = subprocess.Popen(argv, stdout=subprocess.PIPE, text=True)
        running.append(process)
        assert process.stdout and process.stdout.readline() == "ready\n"
        tasks = Path(f"/proc/{process.pid}/task")
        while not all(task.read_text().rpartition(")")[2].split()[0] == "S" for task in tasks.glob("*/stat")):
            time.sleep(0.02)
        return str(process.pid)

    yield start
    for process in running:
        process.kill()
        process.wait()
        process.stdout.close()


@pytest.mark.parametrize(
    ("does", "takes"),
    [
        (DEAF, False),
        ("signal.signal(signal.SIGTERM, print);" + DEAF, True),
        (WAITS.format("SIGTERM"), True),
        (WAITS.format("SIGUSR1"), False),
        (READS.format("SIGTERM"), True),
        (READS.format("SIGUSR1"), False),
        (THREAD.format("SIGTERM"), True),
        (THREAD.format("SIGUSR1"), False),
    ],
)
def test_a_real_process_is_judged_by_what_it_does(started, does, takes):
    pid = started([sys.executable, "-c", f"import signal; {does}"])
    assert signals.takes_term(pid) is takes


@pytest.mark.skipif(shutil.which("tini") is None, reason="tini is not installed")
def test_a_real_init_takes_it(started):
    assert signals.takes_term(started(["tini", "-s", "--", "sh", "-c", "echo ready; exec sleep 3"])) is True


def test_a_deaf_process_that_is_merely_called_tini_is_named(started, tmp_path):
    (tmp_path / "tini").symlink_to(sys.executable)
    pid = started([str(tmp_path / "tini"), "-c", f"import signal; {DEAF}"])
    assert signals.slurp(f"/proc/{pid}/comm") == "tini\n"
    assert signals.takes_term(pid) is False


def test_an_init_that_does_something_else_for_a_moment_is_looked_at_again(monkeypatch):
    answers = iter([False, False, True])
    monkeypatch.setattr(signals, "slurp", lambda path: f"Name:\tx\nSigCgt:\t{TAKES_NOT}\n")
    monkeypatch.setattr(signals, "BETWEEN", 0)
    monkeypatch.setattr(signals, "waits_for_term", lambda pid: next(answers))
    assert signals.takes_term("4711") is True


@pytest.mark.parametrize(("name", "takes"), [("tini", True), ("init", True), ("bash", False)])
def test_names_count_where_the_kernel_does_not_say_what_a_process_waits_for(monkeypatch, name, takes):
    status = f"Name:\t{name}\nSigCgt:\t{TAKES_NOT}\n"
    monkeypatch.setattr(signals, "slurp", lambda path: status if path.endswith("status") else None)
    assert signals.takes_term("4711") is takes


def test_a_process_that_is_gone_is_neither(monkeypatch):
    monkeypatch.setattr(signals, "slurp", lambda path: None)
    assert signals.takes_term("4711") is None


def test_the_number_is_that_of_sigterm():
    assert int(TAKES, 16) == 1 << (signal.SIGTERM - 1)
