"""Numbers from raw output: known transfers give known rates; planted faults show (negative controls on raw data)."""

import json
import math

import pytest

import avadm_validation.suites.storage  # noqa: F401 - it registers them
from avadm_validation.measuring.extract import EXTRACTORS as X
from avadm_validation.measuring.extract import extractor


def window(ticks, *, end=1.0, warmup=0.0, errors=0, latency=None, made=None):
    return {
        "start": 0.0,
        "tick_s": 0.1,
        "warmup_s": warmup,
        "duration_s": 1.0,
        "end_s": end,
        "ticks": ticks,
        "latency_us": latency or {"100": 10},
        "error_count": errors,
        "errors": [],
        "made": made or [sum(ticks)],
    }


def filegen(*windows, size=1000):
    return json.dumps({"tool": "filegen", "size": size, "repetitions": list(windows)})


def test_rate_is_the_sum_of_clients_in_the_common_window():
    a, b = filegen(window([10] * 10)), filegen(window([20] * 10))
    assert X["rate"]({"clients": [a, b]}, {"repetition": 0.0}) == pytest.approx(300)


def test_bytes_of_a_known_transfer():
    # 10 files of 1,000,000 bytes in one second are 10,000,000 bytes a second.
    assert X["rate"](
        {"clients": [filegen(window([1] * 10), size=1_000_000)]}, {"count": "bytes"}
    ) == pytest.approx(1e7)


def test_the_stonewall_of_the_first_client_ends_the_window_of_all():
    a, b = filegen(window([10] * 5, end=0.5)), filegen(window([10] * 10))
    assert X["rate"]({"clients": [a, b]}, {}) == pytest.approx(200)


def test_the_warm_up_does_not_count():
    assert X["rate"]({"clients": [filegen(window([100] * 5 + [10] * 5, warmup=0.5))]}, {}) == pytest.approx(
        100
    )


@pytest.mark.parametrize("text", ["", "Killed", filegen()])
def test_a_client_without_output_leaves_no_rate(text):
    assert math.isnan(X["rate"]({"clients": [filegen(window([1] * 10)), text]}, {}))
    assert math.isnan(X["errors"]({"clients": [text]}, {}))


def test_a_slow_client_shows_as_its_share():
    clients = [filegen(window([10] * 10)), filegen(window([10] * 10)), filegen(window([1] * 10))]
    assert X["least_share"]({"clients": clients}, {}) == pytest.approx(1 / 7)


def test_a_drop_with_more_clients_shows_in_the_scaling():
    one, half = filegen(window([10] * 10)), filegen(window([4] * 10))
    assert X["scaling"]({"1": [one], "2": [one, one]}, {}) == pytest.approx(2.0)
    assert X["scaling"]({"1": [one], "2": [half, half]}, {}) == pytest.approx(0.8)
    assert X["scaling"]({"1": [one], "2": [one, one], "3": [half, half, half]}, {}) == pytest.approx(0.6)


def test_latencies_are_merged_over_clients():
    a = filegen(window([1], latency={"1000": 98}))
    b = filegen(window([1], latency={"50000": 2}))
    assert X["latency"]({"clients": [a, b]}, {"q": 0.99}) == 50
    assert X["latency"]({"clients": [a, b]}, {"q": 0.5}) == 1


def test_a_removed_file_shows_in_the_count():
    made = [filegen(window([1], made=[500, 500]))]
    assert X["missing"]({"clients": made, "doc": ['{"distinct": 1000}']}, {}) == 0
    assert X["missing"]({"clients": made, "doc": ['{"distinct": 999}']}, {}) == 1
    assert math.isnan(X["missing"]({"clients": made, "doc": ["Killed"]}, {}))


def test_corrupted_content_shows_as_errors():
    assert X["errors"]({"clients": [filegen(window([1])), filegen(window([1], errors=3))]}, {}) == 3


