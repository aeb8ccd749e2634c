"""What no node could ever satisfy, reported when it is submitted and not by waiting for ever."""

from __future__ import annotations

from ava.domain.amounts import number
from ava.domain.phrases import Phrase
from ava.domain.placement.capacity import ClusterCapacity, NodeGroup
from ava.domain.placement.reasons import nodes, some
from ava.domain.problems import Problem
from ava.domain.resources import FIELDS, Resources
from ava.domain.spec import Role, Spec

_LABEL = {"gpu": Phrase("GPUs"), "cpu": Phrase("cores"), "memory": Phrase("memory")}

_ALONE = Phrase("No node has {amount} {label} for one pod of {role}.")
_BESIDE = Phrase("No node has {amount} {label} for one pod of {role} beside the rest that it asks for.")


def infeasible_reasons(
    spec: Spec, room: ClusterCapacity, pool: str, plain: str | None = None
) -> list[Problem]:
    """Return why a run can never start in a cluster, even an idle one; empty where it could, or where that is not sure.

    Only what is proven is refused: a pod larger than every node, more pods of a role than all nodes hold, more in all than
    there is. Nodes in trouble count as if they were well. ``plain`` is the pool of roles without GPUs in a run with GPUs; a node
    that the run names is not theirs then. None: they go to ``pool`` too, or that is not known, and any node is taken for theirs.
    """
    if pool not in room.pools:
        return []
    kinds = [kind for kind in room.kinds if pool in kind.pools]
    where = Phrase("pool {name}", name=pool)
    if not kinds:
        remedy = Phrase("Choose a queue of another pool, or ask the administrator for nodes.")
        return [
            Problem(
                "pool-empty",
                Phrase("The pool {pool} has no nodes.", pool=pool),
                where,
                Phrase("0 nodes"),
                Phrase("nodes"),
                remedy,
            )
        ]
    if spec.node is not None and room.complete:
        named = [place for place in room.nodes if place.name == spec.node]
        if not named or pool not in named[0].pools:
            return [_no_such_node(spec.node, room, pool)]
        kinds = [NodeGroup(pools=named[0].pools, model=named[0].model, size=named[0].size, count=1)]
    if spec.gpu_model is not None and spec.asks().gpu:
        models = {kind.model for kind in kinds}
        if spec.gpu_model not in models:
            return [_no_such_model(spec.gpu_model, models, where)]
    if pool in room.unsure:
        return []
    problems: list[Problem] = []
    alike = [role for role in spec.roles if bool(role.each.gpu) == bool(spec.asks().gpu)]
    others = [role for role in spec.roles if role not in alike]
    cores = [kind for kind in room.kinds if plain in kind.pools]
    sure = plain is not None and plain in room.pools and plain not in room.unsure
    if others and sure and not cores:
        remedy = Phrase("Ask the administrator for nodes, or give each role a GPU.")
        return [
            Problem(
                "pool-empty",
                Phrase("The pool {pool} has no nodes.", pool=plain or ""),
                Phrase("pool {name}", name=plain or ""),
                Phrase("0 nodes"),
                Phrase("nodes"),
                remedy,
            )
        ]
    for index, role in enumerate(spec.roles):
        elsewhere = cores if sure else _anywhere(spec, room)
        mine = _of_model(kinds, spec, role) if role in alike else elsewhere
        problems += _of_role(role, f"roles[{index}]", mine) if mine else []
    together = _of_all(alike, _of_model(kinds, spec, alike[0]))
    return problems or together or (_of_all(others, cores) if others and sure else [])


def _of_model(kinds: list[NodeGroup], spec: Spec, role: Role) -> list[NodeGroup]:
    """Return the nodes that have the GPU model that a role with GPUs was promised."""
    return [kind for kind in kinds if not role.each.gpu or spec.gpu_model in (None, kind.model)]


def _anywhere(spec: Spec, room: ClusterCapacity) -> list[NodeGroup]:
    """Return all nodes, or nothing where one was named: then nothing is proven."""
    return list(room.kinds) if spec.node is None and not room.unsure else []


def _no_such_node(name: str, room: ClusterCapacity, pool: str) -> Problem:
    return Problem(
        "node-unknown",
        Phrase("The pool {pool} has no node {node}.", pool=pool, node=name),
        "node",
        name,
        some(place.name for place in room.nodes if pool in place.pools),
        Phrase("Name one of these nodes, or leave the node out."),
    )


def _no_such_model(model: str, models: set[str], where: str) -> Problem:
    known = some(m for m in models if m) or "nodes that do not tell their model"
    remedy = Phrase("Choose one of these models, or leave it out.")
    return Problem(
        "gpu-model-unknown",
        Phrase("The {where} has no GPU of model {model}.", where=where, model=model),
        "gpu_model",
        model,
        known,
        remedy,
    )


def _of_role(role: Role, where: str, kinds: list[NodeGroup]) -> list[Problem]:
    asks = role.each.resources()
    lacks = [(asks.lacking(kind.size), kind) for kind in kinds]
    able = [kind for lack, kind in lacks if not lack]
    if not able:
        # Reported by what the nearest node lacks: each field by itself may be there on some other node.
        lack, nearest = min(lacks, key=lambda item: (len(item[0]), item[1].model, [-x for x in item[1].size]))
        return [
            Problem(
                "never-fits",
                Phrase(
                    _BESIDE if _elsewhere(name, asks, kinds) else _ALONE,
                    amount=number(name, getattr(asks, name)),
                    label=_LABEL[name],
                    role=role.name,
                ),
                f"{where}.each.{name}",
                Phrase(
                    "{amount} on the node that comes nearest",
                    amount=number(name, getattr(nearest.size, name)),
                ),
                number(name, getattr(asks, name)),
                Phrase("Ask for less per pod, in more pods, or choose another pool."),
            )
            for name in lack
        ]
    places = sum(kind.count * _copies(kind.size, asks) for kind in able)
    if places >= role.replicas:
        return []
    return [
        Problem(
            "never-fits",
            Phrase(
                "All nodes together hold {places} pods of {role} at once, {replicas} are wanted.",
                places=places,
                role=role.name,
                replicas=role.replicas,
            ),
            f"{where}.replicas",
            f"{places} on {nodes(sum(kind.count for kind in able))}",
            str(role.replicas),
            Phrase("Ask for fewer or smaller pods."),
        )
    ]


def _elsewhere(name: str, asks: Resources, kinds: list[NodeGroup]) -> bool:
    return any(getattr(kind.size, name) >= getattr(asks, name) for kind in kinds)


def _copies(size: Resources, asks: Resources) -> int:
    return min(have // want for have, want in zip(size, asks, strict=True) if want > 0)


def _of_all(roles: list[Role], kinds: list[NodeGroup]) -> list[Problem]:
    asks = total = Resources()
    for role in roles:
        asks = asks.plus(role.each.resources().times(role.replicas))
    for kind in kinds:
        total = total.plus(kind.size.times(kind.count))
    return [
        Problem(
            "never-fits",
            Phrase(
                "All its pods together ask for {want} {label}; all nodes have {have}.",
                want=number(name, getattr(asks, name)),
                label=_LABEL[name],
                have=number(name, getattr(total, name)),
            ),
            "roles",
            number(name, getattr(total, name)),
            number(name, getattr(asks, name)),
            Phrase("Ask for fewer or smaller pods."),
        )
        for name in FIELDS
        if getattr(asks, name) > getattr(total, name)
    ]
