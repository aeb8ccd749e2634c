"""Sets of stops that are made at the same time: one that fails does not delay others."""

import threading
from types import SimpleNamespace

import pytest

from avadm_validation.suites.platform import gpu_handover


def test_a_set_that_cannot_begin_lets_the_others_go_on(monkeypatch):
    def refused(*args, **kwargs):
        raise OSError("the platform does not answer")

    monkeypatch.setattr(gpu_handover, "tenant", refused)
    barrier = threading.Barrier(2)
    one = gpu_handover.HandoverScenario("dead", "n1", 1, 1, 0)
    with pytest.raises(OSError, match="does not answer"):
        gpu_handover.drive(SimpleNamespace(params={"limit_s": 60}), one, barrier)
    with pytest.raises(threading.BrokenBarrierError):
        barrier.wait(0.1)
    assert barrier.broken
    with gpu_handover._until_all(barrier, 60):
        pass  # the other set's end: at once, without an error
