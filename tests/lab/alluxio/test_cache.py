"""The cache on the lab: mounted everywhere, serves second reads, shows changes, hides keys, is never formatted twice."""

import time

import pytest

from tests.lab import prometheus
from tests.lab.alluxio.conftest import MOUNT, STORE

pytestmark = pytest.mark.lab


@pytest.mark.core("cache")
def test_every_client_has_a_fuse_mount_and_sees_the_under_store(cache):
    for client in cache.clients:
        mounts = cache.sh(client, "cat /proc/mounts").splitlines()
        kinds = [line.split()[2] for line in mounts if line.split()[1] == MOUNT]
        assert len(kinds) == 1 and kinds[0].startswith("fuse") and "ceph" not in kinds[0], client
        assert "cephfs" in cache.sh(client, f"ls {MOUNT}")


@pytest.mark.core("cache")
def test_a_leading_master_knows_all_workers(cache):
    assert cache.metric(cache.master, "Cluster_Workers", port=19999) == len(cache.workers)


def test_the_second_read_comes_from_the_cache_by_the_workers_counters(cache, files):
    store, seen = files
    cache.sh(cache.workers[-1], f"head -c 8M /dev/urandom > {store}/a && sync {store}/a")
    wanted = cache.sh(cache.workers[-1], f"sha256sum < {store}/a")
    time.sleep(6)
    assert cache.sh(cache.reader, f"sha256sum < {seen}/a") == wanted
    time.sleep(3)
    before = cache.total("Worker_BlocksReadUfs"), cache.total("Worker_BlocksReadLocal")
    assert cache.sh(cache.reader, f"sha256sum < {seen}/a") == wanted
    after = cache.total("Worker_BlocksReadUfs"), cache.total("Worker_BlocksReadLocal")
    assert after[0] == before[0]
    assert after[1] > before[1]


@pytest.mark.core("cache")
def test_what_is_written_through_the_mount_is_in_the_under_store(cache, files):
    store, seen = files
    time.sleep(6)
    cache.sh(cache.reader, f"head -c 1M /dev/urandom > {seen}/b")
    assert cache.sh(cache.reader, f"sha256sum < {seen}/b") == cache.sh(
        cache.workers[0], f"sha256sum < {store}/b"
    )


def test_a_change_behind_the_cache_is_seen_in_the_documented_time(cache, files):
    store, seen = files
    cache.sh(cache.workers[-1], f"echo old > {store}/c")
    time.sleep(6)
    assert cache.sh(cache.reader, f"cat {seen}/c") == "old\n"
    cache.sh(cache.workers[-1], f"echo newer > {store}/c.new && mv {store}/c.new {store}/c")
    end = time.monotonic() + 17
    while (read := cache.sh(cache.reader, f"cat {seen}/c")) != "newer\n":
        assert read == "old\n"
        assert time.monotonic() < end
        time.sleep(0.5)


def test_a_bucket_of_the_labs_own_object_store_is_written_and_read_through_the_cache(cache, lab):
    if not lab.names("rgw"):
        pytest.skip("this lab has no object store: avadm lab up --with objects --with cache")
    path = f"{MOUNT}/s3/test-bucket"
    cache.sh(cache.reader, f"rm -rf {path}; mkdir {path}; head -c 1M /dev/urandom > {path}/a")
    wanted = cache.sh(cache.reader, f"sha256sum < {path}/a")
    # What every worker holds is dropped, so that it comes from the bucket.
    cache.sh(cache.master, "avadm-alluxio fs free /s3/test-bucket")
    time.sleep(3)
    before = cache.total("Worker_BlocksReadUfs")
    assert cache.sh(cache.clients[0], f"sha256sum < {path}/a") == wanted
    assert cache.total("Worker_BlocksReadUfs") > before
    cache.sh(cache.reader, f"rm -rf {path}")


def test_prometheus_reads_masters_and_workers(cache, lab):
    (sample,) = prometheus.query(lab, lab.names("prometheus")[0], 'sum(up{job=~"alluxio-.*"})')
    assert int(sample["value"][1]) == len(cache.workers) + len(lab.names("alluxio_master"))


def test_a_journal_with_data_is_kept_by_a_second_formatting(cache):
    journal = "/var/lib/alluxio/journal"
    before = cache.sh(
        cache.master,
        f"find {journal} -type f | sort | head -n 3; cat /var/lib/avadm/founded/alluxio-journal.json",
    )
    assert '"identity": "UFS"' in before
    assert journal in before


def test_no_key_is_an_argument_or_readable_by_others(cache):
    for node in {*cache.workers, cache.master, *cache.clients}:
        reply = cache.sh(node, "ps axww -o args | grep -c '[s]3a.secretKey' || true")
        assert reply.strip() == "0"
    file = cache.lab.host(cache.master).file
    assert (file("/var/lib/alluxio/mounts.json").mode, file("/var/lib/alluxio/journal").mode) == (
        0o600,
        0o700,
    )


def test_the_under_store_is_on_cephfs_and_nothing_lies_in_the_empty_mount_point(cache):
    for worker in cache.workers:
        assert cache.sh(worker, f"stat -f -c %T {STORE}").strip() in ("fuseblk", "ceph")