@pytest.mark.parametrize(("outcome", "wanted"), [("EROFS", 1), ("done", 0), ("ENOSPC", 0)])
def test_a_writable_open_shows(outcome, wanted):
    texts = [json.dumps({"write": {"write": "EROFS"}}), json.dumps({"write": {"write": outcome}})]
    assert X["equals"]({"doc": texts}, {"path": "write.write", "value": "EROFS"}) == wanted


@pytest.mark.parametrize(("text", "wanted"), [('{"lock": "EROFS"}', 1), ('{"lock": "got"}', 0), ("", 0)])
def test_a_second_writer_that_gets_in_shows(text, wanted):
    assert X["equals"]({"doc": [text]}, {"path": "lock", "value": "EROFS|EBUSY|blocked"}) == wanted


FIO = json.dumps({"jobs": [
    {"jobname": "read-0", "error": 0, "read": {"iops": 1000.5, "bw_bytes": 4096000, "runtime": 800,
                                               "clat_ns": {"percentile": {"99.000000": 5_000_000}}}},
    {"jobname": "read-1", "error": 5, "read": {"iops": 1.0}},
]})  # fmt: skip


def test_fio_sums_clients_and_takes_the_worst_latency():
    at = {"job": "read-0", "side": "read", "field": "iops"}
    assert X["fio"]({"clients": [FIO, "fio: warning\n" + FIO]}, at) == pytest.approx(2001)
    assert X["fio_latency"]({"clients": [FIO]}, at) == 5
    assert X["fio_seconds"]({"clients": [FIO]}, at) == 0.8


def test_a_fio_job_with_an_error_has_no_value():
    assert math.isnan(X["fio"]({"clients": [FIO]}, {"job": "read-1", "side": "read", "field": "iops"}))


def test_preconditions():
    status = json.dumps(
        {
            "health": {"status": "HEALTH_OK"},
            "osdmap": {"num_osds": 6, "num_up_osds": 5, "num_in_osds": 6},
            "pgmap": {
                "pgs_by_state": [
                    {"state_name": "active+clean", "count": 30},
                    {"state_name": "active+clean+scrubbing+deep", "count": 2},
                ]
            },
        }
    )
    assert X["busy_pgs"]({"doc": [status]}, {}) == 2
    assert X["osds_down"]({"doc": [status]}, {}) == 1
    nested = json.dumps(
        {"osdmap": {"osdmap": {"num_osds": 3, "num_up_osds": 3, "num_in_osds": 3}}}
    )  # as in 13.2
    assert X["osds_down"]({"doc": [nested]}, {}) == 0


def test_versions_are_compared_with_the_clients():
    daemons = json.dumps({"overall": {"ceph version 16.2.15 (abc) pacific (stable)": 9}})
    same = json.dumps({"version": "ceph version 16.2.15 (abc) pacific (stable)"})
    other = json.dumps({"version": "ceph version 14.2.21 (def) nautilus (stable)"})
    assert X["versions"]({"doc": [daemons], "clients": [same]}, {}) == 1
    assert X["versions"]({"doc": [daemons], "clients": [same, other]}, {}) == 2


def test_only_a_certain_difference_is_skew():
    near = json.dumps({"a": {"low": -0.2, "high": 0.1}, "b": {"low": -0.05, "high": 0.3}})
    far = json.dumps({"a": {"low": -0.1, "high": 0.1}, "b": {"low": 0.4, "high": 0.6}})
    assert X["skew"]({"doc": [near]}, {}) == 0
    assert X["skew"]({"doc": [far]}, {}) == pytest.approx(300)


def test_growth_and_held_out():
    base = '{"pool": {"bytes": 1000}}'
    docs = [
        json.dumps({"pool": {"bytes": 1000 + 50 * n + e}})
        for n, e in ((100, 30), (300, -90), (900, 200), (2700, 0))
    ]
    made = [filegen(window([1], made=[n])) for n in (100, 200, 600, 1800)]  # 100, 300, 900 and 2700 in all
    inputs = {"base": [base], "doc": docs, "made": made}
    assert X["held_out"](inputs, {"path": "pool.bytes"}) == 1
    assert X["growth"]({**inputs, "doc": docs[-1:]}, {"path": "pool.bytes"}) == pytest.approx(50)
    docs[-1] = json.dumps({"pool": {"bytes": 1000 + 500 * 2700}})
    assert X["held_out"](inputs, {"path": "pool.bytes"}) == 0


