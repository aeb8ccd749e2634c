"""Lines of containers whose log is removed before the shipper has looked at it again, as on a node that is busy."""

from __future__ import annotations

import signal
import time
from pathlib import Path

from tests.platform.logs.shipping import shipping

COUNT = 20


def test_a_log_that_is_removed_before_the_next_look_is_read_to_its_end(tmp_path: Path) -> None:
    with shipping(tmp_path) as made:
        names = [f"run-{i}_ava-vision_main-{i:064x}.log" for i in range(COUNT)]
        for name in names:
            made.write([("2026-11-27T00:00:00.000000001Z", "stdout", "first\n")], name)
        assert len(made.wait(COUNT)) == COUNT
        made.shipper.send_signal(signal.SIGSTOP)
        time.sleep(0.5)  # The next look is due as soon as it continues.
        for name in names:
            made.write([("2026-11-27T00:00:01.000000001Z", "stdout", "last\n")], name)
            (tmp_path / "containers" / name).unlink()
        made.shipper.send_signal(signal.SIGCONT)
        found = made.wait(2 * COUNT)
    assert sorted(row["pod"] for row in found if row["_msg"] == "last") == sorted(
        n.split("_")[0] for n in names
    )
