"""What all unit tests share."""

import signal

import pytest
from hypothesis import settings

# How long one example takes says what else the machine does, not whether it is right.
settings.register_profile("avadm", deadline=None)
settings.load_profile("avadm")


@pytest.fixture
def ctrl_c():
    """SIGINT raises KeyboardInterrupt also where tests run in the background, whose jobs ignore it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)
