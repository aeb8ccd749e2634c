"""Live and kept logs as one: what is there now from Kubernetes, what is gone from the stores."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from datetime import datetime

from ava.services.logs.interface import LogBackendUnavailable, LogLine, Logs, Pods, Target, merged


class CombinedLogs:
    """Asks the live source for pods that are there, and the kept one for all; either may be away."""

    def __init__(self, live: Logs, kept: Logs) -> None:
        self._live, self._kept = live, kept

    async def read(self, target: Target, *, since: datetime | None, limit: int) -> Sequence[LogLine]:
        """Return the newest lines of both; LogBackendUnavailable where neither has answered."""
        found: list[LogLine] = []
        why: list[str] = []
        sources = [self._kept, *([self._live] if target.pods else [])]
        for source in sources:
            try:
                found += await source.read(target, since=since, limit=limit)
            except LogBackendUnavailable as error:
                why.append(str(error))
        if len(why) == len(sources):
            raise LogBackendUnavailable("; ".join(why))
        return merged(found, limit)

    async def follow(self, target: Target, pods: Pods, *, since: datetime) -> AsyncIterator[LogLine]:
        """Yield lines as they are written, or where Kubernetes cannot be asked, as the stores get them."""
        try:
            async for line in self._live.follow(target, pods, since=since):
                yield line
        except LogBackendUnavailable as live:
            try:
                async for line in self._kept.follow(target, pods, since=since):
                    yield line
            except LogBackendUnavailable as kept:
                raise LogBackendUnavailable(f"{live}; {kept}") from kept

    async def close(self) -> None:
        """Give connections back."""
        await self._live.close()
        await self._kept.close()
