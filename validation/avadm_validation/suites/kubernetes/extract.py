"""Numbers of the Kubernetes suite from raw text: what kubectl and the pods' program printed.

Groups: ``wanted`` a JSON list of node names, ``nodes`` and ``pods`` lists of kubectl, ``answers`` lines of JSON, one of
each pod. Of volumes: ``claims``, ``volumes``, ``classes``, ``events`` lists of kubectl, ``left`` its names of volumes,
``written`` and ``read`` lines of JSON, one of each pod, ``mounts`` one of each node and volume. Of limits: ``doc`` what
`kubelimits quota` or `evict` printed, ``kept`` the lines of `kubelimits kubelets`. What is missing counts as bad; NaN where
the raw text is no document at all.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Callable, Mapping
from datetime import datetime
from ipaddress import IPv4Address
from typing import Any

from avadm_validation.measuring.extract import Inputs, Params, extractor
from avadm_validation.protocol.stats import percentile


def _doc(inputs: Inputs, group: str) -> Any:
    return json.loads(inputs[group][0])


def _wanted(inputs: Inputs) -> list[str]:
    found = [str(n) for n in _doc(inputs, "wanted")]
    if not found:
        raise ValueError("no node was asked")
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

    NaN where one reported none and no other runs with other values: then it is not known.
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
    # Memory that is set aside for huge pages is no one else's.
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
