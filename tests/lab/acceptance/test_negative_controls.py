"""Each check can fail: a fault is planted on the nodes, from outside, while the check runs (acceptance.md 2.3.9)."""

import subprocess
import threading
import time
from contextlib import contextmanager

import pytest

from tests.lab.acceptance.drive import AVADM, accept, wait_healthy

pytestmark = [pytest.mark.lab, pytest.mark.slow]

WORK = "/mnt/cephfs/avadm-accept-*"


def failed(check):
    """Return the names of a check's metrics that failed."""
    return {m["name"] for m in check["metrics"] if m["verdict"] == "FAIL"}


@pytest.fixture(autouse=True)
def healthy(lab):
    """Start from a healthy cluster."""
    wait_healthy(lab)


@contextmanager
def meanwhile(lab, node, script):
    """Run a script on a node beside the check; it must have done its work by the end."""
    done = []
    thread = threading.Thread(target=lambda: done.append(lab.run(node, script, timeout=300)))
    thread.start()
    yield
    thread.join()
    assert done and done[0].returncode == 0, f"the fault was not planted: {done}"


def when_there(path, act):
    """Return a script that waits for a file (a pattern) and acts on it as $f."""
    return (
        f"for i in $(seq 4000); do for f in {path}; do if [ -s $f ]; then {act}; exit $?; fi; done; sleep 0.05; done; "
        "exit 1"
    )


def test_a_file_that_vanishes_from_the_directory_is_missed(lab):
    second = lab.names("client")[1]
    with meanwhile(lab, second, when_there(f"{WORK}/A-FS4/r0/{second}.0.0000000", "rm $f")):
        status, checks = accept("A-FS4")
    assert (status, checks["A-FS4"]["verdict"]) == (1, "FAIL")
    assert "missing" in failed(checks["A-FS4"])


def test_content_that_changes_behind_the_reader_is_noticed(lab):
    first = lab.names("client")[0]
    spoil = "printf X | dd of=$f bs=1 seek=5000 conv=notrunc,fsync"
    with meanwhile(
        lab, first, when_there(f"{WORK}/A-FS5/coherence/{first}/r0.p0/0000000", f"sleep 0.1; {spoil}")
    ):
        status, checks = accept("A-FS5")
    assert (status, checks["A-FS5"]["verdict"]) == (1, "FAIL")
    assert "coherence" in failed(checks["A-FS5"])


def test_an_image_without_exclusive_lock_lets_two_writers_in(lab):
    clients, conf = lab.names("client"), "/etc/ceph/ceph.conf"
    for client in clients:
        lab.sh(
            client,
            f"cp -a {conf} /root/kept.conf; sed -i 's/^rbd_default_features.*/rbd_default_features = 1/' {conf}",
        )
    try:
        status, checks = accept("A-BD6")
    finally:
        for client in clients:
            lab.sh(client, f"mv /root/kept.conf {conf}")
    assert (status, checks["A-BD6"]["verdict"]) == (1, "FAIL")
    assert failed(checks["A-BD6"]) >= {"held", "write-refused"}


WRITABLE = """
import rbd
class Writable(rbd.Image):
    def __init__(self, ioctx, name=None, snapshot=None, read_only=False, **more):
        super().__init__(ioctx, name)
rbd.Image = Writable
"""


def test_a_reader_that_could_write_is_noticed(lab):
    last = lab.names("client")[-1]
    place = lab.sh(last, "python3 -c 'import rbd, os; print(os.path.dirname(rbd.__file__))'").strip()
    # A .pth file is run at each start of python: this client's bindings open everything writable.
    lab.sh(last, f"cat > {place}/planted.py <<'E'\n{WRITABLE}E\necho 'import planted' > {place}/planted.pth")
    try:
        status, checks = accept("A-BD5")
    finally:
        lab.sh(last, f"rm -f {place}/planted.py {place}/planted.pth")
    assert (status, checks["A-BD5"]["verdict"]) == (1, "FAIL")
    assert "refused" in failed(checks["A-BD5"])


def test_slow_links_fail_bandwidth_and_requests(lab):
    # What the storage nodes send: what clients read, and the second copies of what they write.
    nodes = lab.names("osd")
    for node in nodes:
        lab.sh(node, "tc qdisc add dev eth0 root tbf rate 20mbit burst 64kb latency 200ms")
    try:
        status, checks = accept("A-FS2", "A-BD1", "A-BD2")
    finally:
        for node in nodes:
            lab.sh(node, "tc qdisc del dev eth0 root")
    assert status == 1
    assert {c: checks[c]["verdict"] for c in ("A-FS2", "A-BD1", "A-BD2")} == dict.fromkeys(
        ("A-FS2", "A-BD1", "A-BD2"), "FAIL"
    ), {c: checks[c]["reasons"] for c in checks}


def test_a_killed_run_leaves_its_flags_to_the_next(lab):
    mon = lab.names("mon")[0]
    running = subprocess.Popen(
        [AVADM, "accept", "run", "--effort", "quick", "--check", "A-FS1"],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    until = time.monotonic() + 60
    while "noscrub" not in lab.sh(mon, "ceph osd dump | grep ^flags") and time.monotonic() < until:
        time.sleep(0.2)
    running.kill()
    running.wait()
    assert "noscrub" in lab.sh(mon, "ceph osd dump | grep ^flags")
    _, checks = accept("A-BD6")
    assert checks["A-BD6"]["verdict"] == "PASS"
    assert "scrub" not in lab.sh(mon, "ceph osd dump | grep ^flags")
    assert "avadm-accept" not in lab.sh(lab.names("client")[0], "ls /mnt/cephfs")
