"""Random small clusters, and the same decisions by trying everything out."""
# ruff: noqa: S311 - states, not secrets

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace
from itertools import product

from ava.domain.labels import GPU
from ava.domain.model import Pool
from ava.domain.placement.model import Gang, Node, PlacementConstraints, Pod, Taint
from ava.domain.resources import Resources

GIB = 2**30
POOLS = (Pool("1", "gpu", True, {"kind": "gpu"}), Pool("2", "cpu", False, {"kind": "cpu"}))
MODELS = ("V100", "P40")


def node(name: str, gpu: int, cpu: int = 64_000, memory: int = 512 * GIB, **more: object) -> Node:
    """A node of the pool that its GPUs say."""
    kind = {"kind": "gpu" if gpu else "cpu"}
    taints = (Taint(GPU),) if gpu else ()
    return Node(name, Resources(gpu, cpu, memory), **{"labels": kind, "taints": taints, **more})  # type: ignore[arg-type]


def pod(name: str, gpu: int = 1, cpu: int = 1000, memory: int = GIB, **more: object) -> Pod:
    """A pod that waits."""
    where = more.pop("where", PlacementConstraints("gpu" if gpu else "cpu"))
    return Pod(f"ns/{name}", f"uid-{name}", Resources(gpu, cpu, memory), where, **more)  # type: ignore[arg-type]


def gang(name: str, count: int, gpu: int = 1, **more: object) -> Gang:
    """A gang of equal pods."""
    order = {key: more.pop(key) for key in ("priority", "created", "placed") if key in more}
    pods = tuple(pod(f"{name}-{i}", gpu, index=i, gang=name, **more) for i in range(count))
    return Gang(name, pods, count, **order)  # type: ignore[arg-type]


def random_state(seed: int) -> tuple[list[Node], list[Pod], Gang]:
    """Up to 4 nodes with pods on them, and a gang of up to 4 pods of up to 3 kinds."""
    r = random.Random(seed)
    nodes = [
        Node(
            f"n{i}",
            Resources(gpu := r.choice((0, 2, 4, 4)), r.choice((6000, 8000)), r.choice((10, 16)) * GIB),
            pods=r.choice((2, 5, 110)),
            labels={"kind": "gpu" if gpu else "cpu", "rack": r.choice("ab")},
            taints=(*((Taint(GPU),) if gpu else ()), *((Taint("keep"),) if r.random() < 0.1 else ())),
            model=r.choice(MODELS) if gpu else "",
            troubles=("NotReady",) if r.random() < 0.05 else (),
            cordoned=r.random() < 0.05,
        )
        for i in range(r.randint(2, 4))
    ]
    bound = [
        pod(
            f"b{i}",
            min(r.randint(0, 2), (n := r.choice(nodes)).room.gpu),
            500 * r.randint(1, 3),
            r.randint(1, 3) * GIB,
            node=n.name,
        )
        for i in range(r.randint(0, 4))
    ]
    kinds = [
        {
            "gpu": (gpu := r.choice((0, 1, 1, 2))),
            "cpu": r.choice((500, 1000, 2500)),
            "memory": r.randint(1, 5) * GIB,
            "ports": frozenset({("TCP", "", 80)}) if r.random() < 0.1 else frozenset(),
            "where": PlacementConstraints(
                "gpu" if gpu else "cpu",
                node=r.choice(nodes).name if r.random() < 0.15 else None,
                model=r.choice(MODELS) if gpu and r.random() < 0.2 else None,
                selector=(("rack", r.choice("ab")),) if r.random() < 0.15 else (),
            ),
        }
        for _ in range(r.randint(1, 3))
    ]
    pods = tuple(pod(f"p{i}", index=i, gang="g", **r.choice(kinds)) for i in range(r.randint(1, 4)))  # type: ignore[arg-type]
    return nodes, bound, Gang("g", pods, len(pods))


def allowed(p: Pod, n: Node) -> bool:
    """Whether a pod may go to a node, written down once more and plainly."""
    w = p.where
    return (
        n.labels["kind"] == w.pool
        and (w.pool == "gpu") == (n.room.gpu > 0)
        and w.node in (None, n.name)
        and w.model in (None, n.model)
        and all(n.labels.get(k) == v for k, v in w.selector)
        and not any(t.key == "keep" for t in n.taints)
        and not n.troubles
        and not n.cordoned
    )


def brute(nodes: Sequence[Node], bound: Sequence[Pod], pods: Sequence[Pod]) -> list[str] | None:
    """Return the nodes of pods, in their order, by trying every assignment: the first by best fit, pod after pod."""
    best: tuple[tuple[tuple[int, int, int, str], ...], list[str]] | None = None
    for choice in product(nodes, repeat=len(pods)):
        if not all(allowed(p, n) for p, n in zip(pods, choice, strict=True)):
            continue
        on = list(bound)
        keys = []
        for p, n in zip(pods, choice, strict=True):
            here = [x for x in on if x.node == n.name]
            left = [n.room[i] - sum(x.asks[i] for x in here) - p.asks[i] for i in range(3)]
            taken = {port for x in here for port in x.ports}
            if min(left) < 0 or len(here) >= n.pods or taken & p.ports:
                break
            keys.append((left[0], left[1], left[2], n.name))
            on.append(replace(p, node=n.name))
        else:
            if best is None or tuple(keys) < best[0]:
                best = (tuple(keys), [n.name for n in choice])
    return best[1] if best else None
