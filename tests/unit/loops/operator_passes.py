"""Passes of the operator over all that there is."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any, cast

from ava.kube.resources import PODS
from ava.operator.metrics import Metrics as OperatorMetrics
from ava.operator.orphans import Orphans
from ava.operator.secret_cache import SecretCache
from ava.operator.stuck_pods import Watchdog
from ava.operator.volume_errors import PATIENCE, VolumeErrors
from tests.unit.loops.common import (
    Odd,
    Patch,
    anything,
    called,
)


def whole_pass(tmp_path: Path, monkeypatch: Patch) -> None:
    """A secret, an orphan and a namespace that raise: the runs were queued before, and the others of each kind are looked at."""
    asked: list[str] = []

    async def list_(kind: Any, namespace: str, **named: Any) -> Any:
        asked.append(namespace)
        if namespace == "bad":
            raise Odd("planted")
        return [], "1"

    asyncio.run(SecretCache(anything(list=list_), PODS, labels="").refresh({"bad", "good"}))
    assert asked == ["bad", "good"]
    removed: list[str] = []

    def run(id: str) -> Any:
        if id == "bad":
            raise Odd("planted")
        return anything(phase=None, cluster="")

    async def remove(kind: Any, thing: Any) -> None:
        removed.append(thing["metadata"]["name"])
        if thing["metadata"]["name"] == "first":
            raise Odd("planted")

    cluster = anything(
        runs=lambda: {"bad", "good"},
        of_run=lambda run: [(PODS, {"metadata": {"name": name}}) for name in ("first", "second")],
        remove=remove,
    )
    it = Orphans(
        cluster,
        anything(runs=anything(get=run)),
        cast(Any, called),
        OperatorMetrics("d"),
        name="default",
        grace=0.0,
    )
    asyncio.run(it.look(set()))
    assert removed == ["first", "second"]


def watchdog(tmp_path: Path, monkeypatch: Patch) -> None:
    forgotten: list[str] = []

    async def remove(kind: Any, pod: Any, grace: int) -> None:
        forgotten.append(pod["metadata"]["name"])
        if pod["metadata"]["name"] == "bad":
            raise Odd("planted")

    pods = {}
    for name in ("bad", "unreadable", "good"):
        meta = {"namespace": "x", "name": name, "uid": name, "labels": {}}
        pods["x", name] = {"metadata": meta, "spec": {"nodeName": "gone"}}
    pods["x", "unreadable"]["metadata"]["deletionTimestamp"] = "now"
    pods["x", "unreadable"]["metadata"]["deletionGracePeriodSeconds"] = "many"
    nodes = {("", str(i)): {"metadata": {"name": str(i)}} for i in range(9)}
    cluster = anything(
        pods=anything(objects=pods),
        nodes=anything(objects=nodes, synced=anything(is_set=lambda: True)),
        remove=remove,
    )
    times = anything(dead_node=1.0, force=None, stuck=1.0)
    clock = iter((0.0, 100.0))
    it = Watchdog(
        cluster, cast(Any, times), OperatorMetrics("d"), lambda run: None, clock=lambda: next(clock)
    )
    asyncio.run(it.look())
    asyncio.run(it.look())
    assert forgotten == ["bad", "good"]


def volumes(tmp_path: Path, monkeypatch: Patch) -> None:
    async def list_(kind: Any, namespace: str, *, fields: str) -> Any:
        if "uid=bad" in fields:
            raise Odd("planted")
        return [{"message": "reason: no server"}], "1"

    pods = {
        ("x", uid): {
            "metadata": {"namespace": "x", "name": uid, "uid": uid},
            "spec": {"nodeName": "n", "volumes": [{"flexVolume": {}}]},
        }
        for uid in ("bad", "good")
    }
    clock = iter((0.0, PATIENCE + 1))
    it = VolumeErrors(
        anything(pods=anything(objects=pods), client=anything(list=list_)),
        lambda run: None,
        lambda: next(clock),
    )
    asyncio.run(it.look())
    asyncio.run(it.look())
    assert set(it.unmounted) == {"good"}


LOOPS = {
    "operator step pass": whole_pass,
    "operator step volumes": volumes,
    "operator step watchdog": watchdog,
}
