"""How many requests services are sent, as the site's ingress counts them: the load that they are scaled by.

CPU of pods was the other candidate. It says nothing where a GPU does the work, and reading it takes rights on every node's
kubelet; the ingress counts what the users of a service do, whatever it is made of, and tells it to who may come to its port.
"""

from __future__ import annotations

import logging
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise

import aiohttp
from prometheus_client.parser import text_string_to_metric_families

from ava.domain import labels
from ava.domain.model import Run
from ava.operator.manifests import model_service

log = logging.getLogger(__name__)
EVERY = 10.0
"""Seconds between two looks."""
WINDOW = 60.0
"""Seconds over which a rate is taken."""
COUNTER = "traefik_service_requests"
MOST = 16 * 2**20
"""Bytes of an answer that are read."""
Counts = Mapping[str, float]
"""Requests since an ingress controller's start, by its name of the service."""


class RequestLoad:
    """The rates of all services.

    Args:
        urls: of the metrics of all ingress controllers; empty: no rate is ever known.
        clock: seconds, monotonic.
    """

    def __init__(self, urls: Sequence[str], clock: Callable[[], float] = time.monotonic) -> None:
        self.urls, self.clock = urls, clock
        self._seen: dict[str, deque[tuple[float, Counts]]] = {url: deque() for url in urls}

    async def look(self) -> None:
        """Ask all ingress controllers once. One that does not answer makes all rates unknown until it does."""
        async with aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=5)) as session:
            for url in self.urls:
                try:
                    async with session.get(url, allow_redirects=False) as reply:
                        reply.raise_for_status()
                        self.put(url, counts((await reply.content.read(MOST)).decode()))
                except (aiohttp.ClientError, OSError, TimeoutError, ValueError) as error:
                    log.warning("%s: %s", url, type(error).__name__)

    def put(self, url: str, counted: Counts) -> None:
        """Keep what one ingress controller says now."""
        now, seen = self.clock(), self._seen[url]
        seen.append((now, counted))
        while len(seen) > 2 and now - seen[1][0] >= WINDOW:
            seen.popleft()

    def rate(self, run: Run) -> float | None:
        """Return the requests a second that a service's replicas were sent together; None where that is not known."""
        name = f"{labels.namespace(run.group)}_{model_service.name(run)}_80@kubernetes"
        total = 0.0
        for seen in self._seen.values():
            if len(seen) < 2 or self.clock() - seen[-1][0] > 3 * EVERY:
                return None
            # A counter that fell began again with its process.
            grown = [b.get(name, 0.0) - a.get(name, 0.0) for (_, a), (_, b) in pairwise(seen)]
            after = [b.get(name, 0.0) for _, b in list(seen)[1:]]
            total += sum(g if g >= 0 else n for g, n in zip(grown, after, strict=True)) / (
                seen[-1][0] - seen[0][0] or 1.0
            )
        return total if self.urls else None


def counts(text: str) -> dict[str, float]:
    """Return the requests by service that traefik's metrics tell; ValueError for what are no metrics."""
    found: dict[str, float] = {}
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            if sample.name == f"{COUNTER}_total":
                service = sample.labels.get("service", "")
                found[service] = found.get(service, 0.0) + sample.value
    return found
