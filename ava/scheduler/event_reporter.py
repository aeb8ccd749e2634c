"""Says why pods wait: on the pod, as Kubernetes' tools show it, and in the database; at a bounded rate."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Any, Protocol

import orjson

from ava.domain import labels
from ava.domain.placement.model import Gang, Pod
from ava.domain.placement.schedule_pass import Decisions
from ava.domain.problems import ApiError, Problem
from ava.kube.client import Object
from ava.kube.errors import KubeError
from ava.kube.resources import PODS, Kind

log = logging.getLogger(__name__)
AT_ONCE = 20
"""Reasons worked out in one pass: each looks at every node."""
PATIENCE = 1.0
"""Seconds that a run waits before reasons are given: most have a place by then."""
_MOST = 20
_NONE = "[]"


class Patches(Protocol):
    """What can change a pod's status (ava.kube.client.Client)."""

    async def patch(
        self, kind: Kind, name: str, patch: Object, namespace: str | None = None, *, sub: str | None = None
    ) -> Object:
        """Apply a merge patch."""


class Reasons(Protocol):
    """What keeps reasons for people (ava.db.runs.Runs)."""

    def set_waits_for(self, run: str, reasons: Sequence[Problem]) -> None:
        """Keep why a run waits."""


class ConditionReporter:
    """Takes each pass's outcome and writes what has changed.

    Args:
        thing: a pod as Kubernetes last reported of it.
        again: seconds until the reasons of the same run are worked out again.
        rate: pods written per second, all together.
    """

    def __init__(
        self,
        client: Patches,
        runs: Reasons,
        thing: Callable[[str], Object | None],
        *,
        again: float = 30.0,
        rate: float = 10.0,
        patience: float = PATIENCE,
    ) -> None:
        self._client, self._runs, self._thing = client, runs, thing
        self._again, self._pause, self._patience = again, 1 / rate, patience
        self._due: dict[str, float] = {}
        self._left = AT_ONCE
        self._open: dict[str, tuple[Gang, list[Problem]]] = {}
        self._cleared: dict[str, None] = {}
        self._woken = asyncio.Event()

    def why(self, gang: Gang) -> bool:
        """Return whether reasons are wanted for a gang that waits."""
        now = time.monotonic()
        if self._due.setdefault(gang.key, now + self._patience) > now or self._left <= 0:
            return False
        self._left -= 1
        self._due[gang.key] = now + self._again
        return True

    def tell(self, decisions: Decisions) -> None:
        """Take a pass's outcome."""
        self._left = AT_ONCE
        waiting = {gang.key: gang for gang in decisions.waiting}
        for key, problems in decisions.reasons.items():
            self._open[key] = (waiting[key], problems[:_MOST])
        for gang, _ in decisions.placed:
            self._due.pop(gang.key, None)
            self._open.pop(gang.key, None)
            if run := next((self._run(p.key) for p in gang.pods if self._reported(p.key)), None):
                self._cleared[run] = None
        if len(self._due) > 2 * len(waiting) + 1000:
            self._due = {key: due for key, due in self._due.items() if key in waiting}
        if self._open or self._cleared:
            self._woken.set()

    def notes(self, pod: Pod) -> dict[str, str] | None:
        """Return what is written with a bind: reasons that were reported are taken back."""
        return {labels.REASON: _NONE} if self._reported(pod.key) else None

    async def run(self) -> None:
        """Write until cancelled. What cannot be written is left out: the next pass brings it again."""
        while True:
            await self._woken.wait()
            self._woken.clear()
            while self._cleared or self._open:
                if self._cleared:
                    run = next(iter(self._cleared))
                    del self._cleared[run]
                    await self._keep(run, [])
                    continue
                key = next(iter(self._open))
                gang, problems = self._open.pop(key)
                try:
                    await self._write(gang, problems)
                except Exception:
                    log.exception("reasons of %s", key)

    async def _write(self, gang: Gang, problems: list[Problem]) -> None:
        text = orjson.dumps([p.as_dict() for p in problems]).decode()
        new = False
        for pod in gang.pods:
            thing = self._thing(pod.key)
            if thing is None or thing["spec"].get("nodeName") or self._reported(pod.key) == text:
                continue
            new = True
            namespace, _, name = pod.key.partition("/")
            try:
                await self._client.patch(PODS, name, body(thing, text, problems), namespace, sub="status")
            except KubeError as error:
                log.debug("reasons of %s: %s", pod.key, error)
            await asyncio.sleep(self._pause)
        run = self._run(gang.pods[0].key)
        if run and new:
            await self._keep(run, problems)

    async def _keep(self, run: str, problems: list[Problem]) -> None:
        try:
            await asyncio.to_thread(self._runs.set_waits_for, run, problems)
        except ApiError as error:
            log.debug("reasons of run %s: %s", run, error)
        except Exception:
            log.exception("reasons of run %s", run)

    def _reported(self, key: str) -> str:
        thing = self._thing(key)
        reply = ((thing or {}).get("metadata", {}).get("annotations") or {}).get(labels.REASON, "")
        return "" if reply == _NONE else str(reply)

    def _run(self, key: str) -> str:
        thing = self._thing(key)
        return str(((thing or {}).get("metadata", {}).get("labels") or {}).get(labels.RUN, ""))


def body(thing: Object, summary: str, problems: Sequence[Problem]) -> dict[str, Any]:
    """Return the patch of a pod's status: condition PodScheduled, and the reasons as an annotation.

    It holds the version that was seen, so that a pod that was bound meanwhile is not written to.
    """
    conditions = (thing.get("status") or {}).get("conditions") or []
    before: dict[str, Any] = next((c for c in conditions if c.get("type") == "PodScheduled"), {})
    now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    mine = {
        "type": "PodScheduled",
        "status": "False",
        "reason": "Unschedulable",
        "message": " ".join(p.what for p in problems)[:1000],
        "lastProbeTime": None,
        "lastTransitionTime": before.get("lastTransitionTime") or now
        if before.get("status") == "False"
        else now,
    }
    return {
        "metadata": {
            "resourceVersion": thing["metadata"]["resourceVersion"],
            "annotations": {labels.REASON: summary},
        },
        "status": {"conditions": [*(c for c in conditions if c.get("type") != "PodScheduled"), mine]},
    }
