"""What the scheduler tells of itself before anything has gone wrong."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any, cast

from ava.domain.problems import missing
from ava.scheduler.leader_session import LeaderSession
from ava.scheduler.metrics import Metrics


def test_errors_are_counted_from_zero_on_so_that_the_first_one_is_an_increase() -> None:
    metrics, report = Metrics(), list[float | None]()

    async def work() -> None:
        report.append(metrics.registry.get_sample_value("ava_scheduler_errors_total", {"part": "pools"}))
        if len(report) == 1:
            raise missing("pool", "pool")

    acting = cast(Any, SimpleNamespace(_metrics=metrics))
    asyncio.run(LeaderSession._patiently(acting, "pools", work))
    assert report == [0.0, 1.0]
