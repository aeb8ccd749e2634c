"""What a playbook says last is read, however slow the reader is."""

import time

import pexpect
import pytest
from pexpect.pty_spawn import spawn

from avadm.remote import terminal


class Slow:
    """Takes its time for each piece that is read, as a handler of events does on a busy machine."""

    def __init__(self):
        self.output = b""

    def write(self, piece):
        time.sleep(0.05)
        self.output += piece

    def flush(self):
        pass


def ended(made):
    """Return a child that wrote 2000 bytes in small reads and ended with 3, and what reads it."""
    child = made("python3", ["-c", "import sys; print('x' * 2000); sys.exit(3)"], maxread=100)
    child.logfile_read = Slow()
    while child.isalive():
        time.sleep(0.01)
    return child


def test_the_last_words_are_read_whole_and_the_exit_status_is_kept():
    child = ended(terminal.PatientSpawn)
    child.expect(pexpect.EOF, timeout=0.1)
    child.close()
    assert child.logfile_read.output.count(b"x") == 2000
    assert child.exitstatus == 3


def test_without_patience_the_run_would_be_lost():
    child = ended(spawn)
    with pytest.raises(pexpect.TIMEOUT):
        child.expect(pexpect.EOF, timeout=0.1)
    child.close()


def test_words_that_never_end_are_no_error(monkeypatch):
    monkeypatch.setattr(terminal, "PATIENCE_S", 0.1)
    child = ended(terminal.PatientSpawn)
    child.expect(pexpect.EOF, timeout=0.1)
    child.close()
    assert child.exitstatus == 3


def test_ansible_runner_makes_such_children(monkeypatch):
    from ansible_runner import runner

    monkeypatch.setattr(pexpect, "spawn", pexpect.spawn)
    terminal.be_patient()
    assert runner.pexpect.spawn is terminal.PatientSpawn
