"""Nodes that are drained: what runs on one, that its runs leave it by a time, and that owners agree."""

from __future__ import annotations

from datetime import timedelta

from ava.domain import labels, node_drains
from ava.domain.model import Kind
from ava.domain.phrases import Phrase
from ava.domain.pod_status import ENDED
from ava.domain.problems import ApiError, Problem
from ava.schemas.node_drains import NodeDrainOut, NodeDrainPut, NodeQuery, NodeRunOut, NodeRunsOut
from ava.schemas.runs import RunOut
from ava.services import serializers
from ava.services.auth.authorization import authorize, record_change
from ava.services.auth.caller import Caller
from ava.services.context import Context
from ava.services.runs import runs


def show_node(context: Context, caller: Caller, node: str, query: NodeQuery) -> NodeRunsOut:
    """Return whether a node is drained, and the runs on it with owner and age."""
    authorize(context, caller, "nodes.runs")
    return _node(context, _cluster(context, query.cluster), node)


def drain(context: Context, caller: Caller, node: str, body: NodeDrainPut) -> NodeRunsOut:
    """Have the runs of a node leave it, and notify their owners. The same again changes nothing."""
    authorize(context, caller, "nodes.drain")
    cluster = _cluster(context, body.cluster)
    detail = {"notice": body.notice, "stop_runs": body.stop_runs, "cluster": cluster}
    with record_change(context, caller, "nodes.drain", f"node {node}", **detail):
        context.db.node_drains.begin(
            cluster,
            node,
            context.clock(),
            by=caller.me.name,
            wait=timedelta(seconds=body.notice),
            stop_runs=body.stop_runs,
        )
    return _node(context, cluster, node)


def withdraw(context: Context, caller: Caller, node: str, query: NodeQuery) -> None:
    """Let the runs of a node stay. Idempotent."""
    authorize(context, caller, "nodes.drain")
    cluster = _cluster(context, query.cluster)
    with record_change(context, caller, "nodes.undrain", f"node {node}", cluster=cluster):
        context.db.node_drains.withdraw(cluster, node, context.clock())


def consent(context: Context, caller: Caller, id: str) -> RunOut:
    """Agree that a training on a node that is drained is ended when the notice is over. Idempotent."""
    found = runs.find_run(context, caller, id, "runs.consent")
    with record_change(context, caller, "runs.consent", f"run {found.id}"):
        context.db.node_drains.consent(found.id, context.clock())
    return runs.with_states(context, caller, [found])[0]


def _cluster(context: Context, name: str) -> str:
    if name in context.config.clusters:
        return name
    raise ApiError(
        422,
        Problem(
            "cluster-unknown",
            Phrase("There is no {kind} {name}.", kind="cluster", name=name),
            "cluster",
            name,
            Phrase("one of: {names}", names=", ".join(sorted(context.config.clusters))),
            Phrase("Choose another cluster."),
        ),
    )


def _node(context: Context, cluster: str, node: str) -> NodeRunsOut:
    mine = [d for d in context.db.node_drains.list(cluster) if d.node == node]
    one = mine[0] if mine else None
    on = context.db.node_drains.runs_on(cluster, node)
    agreed = context.db.node_drains.consents([run.id for run, _ in on])
    rows = []
    for run, pods in on:
        consented = (run.id, node) in agreed
        at = node_drains.leaves_at(one, run.kind, consented) if one is not None else None
        rows.append(
            NodeRunOut(
                id=run.id,
                kind=run.kind.value,
                name=run.name,
                owner=run.owner,
                group=run.group,
                namespace=labels.namespace(run.group),
                pods=[p.pod for p in pods if p.node == node and p.phase not in ENDED],
                admitted=run.admitted,
                started=run.started,
                stop=run.stop,
                leaves=at,
                consented=consented and run.kind is Kind.TRAINING,
            )
        )
    shown = serializers.answer(NodeDrainOut, one) if one is not None else None
    return NodeRunsOut(cluster=cluster, node=node, drain=shown, runs=rows)
