"""Numbers of the platform suite from raw text: journals (journal.py), tables of GPUs (table.py), kubelets' events."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator
from typing import Any

from avadm_validation.measuring.extract import Inputs, Params, extractor
from avadm_validation.suites.platform.gpu_table import table

Line = dict[str, Any]


def lines(inputs: Inputs, group: str = "journal") -> list[Line]:
    """Return the lines of journals in order of time; ValueError for none."""
    found = [json.loads(row) for text in inputs[group] for row in text.split("\n") if row.strip()]
    if not found:
        raise ValueError("the journal is empty")
    return sorted(found, key=lambda line: float(line["t"]))


def of(found: Iterable[Line], do: str, **which: Any) -> Iterator[Line]:
    """Yield the lines of one kind with these values."""
    for line in found:
        if line["do"] == do and all(line.get(k) == v for k, v in which.items()):
            yield line


def _named(params: Params, key: str) -> set[str]:
    return set(filter(None, str(params[key]).split(",")))


def _wanted_on_gpus(found: list[Line]) -> dict[str, bool]:
    """Return whether each pod, by its name, is to be on a node with GPUs: by its own role, not by its run."""
    roles = {line["run"]: line["roles"] for line in of(found, "start") if "roles" in line}
    pods = [line for line in of(found, "pod") if line["run"] in roles]
    return {p["name"]: roles[p["run"]][p["role"]] > 0 for p in pods}


@extractor()
def ava_misplaced(inputs: Inputs, params: Params) -> float:
    """Return how many pods of ``batch`` are on a node of the other kind; NaN where one is on no node, or none was made."""
    found, gpu = lines(inputs), _named(params, "gpu_nodes")
    runs = {line["run"] for line in of(found, "start", batch=params["batch"])}
    wanted = _wanted_on_gpus(found)
    pods = [line for line in of(found, "pod") if line["run"] in runs]
    if not pods or {p["run"] for p in pods} != runs or not all(p["node"] for p in pods):
        return math.nan
    return float(sum((p["node"] in gpu) != wanted[p["name"]] for p in pods))


@extractor()
def ava_started_elsewhere(inputs: Inputs, params: Params) -> float:
    """Return how many pods a kubelet of the other kind of node says it has started; NaN where none says anything."""
    wanted, gpu = _wanted_on_gpus(lines(inputs)), _named(params, "gpu_nodes")
    seen: dict[str, set[str]] = {}
    for text in inputs["events"]:
        for event in json.loads(text)["items"]:
            source, name = event.get("source") or {}, event["involvedObject"]["name"]
            if source.get("component") == "kubelet" and name in wanted:
                seen.setdefault(name, set()).add(str(source.get("host", "")))
    if not seen:
        return math.nan
    return float(sum(any((host in gpu) != wanted[name] for host in hosts) for name, hosts in seen.items()))


@extractor()
def ava_let_in(inputs: Inputs, params: Params) -> float:
    """Return how many pods of runs named ``called`` got a node; NaN where none was tried."""
    found = lines(inputs)
    tried = [
        line for line in found if line["do"] in ("start", "refused") and line.get("name") == params["called"]
    ]
    if not tried:
        return math.nan
    runs = {line["run"] for line in tried if line["do"] == "start"}
    return float(sum(bool(p["node"]) for p in of(found, "pod") if p["run"] in runs))


@extractor()
def ava_refused(inputs: Inputs, params: Params) -> float:
    """Return 1 if a run named ``called`` was refused with 422 each time it was tried, else 0; NaN where none was tried."""
    tried = [
        x for x in lines(inputs) if x["do"] in ("start", "refused") and x.get("name") == params["called"]
    ]
    return float(all(x.get("status") == 422 for x in tried)) if tried else math.nan


def _node(inputs: Inputs, run: str) -> str:
    """Return where a run's pod is; ValueError where it is nowhere."""
    nodes = {p["node"] for p in of(lines(inputs), "pod", run=run)}
    if len(nodes) != 1 or "" in nodes:
        raise ValueError(f"{run} is on {sorted(nodes)}")
    return str(nodes.pop())


@extractor()
def ava_more_left(inputs: Inputs, params: Params) -> float:
    """Return how many GPUs more are left on the node of ``run`` than on the one that fits best; 0 is best fit.

    Group ``before``: the table before the run was started. ``asks``: its GPUs.
    """
    before, asks = table(inputs["before"][0]), int(float(params["asks"]))
    node = _node(inputs, str(params["run"]))
    fitting = [n.free for n in before.values() if n.open and n.free >= asks]
    return float(before[node].free - min(fitting))


@extractor()
def ava_elsewhere(inputs: Inputs, params: Params) -> float:
    """Return 0 if ``run`` is on the node ``node``, else 1."""
    return float(_node(inputs, str(params["run"])) != params["node"])


@extractor()
def ava_other_model(inputs: Inputs, params: Params) -> float:
    """Return 0 if ``run`` is on a node with GPUs of ``model``, else 1; 1 too where no run ("") was given that model."""
    if not params["run"]:
        return 1.0
    return float(table(inputs["before"][0])[_node(inputs, str(params["run"]))].model != params["model"])