def df(**stats):
    return json.dumps({"pools": [{"name": "data", "stats": stats}]})


MANY = {"made": [filegen(window([1], made=[1000]))]}


def test_files_that_fit_are_counted_by_what_is_allocated():
    # Release 14 and later: 1000 files of 10 KiB took 64 KiB of each of two copies; raw space for a million files is left.
    before = df(stored=0, bytes_used=0, objects=0, avail_raw=2e12, max_avail=1e12)
    after = df(stored=1.024e7, bytes_used=1000 * 131072, objects=1000, avail_raw=131072e6, max_avail=65536e6)
    assert X["files_that_fit"]({"base": [before], "doc": [after], **MANY}, {}) == pytest.approx(1e6)


def test_before_release_14_an_object_is_taken_for_its_least_allocation():
    before = df(bytes_used=0, objects=0, max_avail=1e12)
    after = df(bytes_used=10240 * 1000, objects=1000, max_avail=65536e6)
    assert X["files_that_fit"]({"base": [before], "doc": [after], **MANY}, {}) == pytest.approx(1e6)


def test_the_pool_that_is_full_first_decides():
    def both(meta, data):
        pools = [("meta", meta), ("data", data)]
        stats = [{"name": n, "stats": {"bytes_used": b, "avail_raw": a, "objects": 0}} for n, (b, a) in pools]
        return json.dumps({"pools": stats})

    inputs = {"base": [both((0, 1e9), (0, 1e12))], "doc": [both((1e6, 5e6), (1e6, 1e12))], **MANY}
    assert X["files_that_fit"](inputs, {}) == pytest.approx(5000)


def test_pools_that_did_not_grow_say_nothing():
    same = df(bytes_used=5, avail_raw=1e9, objects=1)
    assert math.isnan(X["files_that_fit"]({"base": [same], "doc": [same], **MANY}, {}))


def usage(free, inodes_free=1e6):
    return json.dumps({"blocks_free": free, "block": 4096, "inodes": 1e6, "inodes_free": inodes_free})


def test_files_in_an_image_are_bound_by_bytes_or_by_inodes():
    # 1000 files took a block each: the 6000 blocks of the empty image hold 6000, unless its inodes end before.
    inputs = {"base": [usage(6000)], "doc": [usage(5000)], **MANY}
    assert X["inodes_fit"](inputs, {}) == pytest.approx(6000)
    assert X["inodes_fit"]({**inputs, "base": [usage(6000, 1700)]}, {}) == 1700


def test_use_of_an_image_that_bends_is_not_held_out():
    made = [filegen(window([1], made=[n])) for n in (100, 200, 600, 1800)]
    even = [usage(1e6 - n) for n in (100, 300, 900, 2700)]
    inputs = {"base": [usage(1e6)], "doc": even, "made": made}
    assert X["held_out_used"](inputs, {}) == 1
    assert X["held_out_used"]({**inputs, "doc": [*even[:3], usage(1e6 - 27000)]}, {}) == 0


def test_an_entry_that_readdir_does_not_show_is_missing():
    inputs = {"clients": MANY["made"], "doc": [json.dumps({"tool": "filegen", "distinct": 999})]}
    assert X["missing"](inputs, {}) == 1


def test_an_image_without_large_dir_is_reported():
    shown = "Filesystem features:      has_journal ext_attr dir_index filetype\n"
    assert X["contains"]({"doc": [shown]}, {"text": "large_dir"}) == 0
    assert X["contains"]({"doc": [shown]}, {"text": "dir_index"}) == 1


def test_two_functions_of_one_name_are_refused():
    def rate(inputs, params):
        return 0.0

    with pytest.raises(ValueError, match="two functions rate"):
        extractor()(rate)
