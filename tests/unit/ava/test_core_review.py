"""Faults that a review of the core found, each planted as it was found."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from types import SimpleNamespace
from typing import Any, cast

import httpx
import pytest
from starlette.testclient import TestClient

from ava.api.health import internal
from ava.client.transport import refusal
from ava.domain.model import Kind
from ava.domain.names import email_problems
from ava.domain.placement.capacity import FIELD, part, rooms, snapshot
from ava.domain.placement.cluster import Cluster
from ava.domain.placement.cluster_selector import gang_of
from ava.domain.placement.model import Gang, Node, PlacementConstraints, Pod
from ava.domain.placement.pools import DEFAULT
from ava.domain.placement.reservations import holding
from ava.domain.resources import Resources
from ava.domain.spec import Amount, Role, Spec
from ava.domain.workbench import Workbench
from ava.kube.leader import Leader
from ava.operator.run_context import RunContext
from ava.scheduler import cluster_reader
from tests.unit.ava.operator.fake_cluster import furnish, now, start
from tests.unit.ava.scheduler import builders


@pytest.mark.parametrize("email", ["=?utf-8?q?=0a?=@x.org", "=?utf-8?b?!!!?=@x.org"])
def test_an_address_that_mail_programs_decode_is_refused(email: str) -> None:
    assert [p.code for p in email_problems(email, "email")] == ["email-invalid"]


def test_a_whole_node_is_kept_where_no_workbench_is() -> None:
    cluster = Cluster(DEFAULT, [Node(name, Resources(8, 8000, 2**40)) for name in ("a", "b")])
    one, gpu = Resources(1), next(pool.name for pool in DEFAULT if pool.gpu)
    cluster.put(Pod("x/bench", "bench", one, PlacementConstraints(gpu), node="a", endless=True))
    for index in range(8):
        cluster.put(Pod(f"x/b{index}", f"b{index}", one, PlacementConstraints(gpu), node="b"))
    # The workbench's node lacks least at the moment, and will lack one GPU for ever.
    whole = Gang("whole", (Pod("x/whole", "whole", Resources(8), PlacementConstraints(gpu)),))
    with holding(cluster) as holder:
        assert holder.keep(whole)
        assert cluster.slots["b"].held.gpu == 8 and cluster.slots["a"].held.gpu == 0


def test_a_workbenchs_pod_is_known_to_have_no_end_and_a_queue_comes_before_a_runs_own_priority() -> None:
    made = builders.pod("r1")
    notes, marks = made["metadata"].setdefault("annotations", {}), made["metadata"]["labels"]
    notes |= {"ava.io/queue-priority": "0", "ava.io/priority": "100"}
    low = cluster_reader.pod(made, lambda gpu: "p")
    notes |= {"ava.io/queue-priority": "1000", "ava.io/priority": "0"}
    marks["ava.io/kind"] = "workbench"
    high = cluster_reader.pod(made, lambda gpu: "p")
    assert high.priority > low.priority
    assert (low.endless, high.endless) == (False, True)


def test_pods_have_the_priority_of_their_queue(db: Any) -> None:
    from ava.operator import run_context
    from ava.operator.manifests import pod

    furnish(db)
    db.queues.put("hi", now(), priority=1000)
    run = start(db, queue="hi")

    async def called(what: Any, *args: Any) -> Any:
        return what(*args)

    spec = Spec.model_validate(run.spec)
    run = SimpleNamespace(**{n: getattr(run, n) for n in run.__slots__} | {"queue": "hi"})  # type: ignore[assignment]
    found = asyncio.run(run_context.read(cast(Any, called), db, run, spec, "d"))
    assert found.queue_priority == 1000
    place = pod.PodContext(
        run, spec, spec.roles[0], 0, found.owner, found.group, found.members, None, queue_priority=1000
    )
    assert pod._annotations(place, cast(Any, SimpleNamespace(seccomp="")))["ava.io/queue-priority"] == "1000"


def test_a_cluster_of_256_unlike_nodes_is_known_to_the_api(db: Any) -> None:
    nodes = [
        Node(
            f"gpu-{i:03}.cluster.example.org",
            Resources(8, 64_000, 2**39 + i * 4096),
            model="Tesla-V100-SXM2-32GB",
        )
        for i in range(256)
    ]
    room = snapshot(Cluster(DEFAULT, nodes), "default", {})
    db.heartbeats.record(part("default"), now(), {FIELD: room.as_dict()})
    known = rooms({name: detail for name, (_, detail) in db.heartbeats.list().items()})
    assert len(known["default"].nodes) == 256


def test_what_is_left_out_of_a_sign_of_life_is_logged(db: Any, caplog: pytest.LogCaptureFixture) -> None:
    db.heartbeats.record("scheduler", now(), {"nodes": ["x" * 4000] * 400})
    assert "too large" in caplog.text


def test_a_leader_that_stood_still_for_its_whole_lease_does_not_go_on() -> None:
    clock, tries = [0.0], list[int]()
    leader = Leader(
        cast(Any, SimpleNamespace(guarded=lambda check: None)), "x", "x", "x", clock=lambda: clock[0]
    )
    leader._until = 10.0

    async def tried() -> bool:
        tries.append(1)
        leader._until = clock[0] + 10
        return True

    async def go() -> None:
        leader._try = tried  # type: ignore[method-assign]
        renewing = asyncio.create_task(leader._renew())
        await asyncio.sleep(0)
        clock[0] = 11.0
        await asyncio.wait_for(renewing, 5)

    leader._lease = type(leader._lease)(14.0, 4.0, 0.01)
    asyncio.run(go())
    assert tries == []


def test_a_workbench_whose_user_came_in_meanwhile_is_not_stopped(db: Any) -> None:
    furnish(db)
    run = start(db, kind=Kind.WORKBENCH, name="bench")
    seen = db.workbenches.create(Workbench(run.definition, "private", "public", "token", now()))
    db.workbenches.record_activity(run.definition, now() + timedelta(seconds=1))
    assert not db.workbenches.stop_idle(run.id, now(), seen, by="the rule")
    assert db.runs.get(run.id).stop is None
    seen = db.workbenches.get(run.definition)
    assert db.workbenches.stop_idle(run.id, now(), seen, by="the rule")
    assert db.runs.get(run.id).stop is not None


def test_the_launcher_without_gpus_is_not_pinned_to_a_node_of_another_pool() -> None:
    roles = (Role(name="launcher", each=Amount(gpu=0)), Role(name="worker", each=Amount(gpu=1)))
    spec = Spec.model_construct(roles=roles, node="gpu1", gpu_model=None)
    where = {pod.role: pod.where for pod in gang_of(spec, "gpu", "r", plain="cpu").pods}
    assert (where["launcher"].node, where["worker"].node) == (None, "gpu1")
    assert {p.where.node for p in gang_of(spec, "gpu", "r").pods} == {"gpu1"}
    facts = RunContext(*[cast(Any, None)] * 5, pools=cast(Any, {"launcher": "cpu", "worker": "gpu"}))
    facts = RunContext(cast(Any, None), spec, *[cast(Any, None)] * 3, pools=facts.pools)
    assert [facts.pinned(role) for role in roles] == [False, True]


def test_a_clock_that_was_set_back_charges_no_time_twice(db: Any) -> None:
    furnish(db)
    role = {"name": "worker", "replicas": 1, "each": {"gpu": 1}}
    run = start(db, kind=Kind.SERVICE, name="s", roles=[role], serving={"model": "m", "port": 8080})
    later = datetime.now(UTC) + timedelta(hours=3)
    db.model_services.recharge(run.id, Resources(2, run.asks.cpu, run.asks.memory), later)
    db.model_services.recharge(
        run.id, Resources(1, run.asks.cpu, run.asks.memory), later - timedelta(hours=1)
    )
    rows = sorted(db.charges.list(), key=lambda c: (c.began, c.ended is None))
    assert len(rows) == 3 and all(b.began >= a.ended for a, b in pairwise(rows) if a.ended)


def test_the_api_is_ready_as_long_as_it_answers() -> None:
    def away() -> None:
        raise OSError("no database")

    client = TestClient(internal(cast(Any, SimpleNamespace(queues=away))))
    assert (client.get("/ready").status_code, client.get("/healthz").status_code) == (200, 503)


def test_the_error_names_what_answered_in_place_of_ava() -> None:
    answer = httpx.Response(
        503,
        headers={"server": "traefik"},
        text="Service Unavailable\x1b[31m",
        request=httpx.Request("GET", "https://ava.example.org/api/v1/runs"),
    )
    problem = refusal(answer).problems[0]
    assert problem.found == "status 503 Service Unavailable, server traefik: Service Unavailable?[31m"
    assert "try again" in problem.remedy
