"""Nodes that are only objects, and pods for them, on a real API server."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Coroutine, Iterable, Iterator
from itertools import islice
from typing import Any

from ava.domain import labels
from ava.kube.client import Client, Object
from ava.kube.errors import AlreadyExists, NotFound
from ava.kube.resources import NAMESPACES, NODES, PODS

GROUP = "bench"
NAMESPACE = labels.namespace(GROUP)
WIDTH = 16


async def all_of(work: Iterable[Coroutine[Any, Any, Any]], width: int = WIDTH) -> None:
    """Do many things, ``width`` at once."""
    rest: Iterator[Coroutine[Any, Any, Any]] = iter(work)
    sending: set[asyncio.Task[Any]] = set()
    while more := list(islice(rest, width - len(sending))) or sending:
        if isinstance(more, list):
            sending |= {asyncio.ensure_future(each) for each in more}
        done, sending = await asyncio.wait(sending, return_when=asyncio.FIRST_COMPLETED)
        for task in done:
            task.result()


def node(
    name: str, *, gpu: int = 8, cpu: str = "96", memory: str = "512Gi", pods: int = 110, **marks: str
) -> Object:
    """Return a node that is Ready, with the taint of GPU nodes if it has GPUs."""
    amounts = {"cpu": cpu, "memory": memory, "pods": str(pods), **({labels.GPU: str(gpu)} if gpu else {})}
    conditions = [{"type": "Ready", "status": "True", "reason": "KubeletReady"}]
    return {
        "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name, **marks}},
        "spec": {"taints": [{"key": labels.GPU, "effect": "NoSchedule"}] if gpu else []},
        "status": {"capacity": amounts, "allocatable": amounts, "conditions": conditions},
    }


def pod(
    run: str,
    index: int = 0,
    *,
    gpu: int = 1,
    size: int = 1,
    scheduler: str = labels.SCHEDULER,
    cpu: str = "500m",
    memory: str = "1Gi",
    attempt: int = 0,
    **notes: str,
) -> Object:
    """Return a pod as AVA's operator makes them: one of ``size`` of a run."""
    amounts = {"cpu": cpu, "memory": memory, **({labels.GPU: str(gpu)} if gpu else {})}
    return {
        "metadata": {
            "name": labels.pod(run, attempt, "worker", index),
            "namespace": NAMESPACE,
            "labels": {
                labels.MANAGED: "true",
                labels.GROUP: GROUP,
                labels.RUN: run,
                labels.ATTEMPT: str(attempt),
                labels.ROLE: "worker",
                labels.INDEX: str(index),
            },
            "annotations": {labels.GANG: str(size), labels.PRIORITY: "50", **notes},
        },
        "spec": {
            "schedulerName": scheduler,
            "restartPolicy": "Never",
            "terminationGracePeriodSeconds": 0,
            "tolerations": [{"key": labels.GPU, "operator": "Exists", "effect": "NoSchedule"}] if gpu else [],
            "containers": [
                {"name": "main", "image": "none", "resources": {"requests": amounts, "limits": amounts}}
            ],
        },
    }


async def namespace(client: Client, name: str) -> None:
    """Make a namespace where it is missing."""
    with contextlib.suppress(AlreadyExists):
        await client.create(NAMESPACES, {"metadata": {"name": name}})


async def create(client: Client, pods: Iterable[Object]) -> None:
    """Make pods."""
    await all_of(client.create(PODS, each, NAMESPACE) for each in pods)


async def create_nodes(client: Client, nodes: Iterable[Object]) -> None:
    """Make nodes with the state that they show."""
    await all_of(client.create(NODES, each) for each in nodes)


async def remove_pods(client: Client) -> None:
    """Remove all pods of the namespace and wait until they are gone."""
    while (await client.list(PODS, NAMESPACE, limit=1))[0]:
        pods, _ = await client.list(PODS, NAMESPACE)
        await all_of(_remove(client, each["metadata"]["name"]) for each in pods)


async def _remove(client: Client, name: str) -> None:
    with contextlib.suppress(NotFound):
        await client.delete(PODS, name, NAMESPACE, grace=0)


def given(pods: Iterable[Object]) -> dict[str, int]:
    """Return how many GPUs are given away on each node."""
    found: dict[str, int] = {}
    for each in pods:
        name = each["spec"].get("nodeName")
        if name and (each.get("status") or {}).get("phase") not in ("Succeeded", "Failed"):
            for container in each["spec"]["containers"]:
                count = int(container["resources"]["requests"].get(labels.GPU, 0))
                found[name] = found.get(name, 0) + count
    return found
