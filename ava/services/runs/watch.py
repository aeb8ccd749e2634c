"""Waiting by one request until a run has changed."""

from __future__ import annotations

import asyncio
import hashlib
import time
from contextlib import ExitStack

from starlette.concurrency import run_in_threadpool

from ava.schemas.runs import RunOut
from ava.services.auth import authentication
from ava.services.auth.caller import Caller
from ava.services.auth.rate_limits import RateLimited
from ava.services.context import Context
from ava.services.runs import runs

SHORT, SHORT_FOR = 0.25, 6.0
"""Seconds between two looks at first, and for how long: a run with its image on the node starts within a few seconds."""
PERIOD = 1.0
"""Seconds between two looks afterwards."""


def tag(run: RunOut) -> str:
    """Return what stands for a run as it is shown: another one where anything of it is another."""
    return hashlib.sha256(run.model_dump_json().encode()).hexdigest()[:32]


async def wait_for_change(
    context: Context, caller: Caller, id: str, known: str | None, seconds: float
) -> tuple[RunOut, float]:
    """Return a run once its tag is another than ``known``, at the latest after so many seconds; and how long that took.

    A user who waits so many times already as logs may be followed at once gets it as it is now.
    """
    run = await run_in_threadpool(runs.show_run, context, caller, id)
    if not seconds or tag(run) != known:
        return run, 0.0
    begun = time.monotonic()
    with ExitStack() as held:
        try:
            held.enter_context(
                context.rates.one_of(context.config.limits.streams, f"{caller.me.name} waits", "waits")
            )
        except RateLimited:
            return run, 0.0
        while tag(run) == known and (gone := time.monotonic() - begun) < seconds:
            await asyncio.sleep(min(SHORT if gone < SHORT_FOR else PERIOD, seconds - gone))
            run = await run_in_threadpool(_look, context, caller, id)
    return run, time.monotonic() - begun


def _look(context: Context, caller: Caller, id: str) -> RunOut:
    authentication.check(context, caller)
    return runs.show_run(context, caller, id)
