"""Numbers of the Kubernetes suite from raw text: what kubectl and the pods' program printed.

Groups: ``wanted`` a JSON list of node names, ``nodes`` and ``pods`` lists of kubectl, ``answers`` lines of JSON, one of
each pod. What is missing counts as bad; NaN where the raw text is no document at all.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Callable, Mapping
from ipaddress import IPv4Address
from typing import Any

from avadm_validation.measuring.extract import Inputs, Params, extractor
from avadm_validation.protocol.stats import percentile


def _doc(inputs: Inputs, group: str) -> Any:
    return json.loads(inputs[group][0])


def _wanted(inputs: Inputs) -> list[str]:
    found = [str(n) for n in _doc(inputs, "wanted")]
    if not found:
        raise ValueError("nobody was asked")
    return found


def _lines(inputs: Inputs, group: str = "answers") -> list[Any]:
    """Return the documents of a file of lines; other lines (errors of kubectl) are no answers."""
    found = []
    for line in "\n".join(inputs.get(group, [])).split("\n"):
        if line.startswith("{"):
            try:
                found.append(json.loads(line))
            except ValueError:
                continue
    return found


def _by_node(inputs: Inputs, key: str) -> dict[str, Any]:
    return {str(d["node"]): d[key] for d in _lines(inputs) if key in d}


def _running(inputs: Inputs) -> dict[str, str]:
    """Return the address of each node's ready pod."""
    found = {}
    for pod in _doc(inputs, "pods")["items"]:
        states = pod["status"].get("containerStatuses", [])
        if pod["status"].get("phase") == "Running" and states and all(s["ready"] for s in states):
            found[str(pod["spec"]["nodeName"])] = str(pod["status"]["podIP"])
    return found


def _reached(answer: Mapping[str, Any]) -> bool:
    return answer["status"] == 200 and bool(answer.get("pod"))


@extractor()
def kube_not_ready(inputs: Inputs, params: Params) -> float:
    """Return how many wanted nodes are not there or not Ready, and how many others are not Ready."""
    states = {
        n["metadata"]["name"]: any(
            c["type"] == "Ready" and c["status"] == "True" for c in n["status"]["conditions"]
        )
        for n in _doc(inputs, "nodes")["items"]
    }
    return float(sum(not states.get(n, False) for n in {*states, *_wanted(inputs)}))


@extractor()
def kube_other_version(inputs: Inputs, params: Params) -> float:
    """Return how many wanted nodes run no kubelet and kube-proxy of ``version``."""
    wanted = {"kubeletVersion": params["version"], "kubeProxyVersion": params["version"]}
    found = {n["metadata"]["name"]: n["status"]["nodeInfo"] for n in _doc(inputs, "nodes")["items"]}
    return float(sum(any(found.get(n, {}).get(k) != v for k, v in wanted.items()) for n in _wanted(inputs)))


@extractor()
def kube_image(inputs: Inputs, params: Params) -> float:
    """Return the share of nodes whose docker shows the image."""
    texts = inputs["images"]
    return sum('"id"' in t for t in texts) / len(texts)


@extractor()
def kube_without_pod(inputs: Inputs, params: Params) -> float:
    """Return on how many wanted nodes no pod is ready."""
    return float(len(set(_wanted(inputs)) - set(_running(inputs))))


@extractor()
def kube_failed_pairs(inputs: Inputs, params: Params) -> float:
    """Return how many ordered pairs of wanted nodes exchanged no request; NaN for fewer than two nodes."""
    answers, wanted, nodes = _by_node(inputs, "answers"), _wanted(inputs), _running(inputs)
    if len(wanted) < 2:
        return math.nan
    good = {
        (node, a["node"])
        for node, given in answers.items()
        for a in given
        if _reached(a) and a["url"].startswith(f"http://{nodes.get(a['node'])}:")
    }
    return float(sum((a, b) not in good for a in wanted for b in wanted if a != b))


