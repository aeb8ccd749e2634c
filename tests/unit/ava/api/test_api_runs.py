"""Starting: once per key, whole or not at all, charged to the group of the moment; what can never fit is refused at once."""

from __future__ import annotations

import threading
import time
from contextlib import ExitStack
from typing import Any

import httpx
import pytest

from ava.domain.model import Quota
from ava.domain.placement.capacity import snapshot
from ava.domain.placement.cluster import Cluster
from ava.domain.placement.model import Node
from ava.domain.problems import ApiError, Problem
from ava.domain.resources import Resources
from tests.unit.ava.api.site import GIB, NOW, SPEC, Site, codes, problems


def tell_room(site: Site, *nodes: Node) -> None:
    room = snapshot(Cluster(site.db.pools.list(), nodes), "default", {})
    site.db.heartbeats.record("scheduler", site.now, {"room": room.as_dict()})


NODE = Node("n1", Resources(4, 32_000, 128 * GIB), labels={"ava.io/pool": "gpu"}, model="V100")


def gpus(count: int, replicas: int = 1, **more: Any) -> dict[str, Any]:
    return SPEC | {"roles": [{"replicas": replicas, "each": {"gpu": count}}]} | more


@pytest.mark.parametrize("by", ["header", "field"])
def test_one_key_makes_one_run(site: Site, by: str) -> None:
    body: dict[str, Any] = {"name": "mnist", "spec": SPEC} | ({"key": "k"} if by == "field" else {})
    headers = {"idempotency-key": "k"} if by == "header" else {}
    answers = [site.call("POST", "/runs", "ann", json=body, headers=headers) for _ in range(3)]
    assert {a.status_code for a in answers} == {201}
    assert len({a.json()["id"] for a in answers}) == 1
    assert answers[0].headers["location"] == f"/api/v1/runs/{answers[0].json()['id']}"
    assert len(site.db.runs.list().items) == 1


def test_keys_of_two_people_do_not_meet(site: Site) -> None:
    made = [
        site.call("POST", "/runs", who, json={"name": "m", "spec": SPEC, "key": "k"}).json()["id"]
        for who in ("ann", "ben")
    ]
    assert len(set(made)) == 2


def test_a_key_of_another_request_is_refused_and_leaves_the_definition_as_it_was(site: Site) -> None:
    site.call("POST", "/runs", "ann", json={"name": "m", "spec": SPEC, "key": "k"})
    before = site.state()
    for body in (
        {"name": "m", "spec": SPEC | {"retries": 2}, "key": "k"},
        {"name": "other", "spec": SPEC, "key": "k"},
    ):
        answer = site.call("POST", "/runs", "ann", json=body)
        assert (answer.status_code, codes(answer)) == (409, ["idempotency-key-reused"])
    assert site.state() == before


def test_a_run_that_the_database_refuses_leaves_no_definition(site: Site) -> None:
    answer = site.call("POST", "/runs", "eve", json={"name": "m", "spec": SPEC})
    assert answer.status_code == 409
    assert problems(answer)
    assert site.db.definitions.list().items == ()


def test_what_the_scheduler_says_can_never_fit_is_refused_with_reasons(site: Site) -> None:
    assert site.call("POST", "/runs", "ann", json={"name": "m", "spec": gpus(5)}).status_code == 201, (
        "nothing is known yet"
    )
    tell_room(site, NODE)
    before = site.state()
    cases = (
        (gpus(5), "never-fits", "body.spec.roles[0].each.gpu"),
        (gpus(2, 3), "never-fits", "body.spec.roles[0].replicas"),
        (gpus(1, gpu_model="P40"), "gpu-model-unknown", "body.spec.gpu_model"),
        (gpus(1, node="n2"), "node-unknown", "body.spec.node"),
    )
    for spec, code, where in cases:
        answer = site.call("POST", "/runs", "ann", json={"name": "n", "spec": spec})
        found = problems(answer)[0]
        assert (answer.status_code, found["code"], found["where"]) == (422, code, where)
    assert site.state() == before
    assert (
        site.call(
            "POST", "/runs", "ann", json={"name": "n", "spec": gpus(4, gpu_model="V100", node="n1")}
        ).status_code
        == 201
    )


def test_any_cluster_is_refused_only_where_no_cluster_could_take_it(site: Site) -> None:
    tell_room(site, NODE)
    other = snapshot(
        Cluster(
            site.db.pools.list(), [Node("m1", Resources(8, 64_000, 128 * GIB), labels={"ava.io/pool": "gpu"})]
        ),
        "two",
        {},
    )
    answer = site.call("POST", "/runs", "ann", json={"name": "n", "spec": gpus(8, cluster="any")})
    assert codes(answer) == ["never-fits"]
    site.db.heartbeats.record("scheduler:two", site.now, {"room": other.as_dict()})
    assert (
        site.call("POST", "/runs", "ann", json={"name": "n", "spec": gpus(8, cluster="any")}).status_code
        == 201
    )


def test_a_run_is_charged_to_the_default_group_of_its_start(site: Site) -> None:
    site.db.groups.create("speech", Quota(8, 64_000, 512 * GIB), site.now)
    site.db.groups.add_member("speech", "ann", site.now)
    first = site.run(name="a")
    site.call("PUT", "/users/me/default-group", "ann", json={"group": "speech"})
    second = site.run(name="b")
    assert (first["group"], second["group"]) == ("vision", "speech")
    assert site.call("GET", f"/runs/{first['id']}", "ann").json()["group"] == "vision"


