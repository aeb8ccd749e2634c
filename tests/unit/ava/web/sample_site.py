"""A site in use: nodes, groups at work, runs in every state, keys, logs: for screenshots, for real browsers, for slow pages."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from ava.domain.data_sets import ExternalSource
from ava.domain.labels import pod
from ava.domain.model import Outcome, PodState, Quota, UserState
from ava.domain.phrases import Phrase
from ava.domain.placement.capacity import ClusterCapacity, NodeCapacity, NodeGroup
from ava.domain.problems import Problem
from ava.domain.resources import Resources
from ava.domain.states import explain
from ava.services.logs.interface import LogLine
from tests.unit.ava.api.pushed_images import image, pushing
from tests.unit.ava.api.site import GIB, SPEC, Site, person

DGX = Resources(8, 80_000, 480 * GIB)
KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJHt8yDhXJ5SPgcEFHwOgSGT0hGFkWi1dJ1rJbBmsCmh ann@laptop"


def inhabit(site: Site, admin: str = "root2") -> dict[str, str]:
    """Fill an AVA; return ids of runs by what they are. The administrator owns data sets of other sources."""
    db, now = site.db, site.now
    db.groups.create("speech", Quota(4, 32_000, 256 * GIB, 2 * 2**40), now)
    db.groups.add_member("speech", "ann", now)
    for name in ("carl", "dora"):
        person(db, name, state=UserState.PENDING)
    nodes = [
        _place("gpu-01", "gpu", "V100-SXM2-32GB", DGX, Resources(2, 20_000, 120 * GIB)),
        _place("gpu-02", "gpu", "V100-SXM2-32GB", DGX, DGX),
        _place("gpu-03", "gpu", "P100-PCIE-16GB", Resources(4, 40_000, 240 * GIB), Resources()),
        _place("gpu-04", "gpu", "P100-PCIE-16GB", Resources(4, 40_000, 240 * GIB), Resources(), open=False),
        _place("cpu-01", "cpu", "", Resources(0, 62_000, 250 * GIB), Resources(0, 40_500, 190 * GIB)),
    ]
    kinds = tuple(NodeGroup(pools=n.pools, model=n.model, size=n.size, count=1) for n in nodes)
    room = ClusterCapacity(cluster="default", pools=("cpu", "gpu"), kinds=kinds, nodes=tuple(nodes))
    db.heartbeats.record("scheduler", now, {"room": room.as_dict()})
    db.heartbeats.record("operator", now, {})
    found = _runs(site)
    found["data"] = db.data_sets.create(
        "ann", "imagenet-small", {"kind": "folder"}, now - timedelta(days=6)
    ).id
    db.data_sets.share(found["data"], "group", "vision", now - timedelta(days=2))
    _images(site)
    return (
        found
        | _elsewhere(site, admin)
        | {
            f"{one}definition": db.runs.get(found[run]).definition
            for one, run in (("", "done"), ("bench_", "bench"), ("service_", "service"))
        }
    )


def _images(site: Site) -> None:
    """Have images pushed: in use, with several tags, without one, and a group whose space is used up."""
    there = {
        "users/ann": [
            image("users/ann/torch", "2.1", "latest", size=3 * GIB),
            image("users/ann/torch", digest="sha256:" + "b" * 64, size=2 * GIB),
            image("users/ann/nlp/bert", "1", digest="sha256:" + "c" * 64, size=4 * GIB),
        ],
        "groups/vision": [image("groups/vision/detect", "7", digest="sha256:" + "d" * 64, size=9 * GIB)],
    }
    pushing(
        site,
        {
            "users/ann": {"limit": 50 * GIB, "used": 8 * GIB, "waiting": GIB, "images": there["users/ann"]},
            "groups/vision": {"limit": 8 * GIB, "used": 9 * GIB, "images": there["groups/vision"]},
            "groups/speech": {"limit": None},
        },
    )
    for who, name in (("ann", "users/ann/nlp/bert:1"), ("ben", "groups/vision/detect:7")):
        spec = SPEC | {"image": name, "kind": "training"}
        site.call("POST", "/definitions", who, json={"name": "own-image", "spec": spec})


NO_SNAPSHOT = Phrase("the image {image} has no snapshot {snapshot}", image="rbd/faces", snapshot="v1")
ELSEWHERE: dict[str, tuple[dict[str, str], dict[str, Any]]] = {
    "rbd": ({"image": "faces", "snapshot": "v1"}, {"trouble": NO_SNAPSHOT}),
    "nfs": ({"server": "nfs.example.org", "path": "/export/faces"}, {}),
    "hdfs": ({"store": "hadoop", "path": "faces"}, {"size": 300 * GIB, "cached": 300 * GIB}),
    "cache": ({"path": "s3/faces"}, {"size": 400 * GIB, "cached": 100 * GIB}),
}
"""Data sets of other sources by their kinds: where, and what was seen of them."""


def _elsewhere(site: Site, admin: str) -> dict[str, str]:
    """Have an administrator's data sets of every other source; return their ids by kind."""
    found = {}
    for kind, (where, seen) in ELSEWHERE.items():
        made = site.db.data_sets.create(admin, f"faces-{kind}", {"kind": kind, **where}, site.now)
        found[kind] = made.id
        measured = site.now - timedelta(minutes=4) if "size" in seen else None
        site.db.external_sources.record(ExternalSource(made.id, seen=measured, **seen))
    return found


