"""Loops of the storage service."""

from __future__ import annotations

import asyncio
import threading
import time
from pathlib import Path
from typing import Any

from ava.files import __main__ as storage
from ava.files.cache_stats import CacheStats
from ava.files.metrics import Metrics as StorageMetrics
from ava.files.reconciler import Reconciler as Storage
from ava.files.snapshots import Snapshots
from tests.unit.ava.operator.fake_cluster import now
from tests.unit.loops.common import (
    Odd,
    Patch,
    anything,
    bad_first,
    bad_first_async,
    contends,
    until,
)


def storage_leads(tmp_path: Path, monkeypatch: Patch) -> None:
    monkeypatch.setattr(storage, "access", anything(in_cluster=lambda: None))
    election = anything(namespace="x", name="x", lease=lambda: None)
    it = anything(config=anything(kubeconfig=None, election=election))
    contends(storage, lambda: storage.Program._lead(it), monkeypatch)


def storage_acts(tmp_path: Path, monkeypatch: Patch) -> None:
    """Of messages and of folders each first one raises; then what is done beside, and the look as a whole."""
    from ava.domain.data_sets import FolderSpec
    from ava.domain.folders import Folder, FolderKind

    made, looked, alive = list[str](), list[str](), list[Any]()
    folders = [anything(kind=FolderKind.USER, name=name, gone=False) for name in ("bad", "good")]

    def make(wanted: FolderSpec) -> Folder:
        if wanted.name == "bad":
            raise Odd("planted")
        made.append(wanted.name)
        return Folder(FolderKind.USER, wanted.name)

    def look(kind: FolderKind, name: str) -> None:
        if name == "bad":
            raise OSError(5, "Input/output error")
        looked.append(name)

    finds: list[int] = []

    def found() -> None:
        finds.append(1)
        if len(finds) == 1:
            raise Odd("planted")

    closed: list[int] = []
    messages = [anything(seq=i, kind="user-changed", object=name) for i, name in enumerate(("bad", "good"))]
    db = anything(
        outbox=anything(
            list_open=lambda topic, most: [m for m in messages if m.seq not in closed],
            complete=lambda seqs, at: closed.extend(seqs),
            wait=lambda topic, poll: time.sleep(0.01),
        ),
        folders=anything(list_specs=lambda: folders),
        heartbeats=anything(record=lambda part, at, detail: alive.append(detail)),
    )
    it = Storage(
        db,
        anything(make=make, look=look, ground=anything(found=found)),
        StorageMetrics(),
        lead=lambda: None,
        now=now,
        every=0.0,
        poll=0.01,
        beside=bad_first([]),
    )
    thread = threading.Thread(target=it.run, daemon=True)
    thread.start()
    end = time.monotonic() + 5
    while time.monotonic() < end and not (len(alive) > 3 and len(closed) == 2):
        time.sleep(0.01)
    assert thread.is_alive()
    it.stopped.set()
    thread.join(5)
    assert "good" in made and looked == ["good"] and alive[0] == {"troubles": 1}
    # What fails again and again is left to the looks at all folders: a hundred of such would hide all others.
    assert sorted(closed) == [0, 1]


def again(tmp_path: Path, monkeypatch: Patch) -> None:
    """A look that raises is made again; of snapshots and of what is cached, one that raises leaves the others theirs."""
    done: list[Any] = []
    until(lambda: storage.again(bad_first_async(done), 0.0), lambda: len(done) > 1)
    for kind in (Snapshots, CacheStats):
        seen: list[str] = []

        async def step(one: Any, seen: list[str] = seen) -> Any:
            seen.append(one.id)
            if one.id == "bad":
                raise Odd("planted")
            return anything(volume="v")

        sets = [anything(id=id, deleted=False) for id in ("bad", "good")]
        db = anything(
            external_sources=anything(
                list=lambda kind, sets=sets: sets, get=lambda id: anything(seen=None, data_set=id)
            )
        )
        if kind is Snapshots:
            monkeypatch.setattr(Snapshots, "_keep", lambda self, one: step(one))
            assert asyncio.run(Snapshots(db, anything(), "x", now).look()) == 1
        else:
            monkeypatch.setattr("ava.files.cache_stats.CACHED", ("cache",))
            monkeypatch.setattr(CacheStats, "_look", lambda self, known, one, silent: step(one))
            it = CacheStats(db, anything(), "x", ["cache-0"], now)
            monkeypatch.setattr(CacheStats, "_silent", lambda self: asyncio.sleep(0, ()))
            asyncio.run(it.look())
        assert seen == ["bad", "good"]


def away(tmp_path: Path, monkeypatch: Patch) -> None:
    """What cannot be found out about the file system is no sign that it is away, for which the program would end."""
    asked: list[int] = []

    def known() -> None:
        asked.append(1)
        raise Odd("planted")

    it = anything(db=anything(folders=anything(file_system=known)), metrics=StorageMetrics())
    it.problem = lambda: storage.Program.problem(it)
    monkeypatch.setattr(storage, "PATIENCE", -1.0)
    real = asyncio.sleep
    monkeypatch.setattr(storage.asyncio, "sleep", lambda seconds: real(min(seconds, 0.01)))
    until(lambda: storage.Program._away(it), lambda: len(asked) > 2)


LOOPS = {
    "ava/files/__main__.py:Program._away": away,
    "ava/files/__main__.py:Program._lead": storage_leads,
    "ava/files/__main__.py:again": again,
    "ava/files/reconciler.py:Reconciler.run": storage_acts,
}
