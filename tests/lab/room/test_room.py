"""Simulated hosts: preflight over real ssh finds nothing in good ones and each planted fault; nothing is left of them."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from avadm.paths import home
from tests.controls.preflight import HOSTS
from tests.sim.room import Room, missing

pytestmark = [
    pytest.mark.lab,
    pytest.mark.skipif(missing() is not None, reason=str(missing())),
]
COUNT = 6


@pytest.fixture(scope="module")
def room():
    with Room(COUNT) as made:
        yield made


def preflight(room, *arguments):
    done = room.avadm("preflight", "--json", *arguments)
    assert done.returncode in (0, 1), done.stderr
    return done.returncode, {c["id"]: c["findings"] for c in json.loads(done.stdout)["checks"]}


def test_good_hosts_give_no_error(room):
    code, found = preflight(room)
    assert code == 0, found
    assert {f["check"] for findings in found.values() for f in findings} <= {
        "clocks"
    }  # a busy machine: vague


@pytest.mark.parametrize("fault", HOSTS, ids=lambda f: f"{f.check}-{f.text}")
def test_a_planted_fault_is_seen(room, fault):
    config = f"CONFIG={room.folder}/hosts/cpu004/sshd_config; "
    room.do(fault.on, config + fault.plant)
    try:
        code, found = preflight(room, "--only", fault.check)
    finally:
        room.do(fault.on, config + fault.undo)
    right = [f for f in found[fault.check] if fault.says in " ".join(str(v) for v in f.values())]
    assert {f["severity"] for f in right} == {fault.result}, found
    assert {f["host"] for f in right} == {fault.host, *fault.besides}, found
    assert code == (1 if fault.result == "error" else 0)


def test_a_room_whose_maker_is_killed_leaves_nothing(tmp_path):
    held = "import sys; from tests.sim.room import Room\nwith Room(3) as r: print(r.folder, flush=True); sys.stdin.read()"
    maker = subprocess.Popen(
        [sys.executable, "-c", held],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=home(),
        env={**os.environ, "PYTHONPATH": f"{home()}:{os.environ.get('PYTHONPATH', '')}"},
    )
    folder = Path(maker.stdout.readline().strip())
    assert _processes(folder)
    maker.send_signal(signal.SIGKILL)
    maker.wait()
    deadline = time.monotonic() + 20
    while (_processes(folder) or folder.exists()) and time.monotonic() < deadline:
        time.sleep(0.2)
    assert _processes(folder) == []
    assert not folder.exists()


def _processes(folder):
    """Return the command lines of what still runs for a room."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            line = path.read_bytes().replace(b"\0", b" ").decode()
        except OSError:
            continue
        if str(folder) in line:
            found.append(line)
    return found
