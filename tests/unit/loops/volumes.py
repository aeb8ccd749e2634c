"""Loops of the nodes' programs for volumes."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from avadm_node.agents.volumes import nfs, node, provisioner
from tests.unit.loops.avadm_node import THREADS, End, Patch, ended_after


def nfs_servers(tmp_path: Path, monkeypatch: Patch) -> None:
    asked: list[str] = []

    def answers(point: str) -> bool:
        asked.append(Path(point).name)
        raise ValueError("planted")

    names = [f"pvc-{n}0000000-0000-0000-0000-000000000000" for n in "12"]
    monkeypatch.setattr(nfs, "mounts", lambda: [(f"{nfs.RUN}/{name}", "nfs") for name in names])
    monkeypatch.setattr(nfs, "NAME", provisioner.NAME)
    ended_after(2, monkeypatch, nfs)
    with pytest.raises(End):
        nfs.Watch(SimpleNamespace(answers=answers), log=lambda text: None).always()
    assert asked == names * 2


def node_looks(tmp_path: Path, monkeypatch: Patch) -> None:
    looked: list[str] = []

    def planted(name: str) -> Callable[..., Any]:
        def look(*args: Any) -> None:
            looked.append(name)
            raise ValueError("planted")

        return look

    monkeypatch.setattr(node, "guard", lambda mount: None)
    monkeypatch.setattr(node, "mounted", planted("mount"))
    monkeypatch.setattr(node, "local_volumes", planted("local"))
    ended_after(2, monkeypatch, node)
    monkeypatch.setattr(sys, "argv", ["x", "/mnt", "n", "k", "--local", "/l"])
    with pytest.raises(End):
        node.main()
    assert looked == ["mount", "local"] * 2


def claims_followed(tmp_path: Path, monkeypatch: Patch) -> None:
    watches: list[int] = []

    def watch(path: str) -> Any:
        watches.append(1)
        yield {"object": {"metadata": 3}}

    def concerns(about: Any) -> bool:
        raise TypeError("planted")

    ended_after(2, monkeypatch, provisioner)
    with pytest.raises(End):
        provisioner.follow(SimpleNamespace(watch=watch), "/p", concerns, threading.Event())
    assert len(watches) == 2


def volumes(tmp_path: Path, monkeypatch: Patch) -> None:
    """A claim that cannot be served and a volume that cannot be read: the next claim has its turn."""
    tried: list[str] = []

    class Kind:
        provisioner, wait_s, retry_s = "p", 0, 5

        def at_once(self, about: Any) -> bool:
            return True

        def owns(self, volume: Any) -> bool:
            raise KeyError("planted")

        def make(self, name: str, claim: Any, size: int) -> Any:
            tried.append(claim["metadata"]["name"])
            raise KeyError("planted")

    def claim(name: str, digit: str) -> dict[str, Any]:
        uid = f"{digit}0000000-0000-0000-0000-000000000000"
        meta = {"namespace": "x", "name": name, "uid": uid, "annotations": {provisioner.WANTED_OF: "p"}}
        spec = {"storageClassName": "c", "resources": {"requests": {"storage": "1Gi"}}}
        return {"metadata": meta, "spec": spec, "status": {"phase": "Pending"}}

    odd = {"metadata": {"name": "pvc-x", "annotations": {provisioner.MADE_BY: "p"}}, "spec": {}}
    odd |= {"status": {"phase": "Released"}}
    odd["spec"] = {"persistentVolumeReclaimPolicy": "Delete"}
    lists = {
        provisioner.CLAIMS: [claim("bad", "1"), claim("good", "2")],
        provisioner.VOLUMES: [odd],
        provisioner.CLASSES: [{"metadata": {"name": "c"}, "provisioner": "p"}],
    }

    class Api:
        def call(self, method: str, path: str, body: Any = None) -> Any:
            return {"items": lists.get(path, [])}

    it = provisioner.Provisioner(Api(), [Kind()], clock=lambda: 0.0, log=lambda text: None)
    it.round()
    assert tried == ["bad", "good"]
    rounds: list[int] = []

    class Planted:
        def __init__(self, *args: Any, **named: Any) -> None:
            self.kinds = {"p": SimpleNamespace(retry_s=0)}

        def round(self) -> float:
            rounds.append(1)
            raise KeyError("planted")

    config = tmp_path / "config"
    config.write_text("{}")
    monkeypatch.setattr(provisioner, "Provisioner", Planted)
    monkeypatch.setattr(provisioner, "Api", lambda config: None)
    monkeypatch.setattr(
        provisioner,
        "threading",
        THREADS,
    )
    ended_after(2, monkeypatch, provisioner)
    monkeypatch.setattr(sys, "argv", ["x", str(config)])
    with pytest.raises(End):
        provisioner.main()
    assert len(rounds) == 2


LOOPS = {
    "avadm_node/agents/volumes/nfs.py:Watch.always": nfs_servers,
    "avadm_node/agents/volumes/node.py:main": node_looks,
    "avadm_node/agents/volumes/provisioner.py:follow": claims_followed,
    "avadm_node/agents/volumes/provisioner.py:main": volumes,
}
