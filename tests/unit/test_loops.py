"""No user's data ends a loop that serves all: each loop of each program is fed something that raises, and continues.

``LOOPS`` has them all; a loop that is new must be put there, or into ``OTHERS`` with why no one's data can end it for others.
"""

from __future__ import annotations

import ast
import asyncio
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from ava.kube.errors import Fenced, Unavailable
from ava.kube.for_each import for_each
from tests.unit.loops import avadm_node, operator, operator_passes, others, scheduler, storage, volumes

TOP = Path(__file__).parents[2]
LOOPS: dict[str, Callable[..., None]] = {
    name: fed
    for module in (operator, operator_passes, scheduler, storage, others, avadm_node, volumes)
    for name, fed in module.LOOPS.items()
}
OTHERS = {
    "ava/api/admin.py:lend": "the administrator's command, of one request",
    "ava/services/logs/live.py:LiveLogs.follow": "of one request",
    "ava/services/logs/live.py:LiveLogs._stream": "of one request",
    "ava/services/logs/live.py:LiveLogs._tail": "of one request",
    "ava/services/logs/follower.py:Follower._watch": "of one request",
    "ava/services/logs/victoria.py:KeptLogs.follow": "of one request",
    "ava/client/runs.py:RunsApi.watch": "a user's own command",
    "ava/cli/runs.py:_wait_for_log": "a user's own command",
    "ava/client/data_sets.py:DataSetsApi.upload": "a user's own command",
    "ava/client/runs.py:RunsApi.follow": "a user's own command",
    "ava/kube/client.py:Client.list": "pages of one list",
    "ava/kube/leader.py:Leader.run": "contends for the lead, whose record only the programs may write",
    "ava/scheduler/leader_session.py:LeaderSession._patiently": "tries one thing until it is done, whatever is raised",
    "ava/db/listener.py:Listener._received": "waits for a message, and reads none",
    "ava/db/listener.py:Poller.wait": "waits for a message, and reads none",
    "avadm_node/agents/balancer.py:Services.follow": "ends by an exception, after which Services.run lists again",
    "avadm_node/agents/database/restore.py:prepare": "the administrator's command",
    "avadm_node/agents/database/restore.py:archived": "the administrator's command",
    "avadm_node/probes/lock.py:Store.alone": "waits for a lock",
    "avadm_node/agents/volumes/folders.py:Folders.entries": "entries of one folder",
    "avadm_node/agents/volumes/map.py:Images.map": "waits for one mount",
}
STEPS = {"outbox", "pass", "watchdog", "volumes", "heartbeat", "sweep", "disks", "load", "node drains"}
"""What the operator does for ever beside looking at runs; each is in ``LOOPS`` as ``operator step NAME``."""


def endless() -> Iterator[str]:
    """Give FILE:FUNCTION of each loop without an end of its own."""
    for path in sorted([*TOP.glob("ava/**/*.py"), *TOP.glob("avadm_node/**/*.py")]):

        def walk(node: ast.AST, names: tuple[str, ...], path: Path = path) -> Iterator[str]:
            for child in ast.iter_child_nodes(node):
                inner = names
                if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                    inner = (*names, child.name)
                if isinstance(child, ast.While) and (
                    isinstance(child.test, ast.Constant)
                    or (isinstance(child.test, ast.UnaryOp) and isinstance(child.test.op, ast.Not))
                ):
                    yield f"{path.relative_to(TOP)}:{'.'.join(names)}"
                yield from walk(child, inner)

        yield from walk(ast.parse(path.read_text()), ())


def test_each_loop_is_listed_and_each_that_is_listed_is_there() -> None:
    found = set(endless())
    listed = {name for name in LOOPS if not name.startswith("operator step")}
    assert found == listed | set(OTHERS)
    assert not listed & set(OTHERS)


def test_each_step_of_the_operator_is_listed() -> None:
    tree = ast.parse((TOP / "ava/operator/controller.py").read_text())
    calls = [n for n in ast.walk(tree) if isinstance(n, ast.Call) and ast.unparse(n.func) == "self._always"]
    assert {ast.literal_eval(call.args[0]) for call in calls} == STEPS
    assert {f"operator step {name}" for name in STEPS} == {n for n in LOOPS if n.startswith("operator step")}


@pytest.mark.parametrize("loop", sorted(LOOPS))
def test_what_raises_does_not_end(loop: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    LOOPS[loop](tmp_path, monkeypatch)


def test_a_step_for_each_goes_on_after_one_that_fails_and_logs_no_contents(
    caplog: pytest.LogCaptureFixture,
) -> None:
    done: list[str] = []

    async def step(thing: dict[str, Any]) -> None:
        if thing["metadata"]["name"] == "bad":
            raise KeyError("what")
        done.append(thing["metadata"]["name"])

    things = [{"metadata": {"name": name}, "data": "c2VjcmV0"} for name in ("bad", "good")]
    assert asyncio.run(for_each("things", things, step)) == 1
    assert done == ["good"] and "c2VjcmV0" not in caplog.text and "bad" in caplog.text


@pytest.mark.parametrize(("error", "tried"), [(Fenced("lost"), 1), (Unavailable("away", code=503), 3)])
def test_a_step_for_each_ends_where_the_lead_or_the_server_is_gone(error: Exception, tried: int) -> None:
    count: list[int] = []

    async def step(thing: int) -> None:
        count.append(thing)
        raise error

    with pytest.raises(type(error)):
        asyncio.run(for_each("things", range(10), step))
    assert len(count) == tried
