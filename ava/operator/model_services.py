"""One look at one service: its replicas come to what the database wants step by step (domain/serving.py says which).

A replica that is to go is first taken out of service and removed some seconds later, for the ingress controllers learn
of it with a delay: until then it answers what they still send.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta

from ava.db.database import Database
from ava.domain import labels, model_services, pod_failures, pod_status
from ava.domain.model import Outcome, PodState, Run
from ava.domain.model_services import Name, Plan, Replica, Service
from ava.domain.phrases import Phrase
from ava.domain.problems import ApiError, Problem, from_stored
from ava.domain.spec import Serving, Spec
from ava.domain.states import explain
from ava.kube.client import Object
from ava.kube.errors import Conflict, Invalid, NotFound
from ava.kube.resources import INGRESSES, NETWORK_POLICIES, PODS, SERVICES
from ava.operator import replica, run_context
from ava.operator.allocations import Allocations, on_node
from ava.operator.cluster import Cluster
from ava.operator.config import Config
from ava.operator.db_executor import DbExecutor
from ava.operator.manifests import model_service
from ava.operator.node_drains import NodeDrains
from ava.operator.policies import Finish, Place
from ava.operator.request_load import EVERY, RequestLoad
from ava.operator.run_objects import RunObjects

log = logging.getLogger(__name__)
WAIT = 2.0
"""Seconds until the next look while something is on its way."""
CODE = "service-"
"""What the codes of its own reasons begin with."""


class ModelServices:
    """Brings services to what is wanted."""

    def __init__(
        self,
        cluster: Cluster,
        db: Database,
        threads: DbExecutor,
        config: Config,
        objects: RunObjects,
        stuck: Mapping[str, pod_failures.FailureReason],
        allocations: Allocations,
        drains: NodeDrains,
    ) -> None:
        self.cluster, self.db, self.threads, self.config = cluster, db, threads, config
        self.objects, self.stuck, self.allocations = objects, stuck, allocations
        self.drains = drains
        self.load = RequestLoad(config.services.ingresses)
        self._specs: dict[tuple[str, int], Spec] = {}
        self._ended: dict[str, tuple[int, datetime]] = {}
        """How many replicas of a run ended in a row, and before when none is made again."""

    async def step(self, run: Run, spec: Spec, now: datetime) -> Finish | float | None:
        """Tell the database what a service's pods do and bring it a step on.

        Return its end, or after how many seconds to look again; None: only when something changes.
        """
        known = {s.pod: s for s in (await self.threads(self.db.pods.list, [run.id])).get(run.id, ())}
        there = self.cluster.run_pods(run.id)
        states = {s.pod: replica.since(s, known.get(s.pod)) for s in (self._state(pod, now) for pod in there)}
        if states != known:
            await self.threads(self.db.pods.record, run.id, list(states.values()), now)
        if run.stop is not None:
            return Finish(Outcome.STOPPED, "")
        try:
            return await self._look(run, spec, states, now)
        except (ValueError, Invalid) as error:
            # Nothing of ours to repair. What serves continues; what never served ends.
            trouble = Phrase("Its replicas cannot be made: {error}", error=str(error))
            if not there:
                return Finish(Outcome.FAILED, trouble)
            await self.threads(self.db.model_services.set_trouble, run.id, trouble, now)
            return EVERY

    def _state(self, pod: Object, now: datetime) -> PodState:
        """Return a replica's state; it is the kubelet that starts it again, and counts how often."""
        read, why = pod_status.read(pod, now), self.stuck.get(pod["metadata"]["uid"])
        ran = (pod.get("status") or {}).get("containerStatuses") or []
        read = replace(read, restarts=sum(int(one.get("restartCount") or 0) for one in ran))
        return replace(read, reason=why.code, message=why.text) if why is not None else read

    async def _look(
        self, run: Run, spec: Spec, states: Mapping[str, PodState], now: datetime
    ) -> float | None:
        assert spec.serving is not None  # noqa: S101 - asked by the caller
        service = await self._scaled(
            run, spec.serving, await self.threads(self.db.model_services.get, run.id), now
        )
        there = {replica.name(pod): pod for pod in self.cluster.run_pods(run.id)}
        specs = {
            r: await self._spec(run, r) for r in {service.target, service.settled, *(n[0] for n in there)}
        }
        placed = {
            n: states[pod["metadata"]["name"]]
            for n, pod in there.items()
            if on_node(pod) and pod["metadata"]["name"] in states
        }
        amount = replica.asks(specs[name[0]] for name in placed)
        await self.allocations.of_service(run, amount, placed.values(), now)
        replicas = {
            n: replica.replica(n, pod, states, specs[n[0]], now, self.drains.of(pod))
            for n, pod in there.items()
        }
        plan = self._patiently(run, model_services.plan(service, replicas.values()), replicas, now)
        await self._front(run, service.address, spec, specs)
        await self._remove(plan, there, replicas, now)
        problems = await self._create(run, service, plan, specs, there, now)
        if plan.settled:
            if service.settled != service.target:
                await self.threads(self.db.model_services.settle, run.id, service.target, now)
            await self.objects.remove_attempts(run.id, service.target)
        await self._tell(run, service, plan, states, problems, now)
        if plan.create or plan.remove or len(there) > service.wanted:
            return WAIT
        by_load = spec.serving.scaling is not None and spec.serving.scaling.requests is not None
        return EVERY if by_load or not plan.settled else None

    def forget(self, run: str) -> None:
        """Drop what is remembered of a run that has ended."""
        self._ended.pop(run, None)
        for key in [key for key in self._specs if key[0] == run]:
            del self._specs[key]

    def _patiently(self, run: Run, plan: Plan, replicas: Mapping[Name, Replica], now: datetime) -> Plan:
        """Return a plan that makes nothing for a while after replicas ended, longer each time until all are well."""
        if plan.settled:
            self._ended.pop(run.id, None)
            return plan
        count, until = self._ended.get(run.id, (0, now))
        if any(replicas[name].ended for name in plan.remove):
            wait = min(self.config.times.pod_backoff * 2.0 ** min(count, 16), 300.0) if count else 0.0
            count, until = count + 1, now + timedelta(seconds=wait)
            self._ended[run.id] = count, until
        return replace(plan, create=()) if now < until else plan

    async def _scaled(self, run: Run, serving_spec: Serving, service: Service, now: datetime) -> Service:
        """Return the service with the number of replicas that its load asks for."""
        if serving_spec.scaling is None:
            return service
        wanted = model_services.scaled(service, serving_spec.scaling, self.load.rate(run), now)
        if wanted == service.wanted:
            return service
        try:
            return await self.threads(self.db.model_services.scale, run.id, wanted, now)
        except ApiError as refused:
            # More than the group or the queue may ever have, or it is being stopped: as many as there are continue.
            if refused.status not in (409, 422):
                raise
            log.info("service %s stays at %d replicas: %s", run.id, service.wanted, refused)
            return service

    async def _spec(self, run: Run, revision: int) -> Spec:
        known = self._specs.get((run.id, revision))
        if known is None:
            reply = await self.threads(self.db.model_services.revision, run.id, revision)
            known = self._specs[run.id, revision] = Spec.model_validate(reply)
        return known

    async def _front(self, run: Run, address: str, spec: Spec, specs: Mapping[int, Spec]) -> None:
        """Make what requests come by; who may call follows the definition at once."""
        network, front, space = self.config.network, self.config.services.front(), labels.namespace(run.group)
        serves = [one.serving for one in specs.values() if one.serving is not None]
        assert spec.serving is not None  # noqa: S101
        await self.objects.group(run.group)
        scraped = network.scrapers if any(one.metrics for one in serves) else ()
        ports = sorted({one.port for one in serves})
        policy = model_service.policy(run, ports, network.web, scraped)
        await self.objects.keep(NETWORK_POLICIES, policy, space)
        await self.objects.need(SERVICES, model_service.service(run), space)
        if front.domain:
            await self.objects.keep(
                INGRESSES, model_service.ingress(run, address, spec.serving, front), space
            )

    async def _remove(
        self, plan: Plan, there: Mapping[Name, Object], replicas: Mapping[Name, Replica], now: datetime
    ) -> None:
        gone = [there[name] for name in plan.remove if not replicas[name].ready]
        gone += [pod for pod in there.values() if replica.is_drained(pod, now, self.config.times.drain)]
        await self.objects.remove_pods(gone)
        for name in plan.remove:
            if replicas[name].ready:
                await self._drain(there[name], now)

    async def _drain(self, pod: Object, now: datetime) -> None:
        """Take a replica out of service; it continues answering what still comes."""
        meta = pod["metadata"]
        patch = {
            "metadata": {
                "uid": meta["uid"],
                "labels": {labels.SERVES: None},
                "annotations": {labels.DRAINED: now.astimezone(UTC).isoformat()},
            }
        }
        try:
            made = await self.cluster.client.patch(PODS, meta["name"], patch, meta["namespace"])
        except (NotFound, Conflict):
            return
        self.cluster.pods.put(made)

    async def _create(
        self,
        run: Run,
        service: Service,
        plan: Plan,
        specs: Mapping[int, Spec],
        there: Mapping[Name, Object],
        now: datetime,
    ) -> Sequence[Problem]:
        """Make replicas as far as they can be charged; return why not all. What is charged is never less than what is there."""
        has = replica.asks(specs[name[0]] for name in there)
        settling = not plan.settled or service.target != service.settled or len(there) > service.wanted
        problems: Sequence[Problem] = ()
        # All that is to come, or one of it, or nothing.
        for some in (plan.create, plan.create[:1], ()):
            needs = has.plus(replica.asks(specs[name[0]] for name in some))
            # Until it is where it shall be nothing is given back: an update would change the charge with each replica.
            amount = replica.most(needs, run.asks) if settling or some else needs
            found: Sequence[Problem] = ()
            if amount != run.asks:
                found = await self.threads(self.db.model_services.recharge, run.id, amount, now)
            if not found:
                await self._make(run, specs, some)
                break
            problems = found
        return problems

    async def _make(self, run: Run, specs: Mapping[int, Spec], some: Sequence[Name]) -> None:
        pods = self.config.pods
        for revision in sorted({name[0] for name in some}):
            spec, of_it = specs[revision], replace(run, attempt=revision)
            found = await run_context.read(
                self.threads, self.db, of_it, spec, pods.domain, pods.mount, pods.cache
            )
            await self.objects.run(found, {})
            role = spec.roles[0].name
            places: dict[Place, int] = {(role, name[1]): 0 for name in some if name[0] == revision}
            await self.objects.pods(found, places)

    async def _tell(
        self,
        run: Run,
        service: Service,
        plan: Plan,
        states: Mapping[str, PodState],
        problems: Sequence[Problem],
        now: datetime,
    ) -> None:
        own = [
            Problem(
                f"{CODE}waits",
                Phrase("More replicas wait: {what}", what=p.what),
                p.where,
                p.found,
                p.wanted,
                p.remedy,
            )
            for p in problems
        ]
        trouble: str = ""
        if plan.stalled:
            bad = [s for s in states.values() if s.attempt == service.target and not s.ready]
            why = next(
                (text for s in bad if (text := explain(s))),
                Phrase("It does not answer its health check in time."),
            )
            trouble = Phrase(
                "The update to revision {revision} stopped: {why}", revision=service.target, why=why
            )
            remedy = Phrase("Read its log; submit the definition of before to take it back, or a better one.")
            own.append(Problem(f"{CODE}update-stopped", trouble, f"service {run.name}", remedy=remedy))
        others = [p for p in run.waits_for if not str(p.get("code", "")).startswith(CODE)]
        if [p.as_stored() for p in own] != [p for p in run.waits_for if p not in others]:
            kept = [from_stored(p) for p in others]
            await self.threads(self.db.runs.set_waits_for, run.id, [*kept, *own])
        if trouble != service.trouble:
            await self.threads(self.db.model_services.set_trouble, run.id, trouble, now)
