"""From what grafana's queries, the platform and Kubernetes reported of a node's GPUs to numbers (A-SC8, A-SC9)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from prometheus_client.parser import text_string_to_metric_families

from avadm_validation.measuring.extract import Inputs, Params, extractor
from avadm_validation.suites.platform.extract import lines, of
from avadm_validation.suites.platform.extract_isolation import assigned

LABELS = ("user", "group", "name", "node")
"""What the series of a run's GPU must be labelled with."""


def agrees(report: Mapping[str, Any]) -> bool:
    """Return whether panel, platform and pods say the same of a node, and the database has charged what there is."""
    return (
        bool(report["panel"] == report["platform"] == report["pods"])
        and report["ledger"] == report["charged"]
    )


def of_run(rows: Sequence[Mapping[str, Any]], run: str) -> list[Mapping[str, Any]]:
    """Return the series of a run."""
    return [row for row in rows if row["metric"].get("run") == run]


@extractor()
def ava_view_agrees(inputs: Inputs, params: Params) -> float:
    """Return the seconds from a change until all reported the same of the node; infinity where they never did in time."""
    found = lines(inputs)
    (changed,) = of(found, "changed", phase=params["phase"])
    same = [x["t"] for x in of(found, "told", phase=params["phase"]) if agrees(x)]
    return float(min(same)) - float(changed["t"]) if same else math.inf


@extractor()
def ava_view_form(inputs: Inputs, params: Params) -> float:
    """Return how many nodes with free GPUs the form does not list, and whether it says other than there is of the watched one."""
    (form,) = of(lines(inputs), "form")
    offered, wanted, own = form["offered"], form["wanted"], form["node"]
    if form["status"] != 200 or not wanted:
        return math.nan
    return float(
        sum(n not in offered for n in wanted if n != own) + (offered.get(own, 0) != wanted.get(own, 0))
    )


def _series(inputs: Inputs) -> list[tuple[dict[str, str], float]]:
    """Return the labels and values of the run's series; ValueError for none."""
    found = [(dict(labels), float(value)) for x in of(lines(inputs), "series") for labels, value in x["rows"]]
    if not found:
        raise ValueError("there are no series of the run")
    return found


@extractor()
def ava_series_wrong(inputs: Inputs, params: Params) -> float:
    """Return how many labels of a run's series are wrong, and whether cards have none, or more than one.

    Without any series in the time waited, all labels of each card are.
    """
    found = lines(inputs)
    (made,) = of(found, "start")
    wanted = {"user": made["owner"], "group": made["group"], "name": made["name"], "node": params["node"]}
    own = sorted(assigned(inputs, str(params["run"])).values())
    if not any(x["rows"] for x in of(found, "series")):
        return float(len(own) * len(LABELS))
    report = _series(inputs)
    wrong = sum(labels.get(key) != wanted[key] for labels, _ in report for key in LABELS)
    return float(wrong + (sorted(labels.get("uuid", "") for labels, _ in report) != own))


@extractor()
def ava_series_differ(inputs: Inputs, params: Params) -> float:
    """Return by how many points of 100 a run's series differ from what its node's exporter reported of its cards, at most."""
    exported = {
        sample.labels.get("uuid", ""): sample.value
        for family in text_string_to_metric_families(inputs["exporter"][0])
        for sample in family.samples
        if sample.name == "dcgm_gpu_utilization"
    }
    own = assigned(inputs, str(params["run"])).values()
    report = {labels.get("uuid", ""): 100 * value for labels, value in _series(inputs)}
    return max(abs(report[uuid] - exported[uuid]) for uuid in own)
