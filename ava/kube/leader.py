"""One of several processes acts: a lease in an annotation of a ConfigMap (1.9 has no Lease kind).

A holder writes the annotation again before its time is over; a contender takes it only after it has watched the same
record for a whole lease by its own clock, so no clock of another machine is believed. A holder that could not
renew stops ``margin`` before the lease ends: its task is cancelled, and writes through ``lead.client`` are refused
(``Fenced``) even where the task does not notice. Two act at once only if a write that was sent before that takes longer than
the margin to arrive; writes get no more time than is left of the lease.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

import orjson

from ava.kube.client import Client, Object
from ava.kube.errors import AlreadyExists, Conflict, Fenced, KubeError, NotFound
from ava.kube.resources import CONFIG_MAPS

log = logging.getLogger(__name__)
ANNOTATION = "ava.io/leader"


def elapsed() -> float:
    """Return seconds since the boot, those included in which the machine was suspended: another may lead by then."""
    return time.clock_gettime(time.CLOCK_BOOTTIME)


@dataclass(frozen=True, slots=True)
class Lease:
    """Times of the election, seconds.

    By default a dead leader's successor acts 12 to 16 s after its death, and a leader bears an API server that is away for 10 s.

    Attributes:
        length: after so long without a renewal somebody else may take over.
        margin: so long before that the holder stops acting.
        every: time between renewals and between looks of the contenders.
    """

    length: float = 14.0
    margin: float = 4.0
    every: float = 2.0

    def __post_init__(self) -> None:
        if not 0 < self.every < self.length - self.margin < self.length:
            raise ValueError(f"lease: wanted 0 < every < length - margin < length, found {self}")


class Leader:
    """Contends for one lease.

    Args:
        client: used for the lease; ``self.client`` is its twin whose writes need the lead.
        name: of the ConfigMap, in ``namespace``, which must exist.
        identity: who this is, for people; a random part is added, or two processes could take themselves for one.
    """

    def __init__(
        self,
        client: Client,
        namespace: str,
        name: str,
        identity: str,
        lease: Lease | None = None,
        clock: Callable[[], float] = elapsed,
    ) -> None:
        self._client = client
        self._namespace, self._name = namespace, name
        self._identity = f"{identity}_{secrets.token_hex(4)}"
        self._lease = lease or Lease()
        self._clock = clock
        self._until = float("-inf")
        """When to stop acting, by the own clock."""
        self._record: tuple[str, float] = ("", float("-inf"))
        """The record that was last seen, and when it is over: it was first seen its own length before."""
        self.client = client.guarded(self.check)

    def _pause(self) -> float:
        """Return how long a contender waits before it looks again: no longer than until the record it has seen is over."""
        left = self._record[1] - self._clock()
        return min(left, self._lease.every) if left > 0 else self._lease.every

    def leads(self) -> bool:
        """Return whether this process may act now."""
        return self._clock() < self._until

    def check(self) -> float:
        """Return how many seconds a write may take; raises Fenced where this process does not lead."""
        left = self._until - self._clock()
        if left <= 0:
            raise Fenced(f"{self._identity} does not hold {self._namespace}/{self._name}")
        return left + self._lease.margin / 2

    async def run(self, work: Callable[[], Awaitable[None]]) -> None:
        """Wait for the lead, do ``work``, and return when it has ended or the lead is lost (call again to contend again).

        ``work`` is cancelled when the lead is lost; the lead is given back when it ends or this task is cancelled. What
        ``work`` raises is passed on.
        """
        while not await self._try():
            await asyncio.sleep(self._pause())
        log.info("%s leads %s", self._identity, self._name)
        task = asyncio.ensure_future(work())
        renewing = asyncio.create_task(self._renew())
        try:
            await asyncio.wait((task, renewing), return_when=asyncio.FIRST_COMPLETED)
            if task.done():
                task.result()
            else:
                log.error("%s lost %s", self._identity, self._name)
        finally:
            held = self.leads()
            for each in (task, renewing):
                each.cancel()
            await asyncio.gather(task, renewing, return_exceptions=True)
            self._until = float("-inf")
            if held:
                await self._give_back()

    async def _renew(self) -> None:
        """Renew until that has not succeeded for too long."""
        while self.leads():
            await asyncio.sleep(max(0.0, min(self._lease.every, self._until - self._clock())))
            if not self.leads():
                # This process stood still: writes were refused meanwhile, and what was assumed of them may be wrong.
                return
            # A try on a dead connection must leave time for one on another.
            patience = min((self._lease.length - self._lease.margin) / 3, self._until - self._clock())
            try:
                async with asyncio.timeout(max(0.01, patience)):
                    if not await self._try() and self._lost:
                        self._until = float("-inf")
            except TimeoutError:
                log.warning("lease %s: no reply in time", self._name)

    _lost = False
    """Whether the last try found somebody else's record."""

    async def _try(self) -> bool:
        """Take or renew the lease; return whether that was done. Errors count as not done."""
        began = self._clock()
        self._lost = False
        try:
            thing, record = await self._read()
            if record.get("holder") != self._identity:
                if record.get("holder") and not self._over(record):
                    self._lost = True
                    return False
                record = {"changes": int(record.get("changes", 0)) + 1}
            await self._write(thing, {**record, "holder": self._identity, "renewals": _next(record)})
        except Conflict:
            return False
        except KubeError as error:
            log.warning("lease %s: %s", self._name, error)
            return False
        # Counted from before the request: the others count from when they see it, which is later.
        self._until = began + self._lease.length - self._lease.margin
        return self.leads()

    def _over(self, record: dict[str, Any]) -> bool:
        """Return whether a record has stayed the same for its whole lease, by the own clock."""
        shown = orjson.dumps(record, option=orjson.OPT_SORT_KEYS).decode()
        now = self._clock()
        if shown != self._record[0]:
            self._record = (shown, now + max(float(record.get("length", 0)), self._lease.length))
        return now >= self._record[1]

    async def _read(self) -> tuple[Object, dict[str, Any]]:
        """Return the ConfigMap and what its annotation says; made where it is not there."""
        try:
            thing = await self._client.get(CONFIG_MAPS, self._name, self._namespace)
        except NotFound:
            try:
                thing = await self._client.create(
                    CONFIG_MAPS, {"metadata": {"name": self._name}}, self._namespace
                )
            except AlreadyExists:
                thing = await self._client.get(CONFIG_MAPS, self._name, self._namespace)
        text = (thing["metadata"].get("annotations") or {}).get(ANNOTATION, "{}")
        try:
            record = orjson.loads(text)
        except orjson.JSONDecodeError:
            record = {}
        return thing, record if isinstance(record, dict) else {}

    async def _write(self, thing: Object, record: dict[str, Any]) -> None:
        """Write the record; Conflict where the ConfigMap has changed since it was read."""
        record["length"] = self._lease.length
        meta = thing["metadata"]
        meta["annotations"] = {**(meta.get("annotations") or {}), ANNOTATION: orjson.dumps(record).decode()}
        await self._client.replace(CONFIG_MAPS, thing, self._namespace)

    async def _give_back(self) -> None:
        """Let the next one take over at once; what goes wrong only makes it wait for the lease's end."""
        try:
            async with asyncio.timeout(self._lease.margin / 2):
                thing, record = await self._read()
                if record.get("holder") == self._identity:
                    await self._write(thing, {**record, "holder": "", "renewals": _next(record)})
        except (KubeError, TimeoutError) as error:
            log.warning("lease %s was not given back: %s", self._name, error)


def _next(record: dict[str, Any]) -> int:
    """Return the number that makes each renewal another record."""
    return int(record.get("renewals", 0)) + 1
