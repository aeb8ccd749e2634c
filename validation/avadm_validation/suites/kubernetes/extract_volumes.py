"""Numbers of the volumes' checks from raw text: what kubectl, the pods' program and the nodes printed.

Groups: ``claims``, ``volumes``, ``classes``, ``pods``, ``events`` are lists of kubectl, ``left`` its names of volumes;
``written`` and ``read`` lines of JSON, one of each pod; ``mounts`` one of each node and volume.
"""

from __future__ import annotations

import json
import math
from datetime import datetime
from typing import Any

from avadm_validation.measuring.extract import Inputs, Params, extractor
from avadm_validation.suites.kubernetes.extract import _lines

DEFAULT = "storageclass.kubernetes.io/is-default-class"


def _items(inputs: Inputs, group: str) -> list[Any]:
    doc = json.loads(inputs[group][0])
    # Of one object that is asked for by name kubectl prints no list.
    return list(doc["items"] if doc["kind"] == "List" or "items" in doc else [doc])


def _named(inputs: Inputs, group: str, name: object) -> Any:
    (found,) = (x for x in _items(inputs, group) if x["metadata"]["name"] == name)
    return found


def _told(inputs: Inputs, group: str, pod: object) -> Any:
    (report,) = (d for d in _lines(inputs, group) if d["pod"] == pod)
    return report


def _volume(inputs: Inputs, params: Params) -> str:
    """Return the name of a claim's volume; KeyError where it has none."""
    return str(_named(inputs, "claims", params["claim"])["spec"]["volumeName"])


def _seconds(text: str) -> float:
    return datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp()


@extractor()
def kube_class_missing(inputs: Inputs, params: Params) -> float:
    """Return how many of the storage classes ``wanted`` (separated by commas) are not there."""
    there = {c["metadata"]["name"] for c in _items(inputs, "classes")}
    return float(len(set(str(params["wanted"]).split(",")) - there))


@extractor()
def kube_default_class(inputs: Inputs, params: Params) -> float:
    """Return 1 if ``wanted`` alone is the default class ("" for none) and ``claim``, which names none, has got it."""
    marked = [
        c["metadata"]["name"]
        for c in _items(inputs, "classes")
        if (c["metadata"].get("annotations") or {}).get(DEFAULT) == "true"
    ]
    if not params["wanted"]:
        return float(marked == [])
    got = _named(inputs, "claims", params["claim"])["spec"].get("storageClassName")
    return float(marked == [params["wanted"]] and got == params["wanted"])


@extractor()
def kube_bound(inputs: Inputs, params: Params) -> float:
    """Return 1 if ``claim`` is bound to a volume of the class ``class`` that may be used as ``mode`` says, else 0."""
    claim = _named(inputs, "claims", params["claim"])
    if not claim["spec"].get("volumeName"):
        return 0.0  # it got none in the time waited
    volume = _named(inputs, "volumes", claim["spec"].get("volumeName"))["spec"]
    owner = volume.get("claimRef") or {}
    return float(
        claim["status"].get("phase") == "Bound"
        and volume["storageClassName"] == params["class"]
        and volume["accessModes"] == [params["mode"]]
        and owner.get("uid") == claim["metadata"]["uid"]
    )


@extractor()
def kube_same_content(inputs: Inputs, params: Params) -> float:
    """Return 1 if ``second`` read what ``first`` wrote, of the digest ``sha256``, and is where ``place`` says.

    ``place`` is ``apart`` (another node than the first pod's) or ``same``.
    """
    wrote, read = _told(inputs, "written", params["first"]), _told(inputs, "read", params["second"])
    digests = wrote["sha256"] == read["sha256"] == params["sha256"]
    return float(digests and (wrote["node"] != read["node"]) == (params["place"] == "apart"))


@extractor()
def kube_mounted(inputs: Inputs, params: Params) -> float:
    """Return on how many nodes a claim's volume is mounted; NaN if the node of ``first``, which wrote, is not one."""
    volume, writer = _volume(inputs, params), _told(inputs, "written", params["first"])["node"]
    nodes = {d["node"] for d in _lines(inputs, "mounts") if d["volume"] == volume and d["mounts"] > 0}
    return float(len(nodes)) if writer in nodes else math.nan


@extractor()
def kube_waits(inputs: Inputs, params: Params) -> float:
    """Return 1 if ``first`` runs, ``second`` does not, and an event of it says ``words``; else 0."""
    first, second = (_named(inputs, "pods", params[k]) for k in ("first", "second"))
    report = any(
        e["involvedObject"]["name"] == params["second"] and str(params["words"]) in e["message"]
        for e in _items(inputs, "events")
    )
    return float(report and first["status"]["phase"] == "Running" and second["status"]["phase"] == "Pending")


@extractor()
def kube_volume_left(inputs: Inputs, params: Params) -> float:
    """Return 1 if the volume of ``claim`` is still there when the claim is gone, else 0."""
    volume = _volume(inputs, params)
    return float(any(line.rpartition("/")[2] == volume for line in inputs["left"][0].splitlines()))


@extractor()
def kube_claim_s(inputs: Inputs, params: Params) -> float:
    """Return the seconds from the making of ``claim`` to that of its volume, in whole ones as the API keeps them."""
    times = [
        _named(inputs, "claims", params["claim"])["metadata"]["creationTimestamp"],
        _named(inputs, "volumes", _volume(inputs, params))["metadata"]["creationTimestamp"],
    ]
    return _seconds(times[1]) - _seconds(times[0])


@extractor()
def kube_pod_s(inputs: Inputs, params: Params) -> float:
    """Return the seconds from the making of ``pod`` to the start of its container, in whole ones."""
    pod = _named(inputs, "pods", params["pod"])
    (state,) = pod["status"]["containerStatuses"]
    return _seconds(state["state"]["running"]["startedAt"]) - _seconds(pod["metadata"]["creationTimestamp"])
