"""The mount that hangs, on this machine: who looks into it is ended by no signal, until it is fixed or its time is over."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

import avadm_validation.tools as tools

TOOL = Path(next(iter(tools.__path__))) / "fusehang.py"
LOOKS = "import os\nprint('ready', flush=True)\ninput()\ntry: os.stat('/srv/x')\nexcept OSError: pass\nprint('over', flush=True)"
DOCKER = """#!/bin/sh
case "$1" in ps) echo one;; inspect) cat "$(dirname "$0")/pid";; esac
"""


def allowed():
    """Whether this machine lets us mount in a place of our own."""
    if os.geteuid() or not Path("/dev/fuse").exists():
        return False
    return subprocess.run(["unshare", "-m", "true"], capture_output=True, check=False).returncode == 0


pytestmark = pytest.mark.skipif(not allowed(), reason="needs root, /dev/fuse and mounts")


@pytest.fixture
def container(tmp_path):
    """A process with mounts of its own that looks into /srv on request; docker knows its number."""
    (tmp_path / "docker").write_text(DOCKER)
    (tmp_path / "docker").chmod(0o755)
    (tmp_path / "fusehang.py").write_bytes(TOOL.read_bytes())
    # unshare execs, so the number is the program's own.
    line = ["unshare", "-m", sys.executable, "-c", LOOKS]
    with subprocess.Popen(line, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1) as made:
        assert made.stdout.readline() == "ready\n"
        (tmp_path / "pid").write_text(str(made.pid))
        yield made
        tool(tmp_path, "end")
        made.kill()


def tool(folder, *arguments):
    env = {**os.environ, "PATH": f"{folder}:{os.environ['PATH']}"}
    line = [sys.executable, str(folder / "fusehang.py"), *arguments]
    return subprocess.run(line, env=env, capture_output=True, text=True, timeout=120, check=False)


def state(pid):
    """Return a process's state as the kernel has it: R, S, D, Z."""
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]


def hangs(process):
    """Return whether a process waits in the kernel where no signal reaches it."""
    return state(process.pid) == "D"


def has_read(folder):
    """Return whether the mount has read all requests: one that it has not read yet is dropped with who asked, who then dies."""
    [note] = folder.glob("hang.*")
    return state(note.suffix[1:]) == "S"


def wchan(process):
    """Return where in the kernel a process waits."""
    return Path(f"/proc/{process.pid}/wchan").read_text()


def until(true, seconds=60):
    end = time.monotonic() + seconds
    while not true() and time.monotonic() < end:
        time.sleep(0.02)
    return true()


def test_who_looks_into_it_hangs_until_it_is_fixed(container, tmp_path):
    done = tool(tmp_path, "begin", "pod", "--seconds", "600")
    assert (done.returncode, done.stdout) == (0, '{"hung": 1}\n'), done.stderr
    container.stdin.write("\n")
    assert until(lambda: "fuse" in wchan(container) or "request_wait_answer" in wchan(container))
    assert until(lambda: has_read(tmp_path))
    container.kill()
    assert until(lambda: hangs(container))
    time.sleep(0.3)
    assert hangs(container)  # SIGKILL waits for the answer
    assert tool(tmp_path, "end").stdout == '{"ended": 1}\n'
    assert container.wait(60) == -9
    assert not list(tmp_path.glob("hang.*"))


def test_it_mends_itself_when_its_time_is_over(container, tmp_path):
    assert tool(tmp_path, "begin", "pod", "--seconds", "1").returncode == 0
    container.stdin.write("\n")
    assert container.stdout.readline() == "over\n"
    assert tool(tmp_path, "end").stdout == '{"ended": 0}\n'


def test_a_container_that_does_not_run_is_reported_and_nothing_is_left(container, tmp_path):
    (tmp_path / "docker").write_text("#!/bin/sh\n")
    done = tool(tmp_path, "begin", "pod")
    assert done.returncode == 1
    assert "pod: 0 containers run, wanted 1" in done.stderr
    assert not list(tmp_path.glob("hang.*"))
