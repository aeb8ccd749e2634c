import os
import socket

import pytest

from avadm.errors import AvadmError
from avadm_lab.process import CompletedCommand, LocalProc, end, listens, program, run_checked, start_ticks


def test_arguments_are_never_a_shells(tmp_path):
    done = LocalProc().run(["printf", "%s", "a; touch b $(id)"])
    assert done.ok
    assert done.stdout == "a; touch b $(id)"


def test_stdin_and_environment():
    done = LocalProc().run(["sh", "-c", "cat; echo $X"], stdin=b"in ", env={"X": "y"})
    assert done.stdout == "in y\n"


def test_missing_program_is_a_result():
    assert LocalProc().run(["no-such-program-here"]).rc == 127


def test_time_out_is_a_result():
    assert LocalProc().run(["sleep", "5"], timeout=0.1).rc == 124


def test_must_names_what_was_done_and_what_was_shown():
    with pytest.raises(AvadmError) as error:
        run_checked(CompletedCommand(("losetup", "x"), 1, "", "no such device\n"), "Attaching a disk")
    finding = error.value.findings[0]
    assert finding.what == "Attaching a disk failed."
    assert "no such device" in finding.found


def test_daemon_is_known_by_pid_and_start(tmp_path):
    proc = LocalProc()
    pid = proc.spawn(["sleep", "60"], tmp_path / "log")
    ticks = start_ticks(pid)
    assert ticks is not None
    assert not end(pid, ticks + 1), "a pid that was given out again is not ours"
    assert start_ticks(pid) == ticks
    assert end(pid, ticks)
    assert start_ticks(pid) is None
    assert not end(pid, ticks)


def test_a_port_is_known_to_be_a_processs_own():
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        assert listens(os.getpid(), port)
        assert not listens(os.getppid(), port)
    assert not listens(os.getpid(), port)
    assert not listens(2**22 + 1, port)


def test_daemon_that_ignores_sigterm_is_killed(tmp_path):
    proc = LocalProc()
    pid = proc.spawn(["sh", "-c", "trap '' TERM; echo ready; while :; do sleep 0.1; done"], tmp_path / "log")
    while "ready" not in (tmp_path / "log").read_text():
        pass
    ticks = start_ticks(pid)
    assert ticks is not None
    assert end(pid, ticks, grace=0.2)
    assert start_ticks(pid) is None


def test_zombie_counts_as_gone():
    pid = os.posix_spawn("/bin/true", ["true"], {})
    os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
    assert start_ticks(pid) is None
    os.waitpid(pid, 0)
    assert program(pid) == ""
