"""Numbers from raw output: known transfers give known rates; planted faults show (negative controls on raw data)."""

import json
import math

import pytest

from avadm_validation.suites.storage.extract import EXTRACTORS as X


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