@extractor()
def kube_endpoints(inputs: Inputs, params: Params) -> float:
    """Return the least share, over the wanted nodes, of all pods that answered at ``url``."""
    answers, pods = _by_node(inputs, "answers"), set(_running(inputs))
    if not pods:
        return math.nan
    seen = [
        {a["node"] for a in answers.get(n, []) if a["url"] == params["url"] and _reached(a)}
        for n in _wanted(inputs)
    ]
    return min(len(s & pods) / len(pods) for s in seen)


@extractor()
def kube_reached(inputs: Inputs, params: Params) -> float:
    """Return the share of wanted nodes from which every request to ``url`` (and ``host``) was answered by a pod."""
    return _all_of(inputs, params, _reached)


@extractor()
def kube_refused(inputs: Inputs, params: Params) -> float:
    """Return the share of wanted nodes that asked ``url``, and no request got any answer."""
    return _all_of(inputs, params, lambda a: a["status"] == 0 and bool(a["error"]))


@extractor()
def kube_status(inputs: Inputs, params: Params) -> float:
    """Return the share of wanted nodes that got ``status`` for every request to ``url`` with ``host``."""
    return _all_of(inputs, params, lambda a: a["status"] == params["status"])


def _all_of(inputs: Inputs, params: Params, good: Callable[[Mapping[str, Any]], bool]) -> float:
    answers, wanted, host = _by_node(inputs, "answers"), _wanted(inputs), params.get("host", "")
    given = [
        [a for a in answers.get(n, []) if (a["url"], a["host"]) == (params["url"], host)] for n in wanted
    ]
    return sum(bool(g) and all(map(good, g)) for g in given) / len(wanted)


@extractor()
def kube_resolves(inputs: Inputs, params: Params) -> float:
    """Return the share of wanted nodes whose pod got ``rcode`` and exactly ``addresses`` for ``name``.

    ``addresses`` are separated by commas; ``pods`` means those of all ready pods.
    """
    names, wanted = _by_node(inputs, "names"), _wanted(inputs)
    text = str(params["addresses"])
    addresses = sorted(_running(inputs).values()) if text == "pods" else sorted(filter(None, text.split(",")))
    if text == "pods" and not addresses:
        return math.nan
    given = [names.get(n, {}).get(params["name"], {}) for n in wanted]
    good = [g.get("rcode") == params["rcode"] and sorted(g["addresses"]) == addresses for g in given]
    return float(sum(good) / len(wanted))


@extractor()
def kube_starts(inputs: Inputs, params: Params) -> float:
    """Return the quantile ``q`` (nearest rank) of seconds from creation to running.

    A pod that never ran counts as long as was waited.
    """
    doc = _doc(inputs, "doc")
    return percentile(Counter(s["running_s"] or doc["limit_s"] for s in doc["starts"]), float(params["q"]))


@extractor()
def kube_never_ran(inputs: Inputs, params: Params) -> float:
    """Return how many of the pods never ran, NaN for none made."""
    doc = _doc(inputs, "doc")
    return float(sum(s["running_s"] is None for s in doc["starts"])) if doc["starts"] else math.nan


@extractor()
def kube_requests(inputs: Inputs, params: Params) -> float:
    """Return the quantile ``q`` of the seconds that requests of ``kind`` took."""
    return percentile(Counter(_doc(inputs, "doc")["seconds"][params["kind"]]), float(params["q"]))


@extractor()
def kube_request_count(inputs: Inputs, params: Params) -> float:
    """Return how many requests were timed."""
    return float(sum(map(len, _doc(inputs, "doc")["seconds"].values())))


@extractor()
def kube_count(inputs: Inputs, params: Params) -> float:
    """Return the length of the list at ``key`` of the document in group ``doc``."""
    return float(len(_doc(inputs, "doc")[params["key"]]))


