"""Loops of the API, of both gateways, and of the mirrors that the others look at."""

from __future__ import annotations

import asyncio
import threading
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from ava.domain.idle import Step
from ava.gateway.http.app import HttpGateway
from ava.gateway.ssh import connections, sessions
from ava.kube.informer import Informer
from ava.kube.resources import PODS
from ava.services.workbenches import idle
from tests.unit.loops.common import (
    Odd,
    Patch,
    anything,
    bad_first,
    until,
)


def idle_watch(tmp_path: Path, monkeypatch: Patch) -> None:
    """A look that raises, then a workbench that raises: the next one is stopped."""
    stopped: list[str] = []
    pairs = [
        (anything(id=id, definition=id, name=id, owner="ann"), anything(active=None, warned=None))
        for id in ("bad", "good")
    ]

    def step(run: Any, *args: Any, **named: Any) -> Step:
        if run.id == "bad":
            raise Odd("planted")
        return Step.STOP

    looks: list[int] = []

    def signs() -> Any:
        looks.append(1)
        if len(looks) == 1:
            raise Odd("planted")
        return {idle.WATCH: (at, None)}

    at = datetime.now(UTC)
    db = anything(
        heartbeats=anything(list=signs, record=lambda *args: None),
        runs=anything(stop=lambda id, now, by: stopped.append(id)),
        workbenches=anything(
            idle_candidates=lambda name: pairs,
            stop_idle=lambda id, now, seen, **more: stopped.append(id) or True,
        ),
    )
    services = anything(
        db=db,
        clock=lambda: at + timedelta(seconds=1),
        config=anything(clusters=["default"], workbenches=None),
        audit=lambda *args: None,
    )
    monkeypatch.setattr(idle, "EVERY", 0.01)
    monkeypatch.setattr("ava.domain.idle.step", step)
    from ava.services.config import Idle

    it = idle.IdleWatcher(services, Idle(hours=8, warn_hours=2), lambda runs: {})
    ended = threading.Event()
    thread = threading.Thread(target=it.run, args=(ended,), daemon=True)
    thread.start()
    end = time.monotonic() + 5
    while time.monotonic() < end and len(stopped) < 2:
        time.sleep(0.01)
    assert thread.is_alive() and set(stopped) == {"good"}
    ended.set()
    thread.join(5)


def gate(tmp_path: Path, monkeypatch: Patch) -> None:
    done: list[Any] = []
    step = bad_first(done)

    async def look(asks: Any) -> int:
        step(asks)
        return 0

    it = anything(
        config=anything(every=0.0), open=anything(look=look), asks=None, cut=anything(inc=lambda n: None)
    )
    until(lambda: HttpGateway.watch(it), lambda: len(done) > 1)


def jump(tmp_path: Path, monkeypatch: Patch) -> None:
    done: list[Any] = []
    secret = tmp_path / "secret"
    secret.write_text("s")

    class End(BaseException):
        pass

    def sleep(seconds: float) -> None:
        if len(done) > 1:
            raise End

    monkeypatch.setattr(sessions, "TABLES", ())
    monkeypatch.setattr(sessions, "tell", bad_first(done))
    monkeypatch.setattr(sessions.time, "sleep", sleep)
    with pytest.raises(End):
        sessions.main(["http://h", str(secret)])
    assert len(done) == 2


def jump_connections(tmp_path: Path, monkeypatch: Patch) -> None:
    """A look that raises; sshd runs on, and the next look is made."""
    done: list[Any] = []
    ended = anything(pid=1, poll=lambda: 3 if len(done) > 1 else None, terminate=lambda: None)
    monkeypatch.setattr(connections.subprocess, "Popen", lambda command: ended)
    monkeypatch.setattr(connections.signal, "pthread_sigmask", lambda *args: None)
    monkeypatch.setattr(connections.signal, "sigtimedwait", lambda *args: None)
    step = bad_first(done)
    monkeypatch.setattr(connections.Connections, "look", lambda self: step())
    assert connections.main(["http://h", "s", str(tmp_path / "kept"), "sshd"]) == 3


def mirror(tmp_path: Path, monkeypatch: Patch) -> None:
    """An object without a name, in a list and in a watch; then a fault of ours, after which all is listed again."""
    lists: list[int] = []

    async def list_(kind: Any, *args: Any, **named: Any) -> Any:
        lists.append(1)
        if len(lists) == 1:
            raise Odd("planted")
        good = {"metadata": {"name": "good", "uid": "1", "resourceVersion": "1"}}
        return [{"metadata": {}}, good], "1"

    async def stream(*args: Any, **named: Any) -> Any:
        for name in ({}, {"name": "later", "uid": "2", "resourceVersion": "2"}):
            yield anything(type="ADDED", object={"metadata": name}, version="2")
        await asyncio.sleep(60)

    monkeypatch.setattr("ava.kube.informer.watch", stream)
    it = Informer(anything(list=list_), PODS)
    until(it.run, lambda: {name for _, name in it.objects} == {"good", "later"})


LOOPS = {
    "ava/services/workbenches/idle.py:IdleWatcher.run": idle_watch,
    "ava/gateway/http/app.py:HttpGateway.watch": gate,
    "ava/gateway/ssh/connections.py:main": jump_connections,
    "ava/gateway/ssh/sessions.py:main": jump,
    "ava/kube/informer.py:Informer.run": mirror,
}
