"""An HDFS that others run, behind the lab's cache: Hadoop's own servers on this machine, which the nodes reach as its gateway."""

import hashlib
import json
import os
import time

import pytest
from ruamel.yaml import YAML

from tests.lab.alluxio.conftest import MOUNT
from tests.lab.ava.settings import Settings, here
from tests.lab.faults.drive import avadm, latest
from tests.platform.hdfs import BY_NAME, Hdfs

pytestmark = [pytest.mark.lab, pytest.mark.slow]
SIZE = 20 * 2**20


def applied():
    """Apply what the site file says of the cache; return the run's summary."""
    done = avadm("apply", "cache", "--force")
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]
    return json.loads((latest() / "summary.json").read_text())


@pytest.fixture(scope="module")
def hdfs(lab, tmp_path_factory):
    """An HDFS with /sets/faces, and /sets/secret that its administrator alone reads."""
    assert avadm("artifacts", "build", "hdfs").returncode == 0
    folder = tmp_path_factory.mktemp("hdfs")
    with Hdfs(folder, here(lab)) as it:
        it.shell("-mkdir", "-p", "/sets")
        for name, mode, owner in (("faces", "600", "ava"), ("secret", "600", "hdfs")):
            (folder / name).write_bytes(os.urandom(SIZE))
            it.shell("-put", str(folder / name), f"/sets/{name}")
            it.shell("-chmod", mode, f"/sets/{name}")
            it.shell("-chown", owner, f"/sets/{name}")
        yield it


@pytest.fixture(scope="module")
def mounted(cache, hdfs, lab):
    """The HDFS in the lab's cache; the site file and the cache are as before at the end."""
    settings = Settings(lab)
    settings.keep()
    try:
        file = YAML()
        data = file.load(settings.site)
        there = {"namenodes": hdfs.namenodes, "folder": "sets", "properties": {BY_NAME: "true"}}
        one = {"path": "/hdfs", "hdfs": there}
        data["components"]["alluxio"]["mounts"].append(one)
        file.dump(data, settings.site)
        applied()
        yield
    finally:
        settings.put_back()
        cache.sh(cache.master, "avadm-alluxio fs unmount /hdfs || true")
        applied()


def doctor():
    """Return the status and evidence that the doctor has of the HDFS, by node."""
    done = avadm("doctor", "--json", "--only", "cache-hdfs", timeout=300)
    return {(row["status"], row["evidence"]) for row in json.loads(done.stdout)["checks"]}


def test_every_client_reads_it_and_the_second_read_comes_from_the_cache(cache, hdfs, mounted):
    wanted = hashlib.sha256((hdfs.folder / "faces").read_bytes()).hexdigest()
    seen = f"{MOUNT}/hdfs/faces"
    for client in cache.clients:
        assert cache.sh(client, f"ls {MOUNT}/hdfs").split() == ["faces", "secret"]
    # It is read as the site's user, whatever its mode; who may read it is the data set's to say.
    assert cache.sh(cache.reader, f"su -s /bin/sh nobody -c 'sha256sum < {seen}'").split()[0] == wanted
    time.sleep(3)
    before = cache.total("Worker_BlocksReadUfs"), cache.total("Worker_BlocksReadLocal")
    assert cache.sh(cache.reader, f"sha256sum < {seen}").split()[0] == wanted
    after = cache.total("Worker_BlocksReadUfs"), cache.total("Worker_BlocksReadLocal")
    assert after[0] == before[0] > 0
    assert after[1] > before[1]


def test_nothing_is_written_through_the_mount(cache, hdfs, mounted, lab):
    for command in ("touch new", "rm -f faces", "mv faces moved", "mkdir folder", "sh -c 'echo x >> faces'"):
        assert lab.run(cache.reader, f"cd {MOUNT}/hdfs && {command}").returncode != 0, command
    assert hdfs.shell("-ls", "-C", "/sets").split() == ["/sets/faces", "/sets/secret"]


def test_a_dead_namenode_is_reported_and_files_are_there_again_with_it(cache, hdfs, mounted, lab):
    assert {status for status, _ in doctor()} == {"ok"}
    hdfs.stop("n1")
    try:
        found = doctor()
        assert {status for status, _ in found} == {"bad"}
        assert all("no namenode of /hdfs answers" in evidence for _, evidence in found), found
        time.sleep(6)
        report = lab.run(cache.reader, f"head -c 1 {MOUNT}/hdfs/faces", timeout=150).stderr
        assert "No such file" not in report and report, report
        # The other under stores are read as before.
        assert "cephfs" in cache.sh(cache.reader, f"ls {MOUNT}", timeout=150)
    finally:
        hdfs.start("n1")
    end = time.monotonic() + 150
    while lab.run(cache.reader, f"head -c 1M {MOUNT}/hdfs/faces | wc -c").stdout.strip() != str(2**20):
        assert time.monotonic() < end
        time.sleep(2)


def test_a_second_run_changes_nothing(mounted):
    assert {name: host["changed"] for name, host in applied()["hosts"].items() if host["changed"]} == {}