def test_a_definition_is_kept_once_and_each_start_is_a_run_of_its_own(site: Site) -> None:
    body = {"name": "kept", "spec": SPEC}
    made = [site.call("POST", "/definitions", "ann", json=body).json()["id"] for _ in range(2)]
    assert made[0] == made[1]
    other = site.call("POST", "/definitions", "ann", json=body | {"spec": SPEC | {"retries": 1}})
    assert other.status_code == 409
    assert problems(other)
    path = f"/definitions/{made[0]}/runs"
    runs = [site.call("POST", path, "ann", json={"priority": p}).json() for p in (10, 90)]
    assert [r["priority"] for r in runs] == [10, 90]
    assert len({r["id"] for r in runs}) == 2
    assert codes(site.call("POST", path, "ann", json={"queue": "vip"})) == ["queue-unknown"]
    assert site.call("DELETE", f"/definitions/{made[0]}", "ann").status_code == 409
    for run in runs:
        site.call("POST", f"/runs/{run['id']}/stop", "ann")
    assert site.call("DELETE", f"/definitions/{made[0]}", "ann").status_code == 204
    assert site.call("GET", f"/definitions/{made[0]}", "ann").status_code == 404
    assert site.call("GET", f"/runs/{runs[0]['id']}", "ann").json()["state"] == "stopped"


def test_what_runs_is_unknown_while_no_one_looks_at_its_pods(site: Site) -> None:
    run = site.run()["id"]
    site.db.runs.admit(run, site.now)
    shown = site.call("GET", f"/runs/{run}", "ann").json()
    assert (shown["phase"], shown["state"]) == ("admitted", "unknown")


def test_a_stored_cause_with_strange_fields_does_no_harm(site: Site) -> None:
    run = site.run()["id"]
    site.db.runs.set_waits_for(run, [Problem("quota-used-up", "No room.")])
    why = site.call("GET", f"/runs/{run}/why", "ann").json()
    assert [r["code"] for r in why["reasons"]] == ["quota-used-up"]


def test_a_start_that_is_refused_for_the_database_is_away_is_informed(site: Site) -> None:
    def away(*_: object, **__: object) -> None:
        raise ApiError(503, Problem("database-unavailable", "It does not answer.", "database"))

    site.db.submissions.create = away  # type: ignore[method-assign, assignment]
    answer = site.call("POST", "/runs", "ann", json={"name": "m", "spec": SPEC, "key": "k"})
    assert (answer.status_code, codes(answer)) == (503, ["database-unavailable"])
    del site.db.submissions.create  # type: ignore[method-assign]
    again = site.call("POST", "/runs", "ann", json={"name": "m", "spec": SPEC, "key": "k"})
    assert again.status_code == 201


def _wait(site: Site, run: str, tag: str, seconds: int, who: str = "ann") -> httpx.Response:
    return site.call("GET", f"/runs/{run}?wait={seconds}", who, headers={"if-none-match": tag})


def test_a_wait_ends_when_the_run_changes_and_answers_304_where_it_does_not(site: Site) -> None:
    run = site.run()["id"]
    tag = site.call("GET", f"/runs/{run}", "ann").headers["etag"]
    assert _wait(site, run, tag, 0).status_code == 304
    begun = time.monotonic()
    same = _wait(site, run, tag, 1)
    assert (same.status_code, same.content, same.headers["etag"]) == (304, b"", tag)
    assert time.monotonic() - begun >= 1
    timer = threading.Timer(0.3, lambda: site.db.runs.stop(run, NOW, by="ann"))
    timer.start()
    begun = time.monotonic()
    changed = _wait(site, run, tag, 30)
    assert (changed.status_code, changed.json()["state"]) == (200, "stopped")
    assert (changed.headers["etag"] == tag, time.monotonic() - begun < 20) == (False, True)
    timer.join()


def test_who_knows_another_run_than_it_is_now_waits_for_nothing(site: Site) -> None:
    run = site.run()["id"]
    for tag in ('"other"', 'W/"other"', "*"):
        assert _wait(site, run, tag, 30).status_code == 200
    assert site.call("GET", f"/runs/{run}?wait=30", "ann").status_code == 200
    assert codes(site.call("GET", f"/runs/{run}?wait=31", "ann")) == ["value-invalid"]
    assert codes(_wait(site, run, '"other"', 30, "eve")) == ["not-found"]


def test_a_wait_ends_with_the_right_to_see_the_run(site: Site) -> None:
    run = site.run()["id"]
    tag = site.call("GET", f"/runs/{run}", "ann").headers["etag"]
    (token,) = site.db.secrets.list("ann", "token")
    timer = threading.Timer(0.3, lambda: site.db.secrets.delete("ann", token["id"]))
    timer.start()
    assert codes(_wait(site, run, tag, 30)) == ["not-logged-in"]
    timer.join()


def test_more_waits_than_logs_are_followed_are_answered_at_once(site: Site) -> None:
    run = site.run()["id"]
    tag = site.call("GET", f"/runs/{run}", "ann").headers["etag"]
    most = site.services.config.limits.streams
    with ExitStack() as held:
        for _ in range(most):
            held.enter_context(site.services.rates.one_of(most, "ann waits", "waits"))
        begun = time.monotonic()
        assert _wait(site, run, tag, 30).status_code == 304
        assert time.monotonic() - begun < 20
