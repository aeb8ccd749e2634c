"""A-AL-LOST-WORKER: a worker of the cache dies while files are read: nothing wrong is read, and reads continue."""

from __future__ import annotations

from avadm_validation.measuring.context import Context, Outcome
from avadm_validation.suites.alluxio.loss_scenario import lost

ID = "A-AL-LOST-WORKER"
TITLE = ("cache: a worker is lost under reads", "缓存:读取中丢失工作节点")
NEEDS = ""


def run(ctx: Context) -> Outcome:
    """Kill it under reads."""
    return lost(ctx, "worker")
