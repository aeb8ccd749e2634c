"""A full disk is stated to be one. Nodes of the lab share this machine's disk: what fills is a small tmpfs mounted there."""

import re
import subprocess

import pytest

from tests.lab.faults.drive import avadm, clean_end, fixed, unmake
from tests.lab.faults.planting import planted

pytestmark = [pytest.mark.lab, pytest.mark.slow]

ARCHIVES = "/var/cache/apt/archives"


def test_no_space_for_packages_on_a_node(lab, tried):
    node = lab.names("client")[0]
    row = tried(
        "disk full",
        f"256 KiB are left for packages on {node} ({ARCHIVES})",
        "named with its remedy, fixed later",
    )
    unmake(lab)
    do = f"mount -t tmpfs -o size=256k tmpfs {ARCHIVES} && mkdir {ARCHIVES}/partial"
    with planted(lab, node, "no-space", do, f"if mountpoint -q {ARCHIVES}; then umount {ARCHIVES}; fi"):
        done = avadm("apply")
    reply = clean_end(done.stdout + done.stderr)
    assert done.returncode == 1, reply
    assert node in reply
    assert re.search(r"file system o[fn].*full", reply), reply
    row.came = f"exit 1, {node} and the full file system named; {fixed(lab)}"


def test_no_space_for_the_run_folder(lab, tried, tmp_path):
    row = tried(
        "disk full",
        "the controller has no space for the run folder",
        "a sentence, no traceback; later it works",
    )
    runs = tmp_path / "runs"
    runs.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=16k", "tmpfs", runs], check=True)
    try:
        done = avadm("apply", AVADM_RUNS=str(runs))
    finally:
        subprocess.run(["umount", runs], check=True)
    reply = clean_end(done.stdout + done.stderr)
    assert done.returncode in (1, 2), reply
    assert "space" in reply, reply
    what = reply[reply.index(" found ") :].split()[1:6]
    row.came = f"exit {done.returncode}, found: {' '.join(what)}; {fixed(lab)}"
