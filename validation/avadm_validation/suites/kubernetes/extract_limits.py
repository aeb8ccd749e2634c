"""Numbers of quotas, evictions and what kubelets keep back, from raw text.

Groups: ``doc`` what `kubelimits quota` or `evict` printed, ``kept`` the lines of `kubelimits kubelets`, ``nodes`` a list of
kubectl, ``wanted`` a JSON list of node names.
"""

from __future__ import annotations

import math
from typing import Any

from avadm_validation.measuring.extract import Inputs, Params, extractor
from avadm_validation.suites.kubernetes.extract import _doc, _lines, _wanted

UNITS: dict[str, float] = {
    "m": 1e-3,
    "k": 1e3,
    "Ki": 2.0**10,
    "M": 1e6,
    "Mi": 2.0**20,
    "G": 1e9,
    "Gi": 2.0**30,
    "Ti": 2.0**40,
}
PRESSURES = ("OutOfDisk", "MemoryPressure", "DiskPressure")


def quantity(text: str) -> float:
    """Return an amount as Kubernetes writes it: cores, bytes or things."""
    unit = text.lstrip("0123456789.")
    return float(text.removesuffix(unit)) * (UNITS[unit] if unit else 1.0)


def pairs(text: object) -> dict[str, str]:
    """Return what ``a=1,b=2`` says."""
    return dict(part.split("=", 1) for part in str(text).split(",") if part)


@extractor()
def kube_admitted(inputs: Inputs, params: Params) -> float:
    """Return the share of the pods ``names`` (separated by commas) that the API took."""
    status = {a["name"]: int(a["status"]) for a in _doc(inputs, "doc")["answers"]}
    names = str(params["names"]).split(",")
    return sum(status[n] == 201 for n in names) / len(names)


@extractor()
def kube_refused_for(inputs: Inputs, params: Params) -> float:
    """Return 1 if ``pod`` was refused with 403 and all of ``words`` (separated by ``|``), else 0."""
    (answer,) = (a for a in _doc(inputs, "doc")["answers"] if a["name"] == params["pod"])
    words = str(params["words"]).split("|")
    return float(answer["status"] == 403 and all(w in answer["message"] for w in words))


@extractor()
def kube_used(inputs: Inputs, params: Params) -> float:
    """Return 1 if the quota counted exactly ``wanted`` (``resource=amount,…``), else 0."""
    used, wanted = _doc(inputs, "doc")["used"], pairs(params["wanted"])
    return float(
        set(used) == set(wanted) and all(quantity(used[k]) == quantity(v) for k, v in wanted.items())
    )


@extractor()
def kube_freed_s(inputs: Inputs, params: Params) -> float:
    """Return the seconds after which nothing was counted any more; infinity if something was as long as it was looked at."""
    seconds = _doc(inputs, "doc")["freed_s"]
    return math.inf if seconds is None else float(seconds)


def _tries(inputs: Inputs) -> list[Any]:
    """Return the three tries; ValueError where they were not made."""
    tries = _doc(inputs, "doc")["tries"]
    if len(tries) != 3:
        raise ValueError("the pods to be evicted were never ready")
    return list(tries)


@extractor()
def kube_evictions(inputs: Inputs, params: Params) -> float:
    """Return how many of the two evictions that the budget had room for were granted."""
    first, _, again = _tries(inputs)
    return float(sum(t["status"] == 201 for t in (first, again)))


@extractor()
def kube_eviction_refused(inputs: Inputs, params: Params) -> float:
    """Return 1 if the eviction beyond the budget was refused (429, for ``budget``) and its pod stayed ready, else 0."""
    _, beyond, _ = _tries(inputs)
    named = any(str(params["budget"]) in cause for cause in beyond["causes"])
    doc = _doc(inputs, "doc")
    # Later looks are after the eviction that was granted.
    stayed = all(beyond["name"] in ready for ready in doc["seen"][: doc["beside"]])
    return float(beyond["status"] == 429 and named and stayed and doc["beside"] > 0)


@extractor()
def kube_least_ready(inputs: Inputs, params: Params) -> float:
    """Return the least number of ready pods that was seen while pods were evicted."""
    return float(min(len(ready) for ready in _doc(inputs, "doc")["seen"]))


@extractor()
def kube_not_left(inputs: Inputs, params: Params) -> float:
    """Return how many of the evicted pods were not gone in time."""
    granted = {t["name"] for t in _tries(inputs) if t["status"] == 201}
    return float(len(granted - _doc(inputs, "doc")["gone_s"].keys())) if granted else math.nan


@extractor()
def kube_gone_s(inputs: Inputs, params: Params) -> float:
    """Return the seconds from an eviction until its pod was gone, of the slowest."""
    return max(float(s) for s in _doc(inputs, "doc")["gone_s"].values())


@extractor()
def kube_other_limits(inputs: Inputs, params: Params) -> float:
    """Return how many wanted nodes' kubelets run with other values than the parameters say.

    NaN where one told none and no other runs with other values: then it is not known.
    """
    report = {d["node"]: d["kept"] for d in _lines(inputs, "kept") if d["kept"] is not None}
    wanted, nodes = {key: pairs(text) for key, text in params.items()}, _wanted(inputs)
    other = sum(any(report[n].get(k) != v for k, v in wanted.items()) for n in nodes if n in report)
    return float(other) if other or all(n in report for n in nodes) else math.nan


@extractor()
def kube_allocatable(inputs: Inputs, params: Params) -> float:
    """Return how many wanted nodes offer pods another amount than what they have without ``cpu`` and ``memory``."""
    found = {n["metadata"]["name"]: n["status"] for n in _doc(inputs, "nodes")["items"]}
    return float(sum(not _offers(found.get(n), params) for n in _wanted(inputs)))


def _offers(status: Any, params: Params) -> bool:
    if status is None:
        return False
    has, offers = ({k: quantity(v) for k, v in status[part].items()} for part in ("capacity", "allocatable"))
    # Memory that is set aside for huge pages is nobody else's.
    huge = sum(v for k, v in has.items() if k.startswith("hugepages-"))
    keeps = {"cpu": quantity(str(params["cpu"])), "memory": quantity(str(params["memory"])) + huge}
    return all(math.isclose(has[k] - v, offers[k], rel_tol=1e-9) for k, v in keeps.items())


@extractor()
def kube_pressed(inputs: Inputs, params: Params) -> float:
    """Return how many wanted nodes are short of memory or disk, or do not say that they are not."""
    fine = {
        n["metadata"]["name"]
        for n in _doc(inputs, "nodes")["items"]
        if all(c["status"] == "False" for c in n["status"]["conditions"] if c["type"] in PRESSURES)
        and {"MemoryPressure", "DiskPressure"} <= {c["type"] for c in n["status"]["conditions"]}
    }
    return float(len(set(_wanted(inputs)) - fine))
