"""What all unit tests share."""

import itertools
import os
import signal

import pytest
from hypothesis import settings

# How long one example takes says what else the machine does, not whether it is right.
settings.register_profile("avadm", deadline=None)
settings.load_profile("avadm")
PLACES = itertools.count()


@pytest.fixture
def ctrl_c():
    """SIGINT raises KeyboardInterrupt also where tests run in the background, whose jobs ignore it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture(autouse=True, scope="session")
def _without_waiting_for_disks():
    """No test sees what a power failure leaves; where the disk is busy, waiting for it is most of the time of many."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", lambda handle: None)
        yield


@pytest.fixture(autouse=True)
def run_folders(request, tmp_path_factory):
    """Give each test its own place for run folders, which is not made: `tmp_path / "runs"`, where a test has a tmp_path."""
    if "tmp_path" in request.fixturenames:
        place = request.getfixturevalue("tmp_path") / "runs"
    else:
        place = tmp_path_factory.getbasetemp() / "run-folders" / f"{next(PLACES)}"
    # Not the test's own `monkeypatch`, whose changes it may undo.
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("AVADM_RUNS", str(place))
        yield
