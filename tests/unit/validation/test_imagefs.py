"""A-BD3 and A-BD4 on clients with an mkfs.ext4 that knows little: what is asked of it, and what is stated of what it cannot."""

import os
import subprocess

import pytest
from acceptance_fakes import FakeFleet, Result

from avadm_validation.measuring.context import Context, MeasureError
from avadm_validation.measuring.targets import Target
from avadm_validation.protocol.evidence import Recorder
from avadm_validation.protocol.model import Verdict
from avadm_validation.suites.storage.checks import bd3, bd4

# As e2fsprogs 1.42.13 answers; a dry run says what it would do.
MKFS = """#!/bin/sh
case "$*" in
  -V) echo "mke2fs 1.42.13 (17-May-2015)" >&2; exit 0 ;;
  *{refused}*) echo "Invalid filesystem option set: {refused}" >&2; exit 1 ;;
esac
echo Creating filesystem with 16384 1k blocks and 4096 inodes
"""


class Client(FakeFleet):
    """A client with krbd whose mkfs.ext4 refuses a word; nothing else is run here, and making an image fails."""

    def __init__(self, folder, refused):
        super().__init__({"modprobe rbd": "krbd\n", " create ": {"rc": 1, "stderr": "no image here"}})
        (folder / "mkfs.ext4").write_text(MKFS.format(refused=refused))
        (folder / "mkfs.ext4").chmod(0o755)
        self.path = f"{folder}:{os.environ['PATH']}"

    def run(self, node, command, *, timeout=60.0, stdin=None):
        if "truncate" not in command:
            return super().run(node, command, timeout=timeout, stdin=stdin)
        self.ran.append((node, command))
        env = {**os.environ, "PATH": self.path}
        done = subprocess.run(["sh", "-c", command], capture_output=True, text=True, env=env, check=False)
        return Result(node, command, done.returncode, done.stdout, done.stderr)


@pytest.fixture
def run(tmp_path):
    """Return a function that runs a check on such a client; it gives the outcome, or the error, and the client."""

    def run(check, refused, **answers):
        fleet = Client(tmp_path, refused)
        fleet.answers |= answers
        target = Target("s", "p", "site", ("c1",), "m", ("m",))
        params = {"image_size": "64G", "files": 10, "stats": 5, "size": 64, "series": [3], "procs": 1}
        ctx = Context(target, Recorder(fleet, tmp_path / "report", check.ID), params, "r1", 7, "site-full")
        try:
            return check.run(ctx), fleet
        except MeasureError as error:
            return error, fleet

    return run


def test_many_files_in_one_directory_are_inconclusive_where_mkfs_knows_no_large_dir(run):
    outcome, client = run(bd4, "large_dir")
    assert outcome.verdict is Verdict.INCONCLUSIVE
    assert outcome.metrics == []
    assert "mke2fs 1.42.13 (17-May-2015) on c1 does not know the feature large_dir" in outcome.reasons[0]
    assert "e2fsprogs" in outcome.remedy
    assert not client.commands(" create ")


def test_with_an_mkfs_that_knows_it_the_check_goes_on(run):
    error, _ = run(bd4, "nothing-of-the-kind")
    assert "no image here" in str(error)


def test_an_mkfs_that_does_not_work_at_all_is_not_taken_for_an_old_one(run):
    error, _ = run(bd4, "-n")
    assert isinstance(error, MeasureError)
    assert "Invalid filesystem option" in str(error)


def test_half_a_billion_files_ask_nothing_that_an_old_mkfs_does_not_know(run):
    """A directory of its series is far below what needs large_dir."""
    error, client = run(bd3, "large_dir", **{" create ": "", "mkfs.ext4 -F": {"rc": 1}})
    (asked,) = client.commands("mkfs.ext4 -F")
    assert "large_dir" not in asked
    assert "-i 4096" in asked
    assert isinstance(error, MeasureError)