def _place(
    name: str, pool: str, model: str, size: Resources, free: Resources, *, open: bool = True
) -> NodeCapacity:
    return NodeCapacity(name=name, pools=(pool,), model=model, size=size, free=free, open=open)


def _runs(site: Site) -> dict[str, str]:
    db, now = site.db, site.now
    found: dict[str, str] = {}
    big = {"each": {"gpu": 1, "cpu": 4000, "memory": 16 * GIB}}
    roles = [
        {"name": "ps", "each": {"cpu": 2000, "memory": 8 * GIB}},
        {"name": "worker", "replicas": 3} | big,
    ]
    # In the order of their times, as the audit log has them; the token of now is good for all of them.
    site.token("ann")
    site.now = now - timedelta(hours=30)
    found["failed"] = site.run(name="bert-finetune", roles=[{"name": "worker"} | big])["id"]
    found["done"] = site.run(name="mnist", roles=[{"name": "worker"} | big])["id"]
    site.now = now - timedelta(hours=3)
    found["running"] = site.run(name="resnet50-imagenet", roles=roles, distributed="tensorflow")["id"]
    site.now = now - timedelta(minutes=4)
    found["waiting"] = site.run(name="gpt-small", roles=[{"name": "worker", "replicas": 4} | big])["id"]
    bench = {"kind": "workbench", "roles": [{"name": "worker", "each": {"cpu": 2000, "memory": 8 * GIB}}]}
    found["bench"] = site.run(name="notebook", **bench)["id"]
    serving = {
        "model": "/data/models/digits",
        "health": "/healthz",
        "scaling": {"least": 2, "most": 6, "requests": 20},
    }
    each = {"each": {"cpu": 2000, "memory": 4 * GIB}}
    found["service"] = site.run(name="digits-server", kind="service", serving=serving, roles=[each])["id"]
    site.now = now
    for name in ("running", "failed", "done", "bench", "service"):
        begun = db.runs.get(found[name]).created + timedelta(seconds=4)
        assert not db.runs.admit(found[name], begun)
    _see(site, found["running"], [("ps", 0), ("worker", 0), ("worker", 1), ("worker", 2)], "gpu-01")
    _see(site, found["bench"], [("worker", 0)])
    _see(site, found["service"], [("worker", 0), ("worker", 1)])
    ended = now - timedelta(hours=21)
    full = PodState("", "", "worker", 0, 0, "Failed", node="gpu-01", reason="OOMKilled")
    db.runs.finish(found["failed"], Outcome.FAILED, explain(full), ended)
    db.runs.finish(found["done"], Outcome.SUCCEEDED, "", ended)
    reason = Problem(
        "group-quota",
        Phrase(
            "{where} has {free} of {quota} {label} free, {want} are wanted.",
            where=Phrase("The group {name}", name="vision"),
            label=Phrase("GPUs"),
            free=1,
            quota=8,
            want=4,
        ),
        Phrase("group {name}", name="vision"),
        Phrase("{free} free of {quota} {label}", free=1, quota=8, label=Phrase("GPUs")),
        Phrase("{amount} GPUs", amount=4),
        Phrase("Wait until runs of the group end, stop one, or ask the administrator for a larger quota."),
    )
    db.runs.set_waits_for(found["waiting"], [reason])
    db.keys.put("ann", "ssh", "laptop", KEY, now)
    log = [f"epoch {n:3}  loss {2.31 * 0.93**n:.4f}  images/s {3120 + n * 7 % 90}" for n in range(1, 60)]
    site.logs.lines = [
        LogLine(
            _nanoseconds(now - timedelta(seconds=600 - 10 * n)), pod(found["running"], 0, "worker", 0), text
        )
        for n, text in enumerate(["Using TF_CONFIG of the platform, 1 ps, 3 workers", *log])
    ]
    return found


def _nanoseconds(value: datetime) -> int:
    return int(value.timestamp()) * 10**9


def _see(site: Site, run: str, pods: list[tuple[str, int]], node: str = "cpu-01") -> None:
    states = [
        PodState(
            run,
            pod(run, 0, role, n),
            role,
            n,
            0,
            "Running",
            node=node if role == "worker" else "cpu-01",
            ready=True,
        )
        for role, n in pods
    ]
    site.db.pods.record(run, states, site.now)
