"""Objects of Kubernetes, and stand-ins for what the scheduler talks to."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from bench import hollow

Object = dict[str, Any]


def node(name: str, gpu: int = 8, **more: Any) -> Object:
    return hollow.node(name, gpu=gpu, **more)


def pod(
    run: str, index: int = 0, *, on: str = "", phase: str = "Pending", uid: str = "", **more: Any
) -> Object:
    thing = hollow.pod(run, index, **more)
    thing["metadata"] |= {"uid": uid or f"uid-{run}-{index}", "resourceVersion": "1"}
    thing["status"] = {"phase": phase}
    if on:
        thing["spec"]["nodeName"] = on
    return thing


class Binds:
    """Binds like the API server of 1.9: 409 for a pod that is bound already, and no look at what the node has room for.

    Args:
        answer: called before a bind; may raise or wait.
    """

    def __init__(self, answer: Callable[[str, str], Any] = lambda key, node: None) -> None:
        self.bound: dict[str, str] = {}
        self.calls: list[tuple[str, str]] = []
        self.at_once = self.most = 0
        self._answer = answer

    async def bind(
        self, namespace: str, name: str, uid: str, node: str, annotations: dict[str, str] | None = None
    ) -> bool:
        key = f"{namespace}/{name}"
        self.calls.append((key, node))
        self.at_once += 1
        self.most = max(self.most, self.at_once)
        try:
            reply = self._answer(key, node)
            if asyncio.iscoroutine(reply):
                await reply
            await asyncio.sleep(0)
        finally:
            self.at_once -= 1
        return self.bound.setdefault(key, node) == node
