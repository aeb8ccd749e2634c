"""Loops of the scheduler."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any, cast

from ava.domain.placement.schedule_pass import Decisions
from ava.scheduler import program
from ava.scheduler.binder import Binder
from ava.scheduler.cache import Cache
from ava.scheduler.event_reporter import ConditionReporter
from ava.scheduler.leader_session import LeaderSession as Scheduler
from ava.scheduler.metrics import Metrics
from ava.scheduler.placement_loop import PlacementLoop
from ava.scheduler.rbac import RoleBinder as Rights
from tests.unit.ava.scheduler import builders
from tests.unit.loops.common import (
    Odd,
    Patch,
    anything,
    bad_first_async,
    contends,
    until,
)


def scheduler_leads(tmp_path: Path, monkeypatch: Patch) -> None:
    lease = anything(lease=lambda: None, namespace="x", name="x")
    config = anything(identity="x", kubeconfig=None, lease=lease, listen="127.0.0.1:0", binds=1)
    contends(program, lambda: program.Program(config, anything()).run(anything()), monkeypatch)


def admitting(tmp_path: Path, monkeypatch: Patch) -> None:
    """A round that raises is followed by another one; a run that raises within a round: test_scheduler_admitting.py."""
    done: list[Any] = []
    it = anything(_config=anything(poll=0.0), _metrics=Metrics(), _admit=bad_first_async(done))
    it._wait = lambda poll: asyncio.sleep(0)
    it._patiently = lambda name, work: Scheduler._patiently(it, name, work)
    until(lambda: Scheduler._admitting(it), lambda: len(done) > 1)


def signing(tmp_path: Path, monkeypatch: Patch) -> None:
    done: list[Any] = []
    it = anything(_config=anything(sign=0.0), _metrics=Metrics(), _sign=bad_first_async(done))
    it._patiently = lambda name, work: Scheduler._patiently(it, name, work)
    it.cache = anything(gangs=list, cluster=None, largest={})
    until(lambda: Scheduler._signing(it), lambda: len(done) > 1)


def binder(tmp_path: Path, monkeypatch: Patch) -> None:
    """The first pod's notes and the second's bind raise: both are sent again, and the third is bound."""
    from ava.domain.placement.model import PlacementConstraints, Pod
    from ava.domain.resources import Resources

    failed: list[str] = []

    def answer(key: str, node: str) -> None:
        if key == "x/b" and key not in failed:
            failed.append(key)
            raise Odd("planted")

    def notes(pod: Pod) -> None:
        if pod.key == "x/a":
            raise Odd("planted")

    binds = builders.Binds(answer)

    async def go() -> None:
        it = Binder(binds, Metrics(), refused=lambda pod: None, wanted=lambda pod: True, notes=notes, width=1)
        it.put(Pod(f"x/{name}", name, Resources(), PlacementConstraints(""), node="n") for name in "abc")
        await it.run()

    until(go, lambda: set(binds.bound) == {"x/a", "x/b", "x/c"})


def placer(tmp_path: Path, monkeypatch: Patch) -> None:
    """A gang that cannot be placed, and a pass that raises as a whole."""
    from ava.domain.placement import schedule_pass as module
    from ava.domain.placement.pools import DEFAULT

    real, report = module.place, list[Decisions]()

    def place(cluster: Any, gang: Any) -> Any:
        if "bad" in gang.key:
            cluster.put(gang.pods[0])
            raise Odd("planted")
        return real(cluster, gang)

    def tell(decisions: Decisions) -> None:
        report.append(decisions)
        if len(report) == 1:
            raise Odd("planted")

    monkeypatch.setattr(module, "place", place)
    put: list[Any] = []

    async def go() -> None:
        cache = Cache(DEFAULT)
        cache.on_node(None, builders.node("n"))
        for run in ("bad", "good"):
            cache.on_pod(None, builders.pod(run))
        it = PlacementLoop(
            cache,
            anything(backlog=lambda: 0, put=put.extend),
            Metrics(),
            tell=tell,
            every=0.05,
        )
        await it.run()

    until(go, lambda: len(report) > 1)
    assert [pod.key.split("/")[1].split("-")[0] for pod in put] == ["good"]
    assert [p.code for p in next(iter(report[-1].reasons.values()))] == ["not-placeable"]


def teller(tmp_path: Path, monkeypatch: Patch) -> None:
    from ava.domain.placement.model import Gang
    from ava.domain.problems import Problem
    from ava.scheduler import cluster_reader

    kept: list[str] = []
    seen = {
        f"{p['metadata']['namespace']}/{p['metadata']['name']}": p for p in map(builders.pod, ("bad", "good"))
    }
    pods = [cluster_reader.pod(thing, lambda gpu: "cards") for thing in seen.values()]

    async def patch(kind: Any, name: str, *args: Any, **named: Any) -> None:
        if "bad" in name:
            raise Odd("planted")
        kept.append(name)

    async def go() -> None:
        it = ConditionReporter(
            anything(patch=patch), anything(set_waits_for=lambda run, why: None), seen.get, rate=1000
        )
        gangs = [Gang(pod.gang or pod.key, (pod,)) for pod in pods]
        it.tell(Decisions(waiting=gangs, reasons={g.key: [Problem("x", "x")] for g in gangs}))
        await it.run()

    until(go, lambda: len(kept) == 1)


def rights(tmp_path: Path, monkeypatch: Patch) -> None:
    bound: list[str] = []

    async def create(kind: Any, body: Any, space: str) -> None:
        bound.append(space)

    def group(name: str) -> None:
        if name == "bad":
            raise Odd("planted")

    async def go() -> None:
        settings = anything(namespace="p", account="a", role="r")
        it = Rights(anything(create=create), anything(groups=anything(get=group)), cast(Any, settings))
        for name in ("bad", "good"):
            meta = {"name": f"ava-{name}", "uid": name, "labels": {"ava.io/group": name}}
            it.spaces.objects["", meta["name"]] = {"metadata": meta}
        it.spaces.run = lambda: asyncio.sleep(60)  # type: ignore[method-assign]
        await it.run()

    until(go, lambda: bound == ["ava-good"])


LOOPS = {
    "ava/scheduler/leader_session.py:LeaderSession._admitting": admitting,
    "ava/scheduler/leader_session.py:LeaderSession._signing": signing,
    "ava/scheduler/binder.py:Binder.run": binder,
    "ava/scheduler/placement_loop.py:PlacementLoop.run": placer,
    "ava/scheduler/program.py:Program.run": scheduler_leads,
    "ava/scheduler/rbac.py:RoleBinder.run": rights,
    "ava/scheduler/event_reporter.py:ConditionReporter.run": teller,
}
