"""Faults of a process that is gone are swept from the nodes; those of one that is at work are not."""

import os
import subprocess
from contextlib import ExitStack

import pytest

from tests.lab.faults import planting


class OneNode:
    """A lab of one node: this machine's shell."""

    nodes = ({"name": "n1"},)

    def names(self, role):
        return ["n1"] if role == "osd" else []

    def run(self, name, command, timeout=120):
        return subprocess.run(["sh", "-c", command], capture_output=True, text=True, check=False)

    def sh(self, name, command, timeout=120):
        done = self.run(name, command)
        assert done.returncode == 0, done.stderr
        return done.stdout


@pytest.fixture
def lab(monkeypatch, tmp_path):
    monkeypatch.setattr(planting, "NOTES", str(tmp_path / "notes"))
    return OneNode()


def test_a_fault_is_taken_away_whatever_happens(lab, tmp_path):
    flag = tmp_path / "flag"
    with pytest.raises(RuntimeError), planting.planted(lab, "osd:0", "f", f"touch {flag}", f"rm -f {flag}"):
        assert flag.exists()
        raise RuntimeError
    assert not flag.exists() and not (tmp_path / "notes").exists()


def test_a_fault_that_cannot_be_taken_away_is_reported(lab):
    with (
        pytest.raises(AssertionError, match="could not be taken away"),
        planting.planted(lab, "n1", "f", ":", "false"),
    ):
        pass


def test_two_acts_of_one_fault_on_one_node_are_both_taken_away(lab, tmp_path):
    flags = [tmp_path / "first", tmp_path / "second"]
    with ExitStack() as stack:
        for where, flag in zip(("n1", "osd:0"), flags, strict=True):
            stack.enter_context(planting.planted(lab, where, "f", f"touch {flag}", f"rm -f {flag}"))
        assert len(list((tmp_path / "notes").iterdir())) == 2
        assert all(flag.exists() for flag in flags)
    assert not any(flag.exists() for flag in flags)
    assert not (tmp_path / "notes").exists()


def test_the_sweep_takes_away_first_what_a_killed_process_planted_last(lab, tmp_path):
    dead, order = subprocess.Popen(["true"]), tmp_path / "order"
    dead.wait()
    (tmp_path / "notes").mkdir()
    # By the notes' age, not by their names: 10 comes after 9.
    for number in (9, 10):
        note = tmp_path / "notes" / f"f.{number}.{dead.pid}"
        note.write_text(f"echo {number} >> {order}\n")
        os.utime(note, (number, number))
    planting.sweep(lab)
    assert order.read_text().split() == ["10", "9"]


def test_the_sweep_leaves_alone_what_a_living_process_planted(lab, tmp_path):
    flag, dead = tmp_path / "flag", subprocess.Popen(["true"])
    dead.wait()
    with planting.planted(lab, "osd", "mine", f"touch {flag}", f"rm -f {flag}"):
        (tmp_path / "notes" / f"theirs.{dead.pid}").write_text(f"touch {tmp_path}/swept\n")
        assert planting.sweep(lab) == [f"n1: theirs.{dead.pid}"]
        assert (tmp_path / "swept").exists() and flag.exists()
    assert not flag.exists()
