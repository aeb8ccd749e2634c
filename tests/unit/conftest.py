"""What all unit tests share."""

import itertools
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
