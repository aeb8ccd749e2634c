"""The platform: its processes are ready, one of each kind acts, and users get in."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

from avadm.checks.evidence import Snapshot
from avadm.checks.framework import Check, bad, warn
from avadm.components.ava.component import PARTS
from avadm.findings import Finding
from avadm.quantity import quantity

RESTARTS = 5
"""So many of a kind's pods together are worth telling."""


def _pods(s: Snapshot, node: str, data: Any) -> Iterator[Finding]:
    # The ways into workbenches are looked at where they are; the gate is on each site.
    doors = {"gate", *data["deployed"]} - set(PARTS)
    for part in (*PARTS, *sorted(doors)):
        wanted, found = data["deployed"].get(part), data["pods"].get(part, {"ready": 0, "restarts": 0})
        if wanted is None:
            yield bad("it is not deployed", part)
        elif not found["ready"]:
            yield bad(f"none of {quantity(wanted, 'pod')} ready", part)
        elif found["ready"] < wanted:
            yield warn(f"{found['ready']} of {quantity(wanted, 'pod')} ready", part)
        elif found["restarts"] >= RESTARTS:
            yield warn(f"its pods were restarted {quantity(found['restarts'], 'time')}", part)


def _acts(s: Snapshot, node: str, data: Any) -> Iterator[Finding]:
    before, after = data["leases"]
    for name in sorted(before):
        if not after[name] or not after[name][0]:
            yield bad("no leader", name)
        elif before[name] == after[name]:
            yield bad(f"{after[name][0]} has it and does not renew it", name)


def _way(s: Snapshot, node: str, data: Any) -> Iterator[Finding]:
    if data["way"]["status"] != 200:
        yield bad(data["way"]["said"] or f"HTTP {data['way']['status']}", "ingress")


def _database(s: Snapshot, node: str, data: Any) -> Iterator[Finding]:
    if data["said"]:
        yield bad(f"the database cannot be asked: {data['said']}", node)
    for whose, field, used, charged in data["drift"]:
        yield bad(f"{field}: {used} in use, {charged} charged", whose)


def _gpus(s: Snapshot, node: str, data: Any) -> Iterator[Finding]:
    for name, (given, have) in sorted(data["over"].items()):
        yield bad(f"{quantity(given, 'GPU')} given, it has {have}", name)
    reports = [s.part(n.name, "ava_ledger") for n in s.site.with_role("database")]
    charged: dict[str, int] = next(
        (found["runs"] for found in reports if found and found["primary"] and not found["said"]), {}
    )
    for run, count in sorted(data["runs"].items()):
        # A run that only one of both knows began or ended between the two questions.
        if run in charged and count > charged[run]:
            yield bad(
                f"its pods hold {quantity(count, 'GPU')}, it is charged for {charged[run]}", f"run {run}"
            )


_check = partial(Check, scope="site", topic="ava", requirement="I6")


CHECKS = (
    _check(
        "ava-pods",
        "a process of the platform that is not ready, or is restarted again and again",
        ("ava",),
        _pods,
        roles=("ava",),
        remedy="`kubectl get pods --namespace ava-system` on a master, then `kubectl logs`; without the database none gets ready "
        "(`avadm doctor --only database`). `avadm apply ava` makes what is missing.",
        good="all are ready",
    ),
    _check(
        "ava-acts",
        "an operator or scheduler that does not act: runs neither start nor end",
        ("ava",),
        _acts,
        roles=("ava",),
        remedy="`kubectl logs --namespace ava-system -l part=operator` (or scheduler) on a master says what it waits for.",
        good="one of each acts",
    ),
    _check(
        "ava-way-in",
        "users who do not get in: the platform's page through the ingress",
        ("ava",),
        _way,
        roles=("ava",),
        remedy="`avadm doctor --only kubernetes,database`: who comes in passes the ingress' address, traefik, a pod of the API.",
        good="it answers",
    ),
    _check(
        "ava-ledger",
        "a group or queue whose use is not the sum of what is charged: quotas let in too much or too little",
        ("ava_ledger",),
        _database,
        roles=("ava-ledger",),
        remedy="Keep the database as it is (`avadm support collect`) and report it: the platform never writes "
        "one without the other.",
        good="what is used is what is charged",
    ),
    _check(
        "ava-gpus",
        "GPUs that are given twice: a node's, or beyond what a run is charged for",
        ("ava_runs",),
        _gpus,
        roles=("ava",),
        remedy="`kubectl get pods --all-namespaces -l ava.io/managed=true -o wide` on a master shows who has them; stop one run.",
        good="no GPU is given twice",
    ),
)
