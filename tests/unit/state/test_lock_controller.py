"""The site's lock on this controller."""

import fcntl
import os
import threading
from pathlib import Path

import pytest

from avadm.errors import AvadmError
from avadm.state.lock.controller import holder, lock_controller


def test_a_second_run_is_refused_with_who_holds_the_lock(tmp_path: Path) -> None:
    assert holder(tmp_path) is None
    with lock_controller(tmp_path, "apply"):
        who = holder(tmp_path)
        assert who is not None
        assert who["verb"] == "apply"
        with pytest.raises(AvadmError) as caught, lock_controller(tmp_path, "apply"):
            pass
        finding = caught.value.findings[0]
        assert str(who["pid"]) in finding.found
        assert who["since"] in finding.found
    assert holder(tmp_path) is None
    with lock_controller(tmp_path, "apply"):
        pass


def test_a_look_at_the_lock_at_the_same_instant_refuses_no_one(tmp_path: Path) -> None:
    with lock_controller(tmp_path, "apply"):
        pass
    looking = os.open(tmp_path / "lock", os.O_RDWR)
    fcntl.flock(looking, fcntl.LOCK_SH)
    timer = threading.Timer(0.1, os.close, (looking,))
    timer.start()
    with lock_controller(tmp_path, "apply"):
        pass
    timer.join()
