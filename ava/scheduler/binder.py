"""Sends pods to their nodes, several at once; an assumption ends only when it is certain what became of the bind."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Iterable
from typing import Protocol

from ava.domain.placement.model import Pod
from ava.kube.backoff import Backoff
from ava.kube.errors import Denied, Fenced, Invalid, KubeError
from ava.scheduler.metrics import Metrics

log = logging.getLogger(__name__)


class Binds(Protocol):
    """What can bind (ava.kube.client.Client); writes are refused with Fenced once the lead is lost."""

    async def bind(
        self, namespace: str, name: str, uid: str, node: str, annotations: dict[str, str] | None = None
    ) -> bool:
        """Return whether this pod is bound to this node now."""


class Binder:
    """Binds what it is given, first come first served, at most ``width`` at once.

    Args:
        client: of the leader.
        refused: called with a pod that is certainly not bound to its node.
        wanted: whether a pod's assumption still stands; a bind whose outcome was not reported is tried again for so long.
        notes: annotations for a pod, written with the bind.
    """

    def __init__(
        self,
        client: Binds,
        metrics: Metrics,
        *,
        refused: Callable[[Pod], None],
        wanted: Callable[[Pod], bool],
        notes: Callable[[Pod], dict[str, str] | None] = lambda pod: None,
        width: int = 8,
    ) -> None:
        self._client, self._metrics = client, metrics
        self._refused, self._wanted, self._notes = refused, wanted, notes
        self._width = width
        self._queue: asyncio.Queue[Pod] = asyncio.Queue()
        self.done = asyncio.Event()
        """Set after each bind; anyone who waits clears it."""

    def put(self, pods: Iterable[Pod]) -> None:
        """Bind pods, after those that were put before."""
        for pod in pods:
            self._queue.put_nowait(pod)

    def backlog(self) -> int:
        """Return how many pods wait for their bind to be sent."""
        return self._queue.qsize()

    async def run(self) -> None:
        """Bind until cancelled. What was sent is waited for then: its outcome must not come after the lead was given up."""
        sending: set[asyncio.Task[None]] = set()
        try:
            while True:
                while len(sending) >= self._width:
                    _, sending = await asyncio.wait(sending, return_when=asyncio.FIRST_COMPLETED)
                sending.add(asyncio.create_task(self._bind(await self._queue.get())))
                sending = {task for task in sending if not task.done()}
        finally:
            self._closing = True
            if sending:
                await asyncio.wait(sending)

    _closing = False

    def _annotations(self, pod: Pod) -> dict[str, str] | None:
        try:
            return self._notes(pod)
        except Exception:
            log.exception("notes of %s", pod.key)
            return None

    async def _bind(self, pod: Pod) -> None:
        namespace, _, name = pod.key.partition("/")
        backoff = Backoff(0.2, 5.0)
        while not self._closing and self._wanted(pod):
            began = time.monotonic()
            try:
                done = await self._client.bind(namespace, name, pod.uid, pod.node, self._annotations(pod))
            except Fenced:
                self._metrics.binds.labels("fenced").inc()
                break
            except (Denied, Invalid) as error:
                # The server has looked at it and refused.
                log.warning("bind of %s to %s was refused: %s", pod.key, pod.node, error)
                self._metrics.binds.labels("failed").inc()
                self._refused(pod)
                break
            except KubeError as error:
                # It may be bound or not: the assumption stands, and the same bind is sent again, which does no harm.
                log.warning("bind of %s to %s, outcome not known: %s", pod.key, pod.node, error)
                self._metrics.binds.labels("unknown").inc()
                await asyncio.sleep(max(error.retry_after or 0.0, backoff.next()))
                continue
            except Exception:
                # An error of ours, of which no one knows how far it came: as above.
                log.exception("bind of %s to %s, outcome not known", pod.key, pod.node)
                self._metrics.binds.labels("unknown").inc()
                await asyncio.sleep(backoff.next())
                continue
            self._metrics.bind.observe(time.monotonic() - began)
            self._metrics.binds.labels("bound" if done else "refused").inc()
            if not done:
                self._refused(pod)
            break
        self.done.set()
