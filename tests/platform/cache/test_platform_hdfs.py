"""An HDFS behind the cache: Hadoop's own servers, Alluxio's own, and the role's module and settings between them."""

import hashlib
import os
import socket
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from ava.db.database import open_database
from avadm.components.alluxio.options import CacheMount
from avadm.components.alluxio.variables import _mount
from tests.platform.alluxio import Alluxio, AlluxioError
from tests.platform.cache_services import measured, own_address
from tests.platform.hdfs import Hdfs
from tests.unit.ava import migrated_database
from tests.unit.ava.operator.fake_cluster import furnish, now

pytestmark = pytest.mark.slow
SIZE = 3 * 2**20 + 17


@pytest.fixture(scope="module")
def hdfs(tmp_path_factory):
    with Hdfs(tmp_path_factory.mktemp("hdfs")) as it:
        it.shell("-mkdir", "-p", "/sets/faces")
        yield it


@pytest.fixture(scope="module")
def cache(tmp_path_factory):
    with Alluxio(tmp_path_factory.mktemp("alluxio"), address=own_address()) as it:
        yield it


@pytest.fixture(scope="module")
def mounted(hdfs, cache):
    """The HDFS in the cache, as the role mounts it for a site file."""
    assert cache.mount([wanted(hdfs)]) == (["/hdfs"], [], [])


@pytest.fixture
def put(hdfs, tmp_path):
    """Return a function: put a new file into the HDFS, below /sets; return its sum."""

    def made(name, *, mode=None):
        path = tmp_path / "made"
        path.write_bytes(os.urandom(SIZE))
        hdfs.shell("-put", "-f", str(path), f"/sets/{name}")
        if mode:
            hdfs.shell("-chmod", mode, f"/sets/{name}")
        return hashlib.sha256(path.read_bytes()).hexdigest()

    return made


def wanted(hdfs, *namenodes, path="/hdfs", folder="sets"):
    """Return what the module is informed of a site file's mount."""
    named = [*namenodes, *hdfs.namenodes]
    return _mount(CacheMount(path=path, hdfs={"namenodes": named, "folder": folder}), None)


def read(cache, path, tmp_path):
    """Return the sum of a file as the cache has it."""
    target = tmp_path / "read"
    target.unlink(missing_ok=True)
    cache.run("fs", "copyToLocal", path, str(target))
    return hashlib.sha256(target.read_bytes()).hexdigest()


def deaf_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def test_a_second_run_mounts_nothing(hdfs, cache, mounted):
    assert cache.mount([wanted(hdfs)]) == ([], [], [])
    assert "read-only" in next(line for line in cache.run("fs", "mount").splitlines() if " /hdfs " in line)


def test_files_are_listed_and_read_byte_for_byte_and_the_second_read_is_the_caches(
    cache, mounted, put, tmp_path
):
    wanted_sum = put("faces/one")
    time.sleep(1.5)
    assert "/hdfs/faces/one" in cache.run("fs", "ls", "/hdfs/faces")
    assert read(cache, "/hdfs/faces/one", tmp_path) == wanted_sum
    cache.until(lambda: "100%" in cache.run("fs", "ls", "/hdfs/faces/one"), 30)
    before = cache.counted("Worker_BlocksReadUfs")
    assert before > 0
    assert read(cache, "/hdfs/faces/one", tmp_path) == wanted_sum
    assert cache.counted("Worker_BlocksReadUfs") == before


def test_nothing_is_written_moved_or_removed_through_it(hdfs, cache, mounted, put, tmp_path):
    put("faces/kept")
    for words in (
        ("touch", "/hdfs/new"),
        ("mkdir", "/hdfs/folder"),
        ("copyFromLocal", str(cache.command), "/hdfs/faces/new"),
        ("rm", "/hdfs/faces/kept"),
        ("mv", "/hdfs/faces/kept", "/hdfs/faces/moved"),
    ):
        done = cache.asked("fs", *words)
        assert done.returncode != 0, words
        assert "readonly mount point" in done.stdout + done.stderr, words
    assert hdfs.shell("-ls", "-R", "/sets").count("\n") >= 2
    assert "new" not in hdfs.shell("-ls", "-R", "/sets")


def test_a_change_in_the_hdfs_is_seen(hdfs, cache, mounted, put, tmp_path):
    put("faces/changed")
    time.sleep(1.5)
    read(cache, "/hdfs/faces/changed", tmp_path)
    changed = put("faces/changed")
    time.sleep(1.5)
    assert read(cache, "/hdfs/faces/changed", tmp_path) == changed
    hdfs.shell("-rm", "-skipTrash", "/sets/faces/changed")
    time.sleep(1.5)
    assert cache.asked("fs", "ls", "/hdfs/faces/changed").returncode != 0


def test_it_is_read_as_the_user_of_the_site_file(cache, mounted, put, tmp_path):
    put("secret", mode="600")
    time.sleep(1.5)
    done = cache.asked("fs", "copyToLocal", "/hdfs/secret", str(tmp_path / "x"), timeout=15)
    assert done.returncode != 0
    cache.until(lambda: "Permission denied: user=ava" in (cache.folder / "worker.log").read_text(), 20)


