"""The ssh gateway asks which connections may stay, in parts; nothing that is wrong with one closes or keeps the others."""

from __future__ import annotations

import io
import json
import os
import urllib.error
from email.message import Message
from pathlib import Path
from typing import Any

import pytest

from ava.gateway.ssh import authorized_keys, connections

SERVER = 1000


class Planted(connections.Connections):
    """Connections of processes that there are not; ``shut``: keys that may not stay; ``odd``: such that the API refuses."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        super().__init__("http://told", folder / "secret", folder, SERVER)
        self.folder = folder
        self.shut: set[str] = set()
        self.odd: set[str] = set()
        self.asked: list[int] = []
        self.killed: list[int] = []
        self.there: dict[int, int] = {}
        monkeypatch.setattr(connections, "parent", lambda process: self.there.get(process, 0))
        monkeypatch.setattr(os, "getpgid", lambda process: process)
        monkeypatch.setattr(os, "killpg", lambda process, signal: self.killed.append(process))

    def put(self, process: int, key: str) -> None:
        authorized_keys.record(
            self.folder, process, key, f'restrict,permitopen="wb-d{process}.ava-x.svc:22" {key}'
        )
        self.there[process] = SERVER

    def _post(self, body: dict[str, Any]) -> dict[str, Any]:
        some = [one["key"] for one in body["connections"]]
        self.asked.append(len(some))
        if self.odd & set(some):
            raise urllib.error.HTTPError("http://told", 422, "", Message(), io.BytesIO())
        return {"stay": [key not in self.shut for key in some]}


@pytest.fixture
def there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Planted:
    return Planted(tmp_path, monkeypatch)


def test_what_a_connection_reaches_is_kept_under_sshds_process(tmp_path: Path) -> None:
    text = (
        'restrict,port-forwarding,permitopen="wb-d1.ava-a.svc.x:22",permitopen="wb-d2.ava-b.svc.x:22" k v\n'
    )
    authorized_keys.record(tmp_path, 77, "k v", text)
    assert [path.name for path in tmp_path.iterdir()] == ["77"]
    assert json.loads((tmp_path / "77").read_text()) == {"key": "k v", "definitions": ["d1", "d2"]}
    with pytest.raises(OSError, match="closed"):
        authorized_keys.record(tmp_path, 1, "k v", text)


def test_many_connections_are_asked_about_in_parts(there: Planted) -> None:
    for process in range(2000, 2450):
        there.put(process, f"key {process}")
    there.shut = {"key 2001", "key 2449"}
    assert there.look() == 2
    assert there.asked == [200, 200, 50]
    assert sorted(there.killed) == [2001, 2449]
    there.there.clear()
    for process in range(3000, 3003):
        there.put(process, "x" * 100_000)
    there.asked.clear()
    there.look()
    assert there.asked == [2, 1], "and in parts of few bytes"


def test_one_that_the_api_takes_for_none_is_closed_alone(there: Planted) -> None:
    for process in (2000, 2001, 2002):
        there.put(process, f"key {process}")
    there.odd = {"key 2001"}
    assert there.look() == 1 and there.killed == [2001]
    (there.folder / "2002").write_text("{")
    there.odd = {""}
    there.killed.clear()
    assert there.look() == 1 and there.killed == [2002], "nor may one stay of which nothing is known"


def test_a_process_of_the_same_number_that_is_no_connection_is_left_alone(there: Planted) -> None:
    there.put(2000, "key")
    there.there[2000] = 1
    there.shut = {"key"}
    assert there.look() == 0 and there.killed == []
    assert list(there.folder.iterdir()) == []


def test_all_are_closed_when_the_api_has_not_answered_for_long(
    there: Planted, monkeypatch: pytest.MonkeyPatch
) -> None:
    there.put(2000, "key")
    now = 1e6

    def away(body: dict[str, Any]) -> dict[str, Any]:
        raise ConnectionRefusedError

    monkeypatch.setattr(connections.time, "monotonic", lambda: now)
    there.look()
    monkeypatch.setattr(there, "_post", away)
    for later, closed in ((0, []), (connections.DEAF - 1, []), (connections.DEAF + 1, [2000])):
        now = 1e6 + later
        with pytest.raises(ConnectionRefusedError):
            there.look()
        assert there.killed == closed


def test_a_parent_is_read_whatever_a_process_calls_itself() -> None:
    assert connections.parent(os.getpid()) == os.getppid()
    assert connections.parent(0) == 0
