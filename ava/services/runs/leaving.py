"""Runs whose nodes are drained for maintenance: what is shown of it to those who see the run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ava.domain import node_drains
from ava.domain.model import Phase, PodState, Run
from ava.domain.node_drains import NodeDrain
from ava.domain.phrases import Phrase
from ava.domain.problems import Problem
from ava.schemas.runs import LeavesOut
from ava.services.context import Context

Leaving = Mapping[str, tuple[NodeDrain, bool]]
"""Runs on nodes that are drained, by id: the drain that they leave first, and whether the owner has agreed."""


def leaving(context: Context, some: Sequence[Run], pods: Mapping[str, Sequence[PodState]]) -> Leaving:
    """Return which of these runs have pods on nodes that are drained; ``pods`` are by run."""
    open_ones = [run for run in some if run.phase is Phase.ADMITTED and run.stop is None]
    drains = {(d.cluster, d.node): d for d in context.db.node_drains.list()} if open_ones else {}
    if not drains:
        return {}
    agreed = context.db.node_drains.consents([run.id for run in open_ones])
    found = {}
    for run in open_ones:
        nodes = node_drains.nodes_of(run, pods.get(run.id, ()))
        consented = any((run.id, node) in agreed for node in nodes)
        mine = [drains[run.cluster, node] for node in sorted(nodes) if (run.cluster, node) in drains]
        if (one := node_drains.first(mine, run.kind, consented)) is not None:
            found[run.id] = one, consented
    return found


def notice(run: Run, found: Leaving) -> tuple[LeavesOut | None, str]:
    """Return what is shown of a drain with a run, and the same in a sentence; None and "" where there is none."""
    if run.id not in found:
        return None, ""
    one, consented = found[run.id]
    until = node_drains.leaves_at(one, run.kind, consented)
    shown = LeavesOut(node=one.node, until=until, consented=consented)
    return shown, node_drains.notice(one, run.kind, consented)


def reason(run: Run, found: Leaving) -> list[Problem]:
    """Return why a run is going to leave its node, with what its owner can do; empty where it is not."""
    if run.id not in found:
        return []
    one, consented = found[run.id]
    what = node_drains.notice(one, run.kind, consented)
    where = Phrase("run {id}", id=run.id)
    return [Problem(node_drains.REASON, what, where, remedy=node_drains.remedy(one, run.kind, consented))]