def test_of_two_namenodes_the_one_that_answers_is_found_and_another_one_is_a_changed_option(
    hdfs, cache, mounted, put, tmp_path
):
    report = wanted(hdfs, f"127.0.0.1:{deaf_port()}")
    assert cache.mount([report]) == ([], ["/hdfs"], [])
    wanted_sum = put("faces/two")
    time.sleep(1.5)
    assert read(cache, "/hdfs/faces/two", tmp_path) == wanted_sum
    assert cache.mount([wanted(hdfs)]) == ([], ["/hdfs"], [])
    assert cache.mount([wanted(hdfs)]) == ([], [], [])


def test_another_folder_at_its_place_is_refused_and_one_that_is_no_more_wanted_is_left(hdfs, cache, mounted):
    with pytest.raises(AlluxioError, match="fs unmount /hdfs"):
        cache.mount([wanted(hdfs, folder="other")])
    assert cache.mount([])[2] == ["/hdfs"]


def test_namenodes_that_do_not_answer_are_reported_at_once_and_nothing_is_mounted(hdfs, cache, mounted):
    port = deaf_port()
    one = _mount(CacheMount(path="/far", hdfs={"namenodes": [f"127.0.0.1:{port}", "nn.invalid"]}), None)
    begun = time.monotonic()
    with pytest.raises(AlluxioError, match=f"no namenode .*{port}: .*refused; nn.invalid:8020"):
        cache.mount([wanted(hdfs), one])
    assert time.monotonic() - begun < 40
    assert "/far" not in cache.run("fs", "mount")


def test_a_dead_namenode_is_reported_of_the_data_set_and_all_is_there_again_with_it(
    hdfs, cache, mounted, published, put, tmp_path
):
    wanted_sum = put("faces/three")
    time.sleep(1.5)
    assert read(cache, "/hdfs/faces/three", tmp_path) == wanted_sum
    db = open_database(migrated_database.copied(tmp_path))
    furnish(db)
    id = db.data_sets.create("ann", "faces", {"kind": "hdfs", "store": "hdfs", "path": "faces"}, now()).id

    def looked():
        measured(published, db)
        return db.external_sources.get(id)

    try:
        whole = looked()
        assert whole.trouble == ""
        assert whole.size >= SIZE and whole.cached > 0
        hdfs.stop("n1")
        begun = time.monotonic()
        dead = looked()
        took = time.monotonic() - begun
        assert "no namenode of /hdfs answers" in dead.trouble
        assert (dead.size, dead.cached) == (whole.size, whole.cached)
        # What is cached is not taken for removed, and anyone who asks is informed of why there is no answer.
        asked = cache.asked("fs", "ls", "/hdfs/faces/three")
        assert asked.returncode != 0
        assert "Connection refused" in asked.stdout + asked.stderr
        assert "does not exist" not in asked.stdout + asked.stderr
        # The role's own question has its answer within the minute that a call may take.
        begun = time.monotonic()
        assert "/hdfs" in cache.run("fs", "mount", timeout=60)
        print(f"reported after {took:.1f} s, the table of mounts after {time.monotonic() - begun:.1f} s")
        hdfs.start("n1")
        cache.until(lambda: looked().trouble == "", 60)
        cache.until(lambda: cache.asked("fs", "ls", "/hdfs/faces/three").returncode == 0, 90)
        before = cache.counted("Worker_BlocksReadUfs")
        assert read(cache, "/hdfs/faces/three", tmp_path) == wanted_sum
        assert cache.counted("Worker_BlocksReadUfs") == before
    finally:
        db.close()


def test_a_change_of_the_active_namenode_is_not_noticed(cache, tmp_path_factory, tmp_path):
    with Hdfs(tmp_path_factory.mktemp("several"), several=True) as hdfs:
        hdfs.shell("-mkdir", "-p", "/sets")
        made = tmp_path / "made"
        made.write_bytes(os.urandom(SIZE))
        wanted_sum = hashlib.sha256(made.read_bytes()).hexdigest()
        for name in ("one", "two", "three"):
            hdfs.shell("-put", str(made), f"/sets/{name}")
        assert cache.mount([wanted(hdfs, path="/several")])[0] == ["/several"]
        try:
            assert read(cache, "/several/one", tmp_path) == wanted_sum
            hdfs.rest("n1")
            # No one is active now: anyone who asks waits.
            with ThreadPoolExecutor(1) as pool:
                reading = pool.submit(read, cache, "/several/two", tmp_path)
                hdfs.activate("n2")
                assert reading.result() == wanted_sum
            hdfs.stop("n1")
            time.sleep(1.5)
            assert read(cache, "/several/three", tmp_path) == wanted_sum
            assert cache.run("fs", "ls", "/several").count("/several/") == 3
        finally:
            cache.run("fs", "unmount", "/several")
