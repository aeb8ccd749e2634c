"""Nodes that are drained: administrators see the runs on one, owners see their own alone and may agree to an end."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from ava.domain.model import PodState
from tests.unit.ava.api.site import SPEC, Site, codes


def on(site: Site, who: str = "ann", node: str = "comp1", name: str = "mnist", **spec: Any) -> str:
    """Return the id of a run with its pod on a node."""
    id = str(site.run(who, name, **spec)["id"])
    assert site.db.runs.admit(id, site.now) == ()
    pod = PodState(id, f"{id}-0-worker-0", "worker", 0, 0, "Running", node, ready=True)
    site.db.pods.record(id, [pod], site.now)
    site.db.heartbeats.record("operator", site.now, {})
    return id


def drain(site: Site, **body: Any) -> dict[str, Any]:
    answer = site.call("PUT", "/nodes/comp1/drain", "root2", json={"notice": 600} | body)
    assert answer.status_code == 200, answer.text
    return dict(answer.json())


def test_an_administrator_sees_the_runs_on_a_node_with_owner_and_age(site: Site) -> None:
    mine, theirs = on(site), on(site, "ben")
    on(site, node="comp2", name="other")
    found = site.call("GET", "/nodes/comp1", "root2").json()
    assert (found["node"], found["drain"]) == ("comp1", None)
    assert [(r["id"], r["owner"], r["leaves"]) for r in found["runs"]] == [
        (mine, "ann", None),
        (theirs, "ben", None),
    ]
    (row, _) = found["runs"]
    assert (row["namespace"], row["pods"]) == ("ava-vision", [f"{mine}-0-worker-0"])
    assert row["admitted"]
    found = drain(site, stop_runs=True)
    assert found["drain"]["asked_by"] == "root2"
    assert found["runs"][0]["leaves"] == found["drain"]["until"] == found["drain"]["runs_until"]


def test_an_owner_reads_of_it_with_the_run_and_no_other_user_does(site: Site) -> None:
    id = on(site)
    assert site.call("GET", f"/runs/{id}", "ann").json()["leaves"] is None
    drain(site)
    run = site.call("GET", f"/runs/{id}", "ann").json()
    assert run["leaves"] == {"node": "comp1", "until": None, "consented": False}
    assert "comp1" in run["reason"]
    assert run["state"] == "running"
    why = site.call("GET", f"/runs/{id}/why", "ann").json()
    assert [r["code"] for r in why["reasons"]] == ["node-maintenance"]
    for path in (f"/runs/{id}", f"/runs/{id}/why"):
        assert site.call("GET", path, "ben").status_code == 404
    for path in ("/nodes/comp1", "/runs?all=true"):
        assert site.call("GET", path, "ben").status_code == 403
    assert site.call("DELETE", "/nodes/comp1/drain", "root2").status_code == 204
    assert site.call("GET", f"/runs/{id}", "ann").json()["leaves"] is None


def test_only_the_owner_agrees_to_an_end(site: Site) -> None:
    id = on(site)
    drain(site)
    assert site.call("POST", f"/runs/{id}/consent", "ben").status_code == 404
    assert site.call("POST", f"/runs/{id}/consent", "root2").status_code == 403
    agreed = site.call("POST", f"/runs/{id}/consent", "ann").json()
    assert agreed["leaves"]["consented"] is True
    assert agreed["leaves"]["until"] is not None
    done = site.db.node_drains.stop_due("default", "comp1", [id], site.now + timedelta(seconds=600))
    assert [run.id for run in done] == [id]
    # Nothing of it is left to be agreed to.
    answer = site.call("POST", f"/runs/{id}/consent", "ann")
    assert (answer.status_code, codes(answer)) == (409, ["run-not-on-drained-node"])
    assert site.call("GET", f"/runs/{id}", "ann").json()["leaves"] is None


def test_a_change_is_written_down(site: Site) -> None:
    drain(site, stop_runs=True)
    site.call("DELETE", "/nodes/comp1/drain", "root2")
    lines = site.db.audit.list(object="node comp1").items
    assert [(line["who"], line["action"], line["outcome"]) for line in lines] == [
        ("root2", "nodes.undrain", "done"),
        ("root2", "nodes.drain", "done"),
    ]
    assert lines[1]["detail"] == {"notice": 600, "stop_runs": True, "cluster": "default"}


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/nodes/comp1/drain", {"notice": -1}),
        ("/nodes/comp1/drain", {"notice": 8 * 86_400}),
        ("/nodes/comp1/drain", {"notice": "30m"}),
        ("/nodes/comp1/drain", {"cluster": "elsewhere"}),
        ("/nodes/comp1/drain", {"until": "2026-01-01"}),
        ("/nodes/-x/drain", {}),
    ],
)
def test_what_is_no_drain_is_refused_and_changes_nothing(site: Site, path: str, body: Any) -> None:
    site.token("root2")
    before = site.state()
    answer = site.call("PUT", path, "root2", json=body)
    assert answer.status_code == 422, answer.text
    assert codes(answer)
    assert site.state() == before


def test_a_workbench_s_owner_reads_when_it_stops(site: Site) -> None:
    body = {"name": "bench", "spec": SPEC | {"kind": "workbench"}}
    id = site.call("POST", "/runs", "ann", json=body).json()["id"]
    assert site.db.runs.admit(id, site.now) == ()
    site.db.pods.record(id, [PodState(id, "p", "worker", 0, 0, "Running", "comp1")], site.now)
    found = drain(site)
    leaves = site.call("GET", f"/runs/{id}", "ann").json()["leaves"]
    assert leaves["until"] == found["drain"]["until"]
    answer = site.call("POST", f"/runs/{id}/consent", "ann")
    assert (answer.status_code, codes(answer)) == (409, ["run-not-on-drained-node"])
