"""Sizes of the cache from a machine's memory and disks, its table of mounts, and when a journal is formatted."""

import pytest
from ansible.module_utils import avadm_alluxio as alluxio

from avadm_node import cache_sizes

GIB = 1024
MEM = {"kind": "MEM", "path": "/m", "quota_mib": None}


def facts(gib, **disks):
    return {"memory_mib": gib * GIB, "disks": {f"/{n}": d for n, d in disks.items()}}


def test_a_worker_of_the_plan_gives_most_of_its_memory_to_the_tier_and_keeps_heaps_small():
    found = cache_sizes.sizes(facts(256), ["worker"], True, [MEM], {})
    assert found["heaps"] == {"worker": 16384}
    (tier,) = found["tiers"]
    assert 0.6 * 256 * GIB < tier["quota_mib"] < 0.75 * 256 * GIB
    assert found["block_mib"] == 64


def test_a_master_of_the_plan_has_a_large_heap_and_no_tier():
    found = cache_sizes.sizes(facts(256), ["master"], True, [MEM], {})
    assert found == {"heaps": {"master": 65536}, "tiers": [], "block_mib": 64}


def test_a_shared_machine_keeps_most_for_its_pods():
    found = cache_sizes.sizes(facts(256), ["worker", "client"], False, [MEM], {})
    taken = sum(found["heaps"].values()) + sum(t["quota_mib"] for t in found["tiers"])
    assert taken < 0.16 * 256 * GIB


@pytest.mark.parametrize(
    ("disk", "quota"),
    [((1000, False, 1), 800), ((1000, False, 2), 400), ((1000, True, 1), 250)],
    ids=["own", "two-tiers", "the-systems"],
)
def test_a_tier_on_a_disk_leaves_the_system_and_the_other_tier_room(disk, quota):
    tier = {"kind": "SSD", "path": "/s", "quota_mib": None}
    assert (
        cache_sizes.sizes(facts(64, s=disk), ["worker"], True, [tier], {})["tiers"][0]["quota_mib"] == quota
    )


def test_what_is_given_is_taken_as_it_is():
    found = cache_sizes.sizes(
        facts(24), ["master", "worker"], False, [{**MEM, "quota_mib": 256}], {"master": 384, "worker": 300}
    )
    assert found == {
        "heaps": {"master": 384, "worker": 300},
        "tiers": [{"kind": "MEM", "path": "/m", "quota_mib": 256}],
        "block_mib": 16,
    }


@pytest.mark.parametrize(
    ("memory", "tiers", "block", "message"),
    [
        (4, [MEM], 0, "quota_mib"),
        (8, [{**MEM, "quota_mib": 9000}], 0, "of this machine's 8192 MiB"),
        (64, [{**MEM, "quota_mib": 64}], 128, "fits in no tier"),
    ],
    ids=["too-small", "too-much", "block"],
)
def test_what_does_not_fit_is_refused_with_what_to_do(memory, tiers, block, message):
    with pytest.raises(cache_sizes.CacheSizeError, match=message) as caught:
        cache_sizes.sizes(facts(memory), ["worker"], False, tiers, {}, block)
    assert "Remedy" in str(caught.value)


@pytest.mark.parametrize("gib", [16, 24, 64, 128, 256, 1024])
@pytest.mark.parametrize("dedicated", [False, True])
def test_the_whole_never_takes_more_than_its_share(gib, dedicated):
    parts = ["master", "worker", "client"]
    found = cache_sizes.sizes(facts(gib), parts, dedicated, [MEM], {})
    # Java takes as much again as its heap outside of it.
    taken = 2 * sum(found["heaps"].values()) + found["tiers"][0]["quota_mib"]
    assert taken <= cache_sizes.budget(gib * GIB, dedicated)
    # A master beside a worker is for the cache: heaps do not eat it up (they took 24 of 25 parts, all of it at 24 GiB).
    assert found["tiers"][0]["quota_mib"] > 0.15 * taken
    assert gib < 24 or found["tiers"][0]["quota_mib"] > 0.4 * taken


def test_memory_is_read_of_the_kernel():
    assert alluxio.memory_mib("MemFree: 1 kB\nMemTotal:       2097152 kB\n") == 2048


TABLE = """/var/lib/alluxio/root      on  /        (local, capacity=1GB, used=1%, not read-only, not shared, properties={})
/mnt/cephfs/data           on  /cephfs  (local, capacity=-1B, used=-1B, not read-only, not shared, properties={})
s3://data/x/               on  /s3      (s3, capacity=-1B, used=-1B, read-only, not shared, properties={a=b})
WARNING something else
"""


def test_the_table_of_mounts_is_read():
    assert alluxio.mounted(TABLE) == {
        "/": "/var/lib/alluxio/root",
        "/cephfs": "/mnt/cephfs/data",
        "/s3": "s3://data/x/",
    }
    assert alluxio.same_store("s3://data/x/", "s3://data/x")
    assert alluxio.same_store("file:///mnt/a", "/mnt/a")
    assert not alluxio.same_store("/mnt/a", "/mnt/b")


def test_words_with_blanks_quotes_and_backslashes_reach_java_whole():
    assert alluxio.quoted(["mount", 'a b\\c"d']) == '"mount"\n"a b\\\\c\\"d"\n'


def test_a_journal_is_formatted_only_where_nothing_ever_was():
    assert alluxio.journal_action([], None, "UFS") == "format"
    assert alluxio.journal_action(["v1"], None, "UFS") == "mark"
    assert alluxio.journal_action(["v1"], "UFS", "UFS") == "keep"


@pytest.mark.parametrize(
    ("found", "marker", "message"),
    [
        ([], "UFS", "empty or gone"),
        (["v1"], "EMBEDDED", "number of masters was changed"),
        (["v1"], "unknown", "number of masters was changed"),
    ],
)
def test_a_journal_that_is_gone_or_of_another_kind_is_never_formatted(found, marker, message):
    with pytest.raises(alluxio.AlluxioError, match=message):
        alluxio.journal_action(found, marker, "UFS")