@extractor()
def kube_gpus(inputs: Inputs, params: Params) -> float:
    """Return how many cards the container of ``pod`` has.

    Of its device files, those that it may open, and what nvidia-smi lists (which may be missing in a container without
    cards) it is the number furthest from ``wanted``.
    """
    (report,) = (d for d in _lines(inputs) if d["pod"] == params["pod"])
    counts = [len(report["devices"]), len(report["opens"])]
    if report["listed"] is not None:
        counts.append(report["listed"])
    elif params["wanted"]:
        return math.nan
    return float(max(counts, key=lambda n: abs(n - float(params["wanted"]))))


def _containers(inputs: Inputs) -> list[tuple[str, Any]]:
    pods = _doc(inputs, "pods")["items"]
    return [(p["metadata"]["name"], s) for p in pods for s in p["status"].get("containerStatuses", [])]


@extractor()
def kube_killed(inputs: Inputs, params: Params) -> float:
    """Return 1 if the container ``container`` was ended for its memory, else 0.

    Docker of 2021 sometimes sees the end of a container before the kernel's word about its memory, and says only that it was
    killed (137): then the kernel must name its control group.
    """
    found = [s for _, s in _containers(inputs) if s["name"] == params["container"]]
    ends = [s["state"].get("terminated", {}) for s in found]
    if len(ends) != 1:
        return 0.0
    named = found[0].get("containerID", "").rpartition("/")[2]
    report = bool(named) and ends[0].get("exitCode") == 137 and named in "".join(inputs.get("kernel", []))
    return float(ends[0].get("reason") == "OOMKilled" or report)


@extractor()
def kube_harmed(inputs: Inputs, params: Params) -> float:
    """Return how many other containers than ``container`` are not running, or were started again."""
    others = [s for _, s in _containers(inputs) if s["name"] != params["container"]]
    if not others:
        return math.nan
    return float(sum("running" not in s["state"] or s["restartCount"] > 0 for s in others))


@extractor()
def kube_gap(inputs: Inputs, params: Params) -> float:
    """Return the longest time, milliseconds, in which the neighbour did nothing."""
    return max(float(d["worst_gap_s"]) for d in _lines(inputs)) * 1000


def _streams(inputs: Inputs, params: Params) -> list[Any]:
    """Return what came of the connections of ``kind`` to ``port``."""
    wanted = (params["kind"], params["port"])
    return [s for d in _lines(inputs) for s in d["streams"] if (s["kind"], s["port"]) == wanted]


@extractor()
def kube_streams(inputs: Inputs, params: Params) -> float:
    """Return the share of connections to a pod that brought back all ``messages``; NaN for none opened."""
    found = _streams(inputs, params)
    good = [bool(s["pod"]) and not s["error"] and s["echoed"] == params["messages"] for s in found]
    return sum(good) / len(good) if good else math.nan


@extractor()
def kube_stream_pods(inputs: Inputs, params: Params) -> float:
    """Return the share of the ready pods that answered a connection."""
    ready = {
        p["metadata"]["name"]
        for p in _doc(inputs, "pods")["items"]
        if all(s["ready"] for s in p["status"].get("containerStatuses", []) or [{"ready": False}])
    }
    return len(ready & {s["pod"] for s in _streams(inputs, params)}) / len(ready) if ready else math.nan


@extractor()
def kube_streams_refused(inputs: Inputs, params: Params) -> float:
    """Return the share of connections that were tried and got no connection; NaN for none tried."""
    found = _streams(inputs, params)
    return sum(not s["connected"] for s in found) / len(found) if found else math.nan


@extractor()
def kube_in_range(inputs: Inputs, params: Params) -> float:
    """Return 1 if the service has exactly one address, of ``first`` to ``last``, else 0."""
    given = _doc(inputs, "doc")["status"].get("loadBalancer", {}).get("ingress") or []
    ends = [IPv4Address(str(params[k])) for k in ("first", "last")]
    return float(len(given) == 1 and ends[0] <= IPv4Address(given[0].get("ip", "0.0.0.0")) <= ends[1])  # noqa: S104
