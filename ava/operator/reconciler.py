"""One look at one run: what its pods say goes to the database, what the database wants goes to its pods.

Each look starts from what is there and does what is missing; what it remembers between two looks only makes it slower, so
it may be killed anywhere (N8).
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial

from pydantic import ValidationError

from ava.db.database import Database
from ava.db.types import plain
from ava.domain import labels, pod_status
from ava.domain.model import Kind, Outcome, Phase, PodState, Run
from ava.domain.phrases import Phrase
from ava.domain.pod_failures import FailureReason
from ava.domain.problems import ApiError, Problem
from ava.domain.spec import Spec
from ava.kube.client import Object
from ava.kube.errors import Denied, Invalid
from ava.operator import policies, run_context
from ava.operator.allocations import Allocations
from ava.operator.cluster import Cluster, OwnershipConflict
from ava.operator.concurrency import gather_limited
from ava.operator.config import Config
from ava.operator.db_executor import DbExecutor
from ava.operator.disks import Disks
from ava.operator.metrics import Metrics
from ava.operator.model_services import ModelServices
from ava.operator.node_drains import NodeDrains
from ava.operator.policies import Decision, Finish, Place, Proceed, Restart
from ava.operator.run_objects import RunObjects
from ava.operator.ssh_keys import Sealed
from ava.operator.workbenches import Workbenches

log = logging.getLogger(__name__)
Clock = Callable[[], datetime]
SOON = 0.0
NOT_MADE = "pods-not-made"
"""Code of the reason why a run that was admitted has no pods."""


def utc() -> datetime:
    """Return the time."""
    return datetime.now(UTC)


class Reconciler:
    """Looks at runs.

    Args:
        stuck: why pods that should be gone are not, by uid (terminating.py).
        now: the clock.
    """

    def __init__(
        self,
        cluster: Cluster,
        db: Database,
        threads: DbExecutor,
        config: Config,
        metrics: Metrics,
        stuck: Mapping[str, FailureReason],
        now: Clock = utc,
    ) -> None:
        self.cluster, self.db, self.threads, self.config = cluster, db, threads, config
        self.objects = RunObjects(cluster, config)
        self.benches = Workbenches(cluster, db, threads, config)
        self.disks = Disks(cluster, db, threads, config.cluster, now)
        self.allocations = Allocations(db, threads)
        self.drains = NodeDrains(cluster, db, threads, config.cluster, now)
        self.replicas = ModelServices(
            cluster, db, threads, config, self.objects, stuck, self.allocations, self.drains
        )
        self.metrics, self.stuck, self.now = metrics, stuck, now
        self._asked: dict[str, int] = {}
        self._hopeless: dict[str, str] = {}
        """Why a run's pods cannot be made; asking again would make half of them again and again."""
        self._waits: dict[tuple[str, int, Place, int], float] = {}

    async def look(self, id: str) -> float | None:
        """Bring one run a step on; return after how many seconds to look again though nothing changed, None: not at all."""
        try:
            run = await self.threads(self.db.runs.get, id)
        except ApiError as error:
            if error.status == 404:
                return None
            raise
        if run.cluster != self.config.cluster or run.phase is Phase.QUEUED:
            return None
        if run.phase is Phase.FINISHED:
            return await self._tidy(run)
        try:
            spec = Spec.model_validate(run.spec)
        except ValidationError:
            reason = Phrase("Its definition cannot be read by this version.")
            return await self._end(run, Finish(Outcome.FAILED, reason), self.cluster.run_pods(id))
        return await self._admitted(run, spec)

    async def _tidy(self, run: Run) -> float | None:
        """Remove what is left of a finished run: what another leader made in its last moments."""
        left = list(self.cluster.of_run(run.id))
        if left:
            await self.objects.remove_pods(self.cluster.run_pods(run.id), now=True)
            await self.objects.remove_rest(run.id, labels.namespace(run.group))
        return None

    async def _admitted(self, run: Run, spec: Spec) -> float | None:
        if run.kind is Kind.SERVICE and spec.serving is not None:
            reply = await self.replicas.step(run, spec, self.now())
            return (
                await self._end(run, reply, self.cluster.run_pods(run.id))
                if isinstance(reply, Finish)
                else reply
            )
        there = self.cluster.run_pods(run.id)
        mine = {place_of(pod): pod for pod in there if _attempt(pod) == run.attempt}
        known = (await self.threads(self.db.pods.list, [run.id])).get(run.id, ())
        states = self._states(run, mine, known)
        await self._observe(run, there, known, states)
        now = self.now()
        run = await self.allocations.look(run, spec, states, there, now)
        decision = policies.decide(
            run, spec, states, mine.keys(), now, pod_restarts=self.config.pods.restarts
        )
        return await self._do(run, spec, decision, there, mine)

    async def _do(
        self, run: Run, spec: Spec, decision: Decision, there: list[Object], mine: Mapping[Place, Object]
    ) -> float | None:
        hopeless = self._hopeless.get(run.id)
        if hopeless is not None and not isinstance(decision, Finish):
            decision = Finish(Outcome.FAILED, hopeless)
        if isinstance(decision, Finish):
            return await self._end(run, decision, there)
        if isinstance(decision, Restart):
            log.info("run %s starts again: %s", run.id, decision.reason)
            await self.threads(self.db.runs.restart, run.id, run.attempt, self.now())
            return SOON
        old = [pod for pod in there if _attempt(pod) != run.attempt]
        if old:
            # Only when all are gone: the charge is for one set of pods.
            await self.objects.remove_pods(old)
            return None
        return await self._go(run, spec, decision, mine)

    async def _go(self, run: Run, spec: Spec, go: Proceed, mine: Mapping[Place, Object]) -> float | None:
        await self.objects.remove_pods([mine[place] for place in go.remove])
        if run.kind is Kind.WORKBENCH:
            await self.benches.refresh(run, mine.values())
            if await self.disks.bind(run, mine.values()):
                log.info("run %s starts again: its node has no room for its disk", run.id)
                await self.threads(self.db.runs.restart, run.id, run.attempt, self.now())
                return SOON
        due, later = self._backed_off(run, go.create)
        if due:
            try:
                await self._make(run, spec, due)
            except run_context.NotReady as not_yet:
                log.info("run %s waits: %s", run.id, not_yet)
                await self._say(run, str(not_yet))
                return self._patience(run)
            except (OwnershipConflict, Denied) as error:
                if isinstance(error, Denied) and self.objects.is_new(run.group):
                    await self._say(run, f"the namespace of the group {run.group} is being prepared")
                    return self._patience(run)
                await self._say(run, Phrase("Kubernetes does not take its pods: {error}", error=str(error)))
                raise
            except (Sealed, ValueError, Invalid) as error:
                # Nothing of ours to repair: what the user asked for cannot be made, now or later.
                self._hopeless[run.id] = Phrase("Its pods cannot be made: {error}", error=str(error))
                return SOON
            await self._say(run, "")
            self._asked.pop(run.id, None)
            if run.attempt:
                await self.objects.remove_attempts(run.id, run.attempt)
        if go.until is not None:
            later.append((go.until - self.now()).total_seconds())
        return max(0.1, min(later)) if later else None

    async def _say(self, run: Run, why: str) -> None:
        """Keep why a run's pods are not made; empty: they are."""
        before = [reason for reason in run.waits_for if reason.get("code") == NOT_MADE]
        if why == (str(before[0].get("what")) if before else ""):
            return
        remedy = Phrase(
            "Wait; where it lasts, ask the administrator. Its quota is taken meanwhile: stop the run to give it back."
        )
        reasons = (
            [Problem(NOT_MADE, plain(why, 1000), Phrase("run {id}", id=run.id), remedy=remedy)] if why else []
        )
        await self.threads(self.db.runs.set_waits_for, run.id, reasons)

    def _patience(self, run: Run) -> float:
        """Return the seconds until a run's folders are looked for again; longer each time, for each look is eight questions."""
        # Often at first: the folders of a first run are made within a second.
        asked = self._asked[run.id] = self._asked.get(run.id, 0) + 1
        return float(min(0.2 * 1.5 ** (asked - 1), 15.0))

    def _backed_off(self, run: Run, create: Mapping[Place, int]) -> tuple[dict[Place, int], list[float]]:
        """Return the places whose pod is due now, and the seconds until each of the others is.

        A pod that fails again and again comes again later each time; after a restart of the operator once at once.
        """
        due: dict[Place, int] = {}
        later: list[float] = []
        for place, restarts in create.items():
            wait = (
                min(self.config.times.pod_backoff * 2.0 ** min(restarts - 1, 16), 300.0)
                if restarts > 1
                else 0.0
            )
            since = self._waits.setdefault((run.id, run.attempt, place, restarts), time.monotonic())
            left = since + wait - time.monotonic()
            if left > 0:
                later.append(left)
            else:
                due[place] = restarts
        return due, later

    def forget(self, run: str) -> None:
        """Drop what is remembered of a run that has ended."""
        self.replicas.forget(run)
        self.allocations.forget(run)
        self._hopeless.pop(run, None)
        self._asked.pop(run, None)
        for key in [key for key in self._waits if key[0] == run]:
            del self._waits[key]

    async def _make(self, run: Run, spec: Spec, due: Mapping[Place, int]) -> None:
        if spec.git is not None and not self.config.pods.git_image:
            raise ValueError("this site has no image that clones code (pods.git_image)")
        pods = self.config.pods
        found = await run_context.read(self.threads, self.db, run, spec, pods.domain, pods.mount, pods.cache)
        deploy = (
            await self.threads(self.db.keys.list, run.owner, "deploy") if spec.git and spec.git.key else {}
        )
        # Before anything is in it.
        await self.objects.group(run.group)
        made = [partial(self.objects.run, found, deploy)]
        if run.kind is Kind.WORKBENCH:
            made.append(partial(self.benches.make, run, found.owner, self.now()))
        await gather_limited(made)
        await self.objects.pods(found, due)

    async def _end(self, run: Run, end: Finish, there: list[Object]) -> float | None:
        """Take all pods away; when the server itself has none left, remove the rest, and the charge ends."""
        if there:
            await self.objects.remove_pods(there, now=end.now)
            return None
        if not await self.objects.remove_rest(run.id, labels.namespace(run.group)):
            return 1.0
        await self.threads(self.db.runs.finish, run.id, end.outcome, end.reason, self.now())
        if run.stop is not None:
            self.metrics.finish.observe(max(0.0, (self.now() - run.stop).total_seconds()))
        self.forget(run.id)
        log.info("run %s %s", run.id, end.outcome.value)
        return None

    def _states(
        self, run: Run, mine: Mapping[Place, Object], known: Sequence[PodState]
    ) -> dict[Place, PodState]:
        """Return what is known of each place of the present attempt."""
        now, times = self.now(), self.config.times
        before = {(s.role, s.index): s for s in known if s.attempt == run.attempt}
        found: dict[Place, PodState] = {}
        for place in {*before, *mine}:
            state = pod_status.merge(before.get(place), self._shown(mine.get(place), now))
            if state is not None:
                found[place] = pod_status.settle(state, now, times.image_wait, times.start_wait)
        return found

    def _shown(self, pod: Object | None, now: datetime) -> PodState | None:
        if pod is None:
            return None
        state = pod_status.read(pod, now)
        why = self.stuck.get(pod["metadata"]["uid"])
        return replace(state, reason=why.code, message=why.text) if why is not None else state

    async def _observe(
        self,
        run: Run,
        there: list[Object],
        known: Sequence[PodState],
        states: Mapping[Place, PodState],
    ) -> None:
        """Tell the database, where something changed. How earlier attempts ended stays; their pods that are still there show."""
        now = self.now()
        kept = {s.pod: s for s in known if run.attempt - 2 < s.attempt < run.attempt}
        for pod in there:
            state = pod_status.read(pod, now)
            if state.attempt != run.attempt:
                merged = pod_status.merge(kept.get(state.pod), state)
                if merged is not None:
                    kept[state.pod] = merged
        wanted = {**kept, **{s.pod: s for s in states.values()}}
        if wanted != {s.pod: s for s in known}:
            await self.threads(self.db.pods.record, run.id, list(wanted.values()), now)


def place_of(pod: Object) -> Place:
    """Return role and index of a pod of ours."""
    marks = pod["metadata"]["labels"]
    return marks.get(labels.ROLE, ""), int(marks.get(labels.INDEX) or 0)


def _attempt(pod: Object) -> int:
    return int(pod["metadata"]["labels"].get(labels.ATTEMPT) or 0)
