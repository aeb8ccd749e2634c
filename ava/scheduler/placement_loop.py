"""The loop that places: whenever something has changed, a pass over all that waits, and binds for what has found nodes."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable

from ava.domain.placement.model import Gang, Pod
from ava.domain.placement.schedule_pass import Decisions, schedule
from ava.kube.backoff import Backoff
from ava.scheduler.binder import Binder
from ava.scheduler.cache import Cache
from ava.scheduler.metrics import Metrics

log = logging.getLogger(__name__)
CHUNK = 64
"""Pods decided on ahead of the binds, so that what comes meanwhile still has its turn."""
FORGIVEN = 120.0
"""Seconds after which a refused bind no longer makes the next wait longer."""
CALM = 0.005
"""Seconds in which changes gather before a pass."""


class PlacementLoop:
    """Decides whenever ``wake`` was called, and at the latest after ``every`` seconds.

    Args:
        fresh: whether what is known of the cluster is young enough to decide on.
        why: whether reasons are wanted for a gang that waits.
        tell: takes a pass's outcome.
    """

    def __init__(
        self,
        cache: Cache,
        binder: Binder,
        metrics: Metrics,
        *,
        fresh: Callable[[], bool] = lambda: True,
        why: Callable[[Gang], bool] = lambda gang: True,
        tell: Callable[[Decisions], None] = lambda decisions: None,
        every: float = 2.0,
    ) -> None:
        self._cache, self._binder, self._metrics = cache, binder, metrics
        self._fresh, self._why, self._tell, self._every = fresh, why, tell, every
        self._woken = asyncio.Event()
        self._later: dict[str, tuple[float, Backoff]] = {}
        self.passed = time.monotonic()
        """When the last pass ended; an old one means that the loop hangs."""

    def wake(self) -> None:
        """Ask for a pass soon."""
        self._woken.set()

    def refused(self, pod: Pod) -> None:
        """Let a gang whose bind was refused wait a little, longer each time."""
        _, backoff = self._later.get(pod.gang) or (0.0, Backoff(0.5, 60.0))
        wait = backoff.next()
        self._later[pod.gang] = (time.monotonic() + wait, backoff)
        asyncio.get_running_loop().call_later(wait, self.wake)

    async def run(self) -> None:
        """Place until cancelled."""
        while True:
            try:
                async with asyncio.timeout(self._every):
                    await self._woken.wait()
            except TimeoutError:
                pass
            await asyncio.sleep(CALM)
            self._woken.clear()
            more = True
            while more:
                while self._binder.backlog() >= CHUNK // 2:
                    self._binder.done.clear()
                    await self._binder.done.wait()
                try:
                    more = self._step()
                except Exception:
                    # The next pass starts from what is known then.
                    log.exception("a pass over what waits failed")
                    self._metrics.errors.labels("placing").inc()
                    more = False
                self.passed = time.monotonic()
                await asyncio.sleep(0)

    def _step(self) -> bool:
        """Make one pass; return whether it was cut off."""
        if not self._fresh():
            log.warning("nothing was heard of the cluster for too long: nothing is placed")
            return False
        now = time.monotonic()
        cache, metrics = self._cache, self._metrics
        gangs = cache.gangs()
        if self._later:
            gangs = [g for g in gangs if g.key not in self._later or self._later[g.key][0] <= now]
        last = time.perf_counter()

        def timed(gang: Gang, placed: bool) -> None:
            nonlocal last
            end = time.perf_counter()
            metrics.decision.labels("yes" if placed else "no").observe(end - last)
            last = time.perf_counter()

        result = schedule(cache.cluster, gangs, most=CHUNK, ordered=True, why=self._why, timed=timed)
        for _, pods in result.placed:
            cache.assume(pods)
            self._binder.put(pods)
        self._tell(result)
        for key in [k for k, (until, _) in self._later.items() if until + FORGIVEN < now]:
            del self._later[key]
        return sum(len(pods) for _, pods in result.placed) >= CHUNK
