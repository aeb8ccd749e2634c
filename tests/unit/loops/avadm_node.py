"""Loops of the nodes' programs."""

from __future__ import annotations

import sys
import threading
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from avadm_node.agents import balancer, gpu_exporter, pod_targets
from avadm_node.agents.registry import cut, serve

Patch = pytest.MonkeyPatch


THREADS = SimpleNamespace(
    Thread=lambda **named: SimpleNamespace(start=lambda: None), Event=threading.Event, Lock=threading.Lock
)
"""Of which none ever runs."""


class End(BaseException):
    """Ends a loop that has none."""


def ended_after(rounds: int, monkeypatch: Patch, module: Any) -> None:
    """Have a loop's sleep raise ``End`` after so many rounds."""
    left = [rounds]

    def sleep(seconds: float) -> None:
        left[0] -= 1
        if left[0] <= 0:
            raise End

    monkeypatch.setattr(module, "time", SimpleNamespace(sleep=sleep, monotonic=lambda: 0.0, time=lambda: 0.0))


def service(name: str, **meta: Any) -> dict[str, Any]:
    base = {"namespace": "x", "name": name, "uid": name, "creationTimestamp": "2026-11-22T00:00:00Z"}
    return {
        "metadata": base | {"resourceVersion": "1"} | meta,
        "spec": {"type": "LoadBalancer"},
        "status": {},
    }


def balances(tmp_path: Path, monkeypatch: Patch) -> None:
    """A Service that is written oddly, and one whose address cannot be written: the third has its own."""
    reports: list[str] = []
    odd = service("odd")
    odd["status"] = {"loadBalancer": {"ingress": ["text"]}}
    addresses: dict[str, str] = {}

    class Api:
        def call(self, method: str, path: str, body: Any = None) -> None:
            if "/bad/" in path:
                raise KeyError("planted")
            if method == "PATCH":
                addresses[path.split("/")[-2]] = body["status"]["loadBalancer"]["ingress"][0]["ip"]

    listed = [odd, service("bad"), service("good")]
    it = balancer.Balancer(Api(), lambda: listed, ["10.0.0.1", "10.0.0.2"], 0, lambda: 0.0, reports.append)
    it.round()
    assert addresses == {"good": "10.0.0.2"}
    # A round that raises as a whole is followed by another one.
    rounds: list[int] = []

    class Planted:
        def __init__(self, *args: Any, **named: Any) -> None: ...

        def round(self) -> float:
            rounds.append(1)
            raise KeyError("planted")

    monkeypatch.setattr(balancer, "Balancer", Planted)
    monkeypatch.setattr(balancer, "Api", lambda config: None)
    monkeypatch.setattr(balancer, "TURN_S", 0.0)
    monkeypatch.setattr(
        balancer,
        "threading",
        THREADS,
    )
    ended_after(2, monkeypatch, balancer)
    words = [f"--{name}={'0' if name == 'turn' else '10.0.0.1'}" for name in balancer.OPTIONS]
    monkeypatch.setattr(sys, "argv", ["x", *words])
    with pytest.raises(End):
        balancer.main()
    assert len(rounds) == 2


def services_followed(tmp_path: Path, monkeypatch: Patch) -> None:
    lists: list[int] = []

    class Api:
        def call(self, method: str, path: str) -> Any:
            lists.append(1)
            raise KeyError("planted")

    ended_after(2, monkeypatch, balancer)
    with pytest.raises(End):
        balancer.Services(Api(), threading.Event(), lambda text: None).run()
    assert len(lists) == 2


def xids(tmp_path: Path, monkeypatch: Patch) -> None:
    log = tmp_path / "kmsg"
    log.write_text("x")
    records = iter([b"NVRM: Xid (PCI:zz:odd): 1", b"NVRM: Xid (PCI:0000:3b:00): 79", b""])
    monkeypatch.setattr(gpu_exporter.os, "read", lambda descriptor, size: next(records))
    calls: list[str] = []

    def note(text: str, found: dict[str, int]) -> None:
        calls.append(text)
        if len(calls) == 1:
            raise ValueError("planted")

    monkeypatch.setattr(gpu_exporter, "note", note)
    gpu_exporter.follow(str(log), {})
    assert len(calls) == 2


def targets(tmp_path: Path, monkeypatch: Patch) -> None:
    """A pod whose ports are none and a Service of text: the next pod is a target; then an API that answers oddly."""

    def pod(name: str, **spec: Any) -> dict[str, Any]:
        notes = {"prometheus.io/scrape": "true"}
        meta = {"namespace": "x", "name": name, "uid": name, "annotations": notes}
        return {
            "metadata": meta,
            "spec": {"containers": [{"ports": [{"containerPort": 80}]}]} | spec,
            "status": {"phase": "Running"},
        }

    it = pod_targets.Targets(str(tmp_path / "file"), "h:1", log=lambda text: None)
    it.all([pod("bad", containers=[{"ports": [{}]}]), {"metadata": {}}, pod("good")])
    assert set(it.found) == {"good"}
    it.serve([{"metadata": {}, "spec": []}])
    follows: list[int] = []

    def follow(api: Any, targets: Any) -> None:
        follows.append(1)
        raise KeyError("planted")

    monkeypatch.setattr(pod_targets, "follow", follow)
    monkeypatch.setattr(pod_targets, "Api", lambda config: SimpleNamespace(host="h"))
    ended_after(2, monkeypatch, pod_targets)
    monkeypatch.setattr(sys, "argv", ["x", *(f"--{name}=x" for name in pod_targets.OPTIONS)])
    with pytest.raises(End):
        pod_targets.main()
    assert len(follows) == 2


def uploads(tmp_path: Path, monkeypatch: Patch) -> None:
    """An owner whose repositories cannot be read, and a look that raises as a whole."""
    looked: list[str] = []

    def repositories(owner: str) -> Any:
        looked.append(owner)
        if owner == "bad":
            raise ValueError("planted")
        return []

    storage = SimpleNamespace(root=str(tmp_path), owners=lambda: ["bad", "good"], repositories=repositories)
    reports: list[str] = []
    monkeypatch.setattr(cut, "limit", lambda owner, limits: 1)
    cut.look(storage, {}, 0, reports.append)
    assert looked == ["bad", "good"] and "bad" in reports[0]
    looks: list[int] = []

    def look(*args: Any) -> None:
        looks.append(1)
        raise ValueError("planted")

    monkeypatch.setattr(serve.cut, "look", look)
    ended_after(2, monkeypatch, serve)
    with pytest.raises(End):
        serve.watch(storage, {}, 0, reports.append)
    assert len(looks) == 2


LOOPS = {
    "avadm_node/agents/balancer.py:Services.run": services_followed,
    "avadm_node/agents/balancer.py:main": balances,
    "avadm_node/agents/gpu_exporter.py:follow": xids,
    "avadm_node/agents/pod_targets.py:main": targets,
    "avadm_node/agents/registry/serve.py:watch": uploads,
}
