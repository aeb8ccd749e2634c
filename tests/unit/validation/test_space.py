"""A run never fills the cluster that it measures."""

import json

import pytest
from acceptance_fakes import FakeFleet, execute
from test_suite_runner import answers, measured, suite, with_check

from avadm_validation import data
from avadm_validation.measuring.context import Context
from avadm_validation.measuring.targets import Target
from avadm_validation.protocol.evidence import Recorder
from avadm_validation.protocol.model import Verdict
from avadm_validation.suites.storage import run
from avadm_validation.suites.storage.space import bench_clients, fill_limit, most_files, needed, size_of

STORAGE = "avadm_validation.suites.storage"
ROOM = Target("s", "p", "site", tuple(f"c{i}" for i in range(216)), "m", ("m",))


def test_a_room_of_clients_writes_no_more_images_than_eight_do():
    params = data.efforts(STORAGE, "site", "full")
    assert len(bench_clients(ROOM, params["A-BD1"])) == 8
    writes = needed(ROOM, {c: params[c] for c in ("A-BD1", "A-BD2")})
    assert writes == {"images of A-BD1 and A-BD2": 8 * 4 * 100 * 2**30}


def test_only_what_will_run_is_counted():
    params = data.efforts(STORAGE, "site", "full")
    assert needed(ROOM, {"A-BD6": params["A-BD6"]}) == {}
    assert needed(ROOM, {"A-FS2": params["A-FS2"]}) == {"files on cephfs": 4e12}


@pytest.mark.parametrize("free", [1e13, 1e15])
def test_large_files_stay_within_their_share(tmp_path, free):
    params = data.efforts(STORAGE, "site", "full")["A-FS2"]
    ctx = Context(
        ROOM, Recorder(FakeFleet(), tmp_path, "A-FS2"), params, "r", 1, "site-full", shared={"free": free}
    )
    windows = params["repetitions"] + 1
    written = most_files(ctx, 216, windows) * 216 * params["procs"] * windows * params["size"]
    assert 0.9 * max(4e12, free / 8) < written <= max(4e12, free / 8)


def test_too_little_space_blocks_and_says_how_much(tmp_path, monkeypatch):
    with_check(monkeypatch, measured)
    monkeypatch.setattr(
        "avadm_validation.suites.storage.run.needed", lambda t, p: {"images": 6e11, "files": 1e11}
    )
    first, check = execute(run, suite(tmp_path, FakeFleet(answers())))  # 1 TB is free
    assert (first.verdict, check.verdict) == (Verdict.BLOCKED, Verdict.BLOCKED)
    assert any("free space: 1,000 GB" in r and "700 GB" in r and "images 600 GB" in r for r in first.reasons)


def test_filling_may_take_as_long_as_it_needs():
    assert size_of("100G") == 100 * 2**30 and size_of("2T") == 2**41
    assert fill_limit(3.4e12) > 10 * 3600 > 7200 > fill_limit(1e9)
    assert json.dumps(data.efforts(STORAGE, "site", "full")["A-BD1"])
