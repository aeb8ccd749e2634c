"""One metric for each attack of a check, and the criteria that judge them: none may get through."""

from __future__ import annotations

import json
from collections import defaultdict

from avadm_validation.measuring.context import Context
from avadm_validation.measuring.metrics import metric
from avadm_validation.protocol.model import Class, Criterion, Metric, Sample
from avadm_validation.suites.platform.isolation.attack_catalog import CHECKS, Attack, attacks
from avadm_validation.suites.platform.isolation.setup import AttackResults

PORTS = "ports"
"""The metric of all ports of the components' table, a sample each."""
FROM = ("training", "workbench")


def _listed() -> list[Attack]:
    return attacks(defaultdict(str))


def criteria(class_: Class) -> list[Criterion]:
    """Return what judges: no attack gets through, and each control does; of what a machine alone lets root do, at a site."""
    kept = [a for a in _listed() if class_ != "lab" or not a.machine]
    made = [(a.check, a.id, f"{a.how} from a user's container") for a in kept]
    made.append(("A-SC3", PORTS, "connect to each TCP port of the components' table"))
    return [
        Criterion(
            id=f"{check}.{name}",
            check=check,
            metric=name,
            unit="ways in",
            op="==",
            threshold=0,
            rule="each",
            scope="client",
            method=method,
            class_=class_,
        )
        for check, name, method in made
    ]


def through(ctx: Context, results: AttackResults, check: str) -> Metric:
    """Return how many attacks of a check got through, a sample from each container."""
    rows = ",".join(row.id for row in results.rows if row.check == check)
    samples = [ctx.sample("ava_ways_in", {"tried": [results.pods[kind]]}, rows=rows) for kind in FROM]
    return metric("through", ("attacks that got through", "得手的攻击"), "attacks", "client", samples)


def metrics(ctx: Context, results: AttackResults, check: str) -> list[Metric]:
    """Return a metric for each attack of a check, a sample from each container; the ports' together."""
    assert check in CHECKS  # noqa: S101
    listed = {a.id for a in _listed()}

    def sample(row: Attack, kind: str) -> Sample:
        raw = {"tried": [results.pods[kind]], "control": list(results.control)}
        more = {"sometimes": 1.0} if row.id in results.sometimes else {}
        return ctx.sample("ava_way_in", raw, row=row.id, **more)

    def one(name: str, rows: list[Attack]) -> Metric:
        words = name.replace("-", " ")
        samples = [sample(row, kind) for row in rows for kind in FROM]
        return metric(name, (f"attack: {words}", f"攻击:{words}"), "ways in", "client", samples)

    mine = [row for row in results.rows if row.check == check]
    found = [one(row.id, [row]) for row in mine if row.id in listed]
    ports = [row for row in mine if row.id not in listed]
    return [*found, *([one(PORTS, ports)] if ports else [])]


def reasons(ctx: Context, results: AttackResults, check: str) -> list[str]:
    """Return in sentences which attacks got through, and which rows show nothing."""
    reply: dict[str, list[str]] = defaultdict(list)
    opened = {x["id"] for path in results.control for x in _tries(ctx, path) if x["open"]}
    for kind in FROM:
        for tried in _tries(ctx, results.pods[kind]):
            if tried["open"]:
                reply[str(tried["id"])].append(f"{kind}: {tried['said']}")
    mine = [row for row in results.rows if row.check == check]
    through = [f"{row.id} got through ({'; '.join(reply[row.id])})" for row in mine if row.id in reply]
    void = [row.id for row in mine if row.id not in opened and row.id not in results.sometimes]
    if void:
        through.append(
            f"shown by nothing, since their controls did not get through either: {', '.join(void)}"
        )
    return through


def _tries(ctx: Context, path: str) -> list[dict[str, object]]:
    return [json.loads(line) for line in ctx.read(path).split("\n") if line.startswith('{"id"')]
