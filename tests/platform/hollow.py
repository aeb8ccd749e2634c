"""Nodes without machines: what a scheduler and kubelets would do to pods, done through the API alone."""

from __future__ import annotations

import asyncio
import contextlib
import datetime
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from ava.kube.client import Client, Object
from ava.kube.errors import KubeError
from ava.kube.informer import Informer
from ava.kube.resources import NODES, PODS

Ends = Callable[[Object], int | None]
"""Says with which code a pod's command ends right after its start; None: it runs until it is stopped."""


def stamp() -> str:
    """Return the time as Kubernetes writes it."""
    return datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def word(pod: Object) -> str:
    """Return the last word of a pod's command."""
    return (pod["spec"]["containers"][0].get("command") or [""])[-1]


def by_command(pod: Object) -> int | None:
    """A command whose last word is ``exit-N`` ends with N; any other runs."""
    reply = word(pod)
    return int(reply.removeprefix("exit-")) if reply.startswith("exit-") else None


class Hollow:
    """Binds all pods that wait for ``ava`` and plays the kubelet of every node.

    Attributes:
        deaf: names of nodes whose kubelet does nothing.
        cordoned: names of nodes to which nothing is bound.
        grace: whether a container ends at SIGTERM at once (else when its grace is over).
        serves: whether a pod that runs answers its health check.
        ran: (run, place) of each container that was started, in order.
    """

    def __init__(self, client: Client, nodes: int = 2, ends: Ends = by_command) -> None:
        self.client = client
        self.names = [f"node-{n}" for n in range(nodes)]
        self.ends = ends
        self.deaf: set[str] = set()
        self.cordoned: set[str] = set()
        self.binds = True
        self.sigterm_deaf = False
        self.serves: Callable[[Object], bool] = lambda pod: True
        self.ran: list[str] = []
        self.pods = Informer(client, PODS, seconds=30, whole=True)
        self.errors: list[str] = []
        self._busy: set[str] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        self._next = 0
        self.pods.listen(self._changed)

    @asynccontextmanager
    async def running(self) -> AsyncIterator[Hollow]:
        """Play while the context lasts."""
        for name in self.names:
            with contextlib.suppress(KubeError):
                await self.client.create(NODES, {"metadata": {"name": name}})
            await self.ready(name, "True")
        task = asyncio.create_task(self.pods.run())
        try:
            yield self
        finally:
            for each in (task, *self._tasks):
                each.cancel()
            await asyncio.gather(task, *self._tasks, return_exceptions=True)

    async def ready(self, name: str, status: str) -> None:
        """Set a node's Ready condition."""
        report = {"status": {"conditions": [{"type": "Ready", "status": status, "reason": "Test"}]}}
        await self.client.patch(NODES, name, report, sub="status")

    async def cordon(self, name: str, wanted: bool = True) -> None:
        """Keep new pods from a node, or let them come again."""
        (self.cordoned.add if wanted else self.cordoned.discard)(name)
        await self.client.patch(NODES, name, {"spec": {"unschedulable": wanted or None}})

    def _changed(self, old: Object | None, new: Object | None) -> None:
        if new is None:
            return
        task = asyncio.get_running_loop().create_task(
            self._step(new["metadata"]["namespace"], new["metadata"]["name"])
        )
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _step(self, space: str, name: str) -> None:
        pod = self.pods.objects.get((space, name))
        if pod is None or pod["spec"].get("schedulerName") != "ava":
            return
        uid = pod["metadata"]["uid"]
        if uid in self._busy:
            return
        self._busy.add(uid)
        try:
            await self._act(space, name, pod)
        except KubeError as error:
            if error.code not in (404, 409):
                self.errors.append(str(error))
        finally:
            self._busy.discard(uid)
        after = self.pods.objects.get((space, name))
        if after is not None and after["metadata"]["resourceVersion"] != pod["metadata"]["resourceVersion"]:
            self._changed(pod, after)

    async def _act(self, space: str, name: str, pod: Object) -> None:
        node, meta = pod["spec"].get("nodeName"), pod["metadata"]
        if not node:
            if self.binds and not meta.get("deletionTimestamp"):
                self._next += 1
                open_ones = [one for one in self.names if one not in self.cordoned]
                await self.client.bind(space, name, meta["uid"], open_ones[self._next % len(open_ones)])
            return
        if node in self.deaf:
            return
        phase = (pod.get("status") or {}).get("phase", "Pending")
        if meta.get("deletionTimestamp"):
            if self.sigterm_deaf and phase == "Running":
                await asyncio.sleep(float(meta.get("deletionGracePeriodSeconds") or 0))
            await self.client.delete(PODS, name, space, uid=meta["uid"], grace=0)
        elif phase == "Pending" and not _waits(pod):
            self.ran.append(name)
            state = {"running": {"startedAt": stamp()}}
            await self._say(space, name, "Running", state)
        elif phase == "Running":
            code = self.ends(pod)
            if code is not None:
                state = {"terminated": {"exitCode": code, "reason": "Error" if code else "Completed"}}
                await self._say(space, name, "Failed" if code else "Succeeded", state)

    def _ready(self, space: str, name: str) -> bool:
        pod = self.pods.objects.get((space, name))
        return pod is not None and self.serves(pod)

    async def _say(self, space: str, name: str, phase: str, state: Object) -> None:
        status = {
            "phase": phase,
            "podIP": "10.1.2.3",
            "startTime": stamp(),
            "conditions": [{"type": "Ready", "status": str(phase == "Running" and self._ready(space, name))}],
            "containerStatuses": [
                {
                    "name": "main",
                    "state": state,
                    "ready": phase == "Running",
                    "restartCount": 0,
                    "image": "i",
                    "imageID": "",
                }
            ],
        }
        await self.client.patch(PODS, name, {"status": status}, space, sub="status")


def _waits(pod: Object) -> bool:
    """Return whether a container waits for its image: no kubelet starts that."""
    statuses = (pod.get("status") or {}).get("containerStatuses") or []
    return any("waiting" in one["state"] for one in statuses)
