"""What the doctor asks of Kubernetes' masters: servers, nodes, pods, events, admission."""

from __future__ import absolute_import

import json
import re
import time

from .kubectl import kubectl, listed, moment
from .system import LONG_LINE, Failed, fetch, slurp

POD_FIELDS = 300  # troubled pods that are reported
WAITING = 120  # seconds after which a pod that does not run, or has not ended after its grace period, is worth telling
SETTLING = 10  # seconds of a new pod that tell of nothing: in a rollout a container may fail once before what it needs is there


def servers(params):
    """Server of this master to what it says of its health, "ok" where it is well."""
    found = {}
    try:
        own = "--server=https://%s:6443" % params["address"]
        found["kube-apiserver"] = kubectl(own, "get", "--raw=/healthz").strip()
    except Failed as error:
        found["kube-apiserver"] = str(error)
    for name, port in (("kube-controller-manager", 10252), ("kube-scheduler", 10251)):
        try:
            found[name] = fetch("http://127.0.0.1:%d/healthz" % port).strip()
        except Failed as error:
            found[name] = str(error)
    return found


def haproxy(_):
    """Seconds after which haproxy ends a connection on which nothing is stated: of clients and of servers."""
    text = slurp("/etc/haproxy/haproxy.cfg")
    if text is None:
        return {}
    unit = {"": 0.001, "ms": 0.001, "s": 1, "m": 60, "h": 3600, "d": 86400}
    rows = re.findall(r"^\s*timeout\s+(client|server|tunnel)\s+(\d+)(ms|s|m|h|d)?\s*$", text, re.M)
    return dict((kind, int(amount) * unit[u]) for kind, amount, u in rows)


def kubernetes(params):
    """Nodes with their conditions, pods in trouble, how many pods each node has, late warnings, and since when all exists."""
    now = time.time()
    nodes = json.loads(kubectl("get", "--raw=/api/v1/nodes"))["items"]
    pods = json.loads(kubectl("get", "--raw=/api/v1/pods"))["items"]
    events = json.loads(kubectl("get", "--raw=/api/v1/events?fieldSelector=type%3DWarning"))["items"]
    origin = json.loads(kubectl("get", "--raw=/api/v1/namespaces/kube-system"))
    counts = {}
    for p in pods:
        row = counts.setdefault(p["spec"].get("nodeName", ""), {"pods": 0, "addressed": 0, "gpus": 0})
        over = p["status"].get("phase") in ("Succeeded", "Failed")
        if not over:
            row["pods"] += 1
            row["addressed"] += bool(p["status"].get("podIP")) and not p["spec"].get("hostNetwork", False)
            row["gpus"] += sum(asked_gpus(c) for c in p["spec"]["containers"])
    reports = [row for row in (pod_trouble(p, now) for p in pods) if row]
    return {
        "version": json.loads(kubectl("get", "--raw=/version"))["gitVersion"].lstrip("v"),
        "since": moment(origin["metadata"]["creationTimestamp"]),
        "nodes": dict((n["metadata"]["name"], node_state(n)) for n in nodes),
        "counts": counts,
        "pods": reports[:POD_FIELDS],
        "troubled": len(reports),
        "events": warnings(events, now - params["window"]),
    }


def admission(_):
    """What the API server asks before it admits an object: our webhooks, our policy of pods, namespaces passed over."""
    hooks = "/apis/admissionregistration.k8s.io/v1beta1/validatingwebhookconfigurations"
    passed = "/api/v1/namespaces?labelSelector=avadm.io%2Fadmission%3Dnone"
    found = [o for o in listed(hooks) if o["metadata"]["name"] == "avadm-admission"]
    policies = listed("/apis/extensions/v1beta1/podsecuritypolicies")
    return {
        "webhooks": dict((w["name"], webhook(w)) for o in found for w in o.get("webhooks") or []),
        "policies": dict((p["metadata"]["name"], p["spec"]) for p in policies),
        "passed": sorted(n["metadata"]["name"] for n in listed(passed)),
        "shared_hosts": shared_hosts(listed("/apis/extensions/v1beta1/ingresses")),
    }


def shared_hosts(ingresses):
    """Host to the Ingresses of several namespaces that name it, oldest first; without those that have router.priority."""
    found = {}
    for one in ingresses:
        meta = one["metadata"]
        if "traefik.ingress.kubernetes.io/router.priority" in (meta.get("annotations") or {}):
            continue
        key = [meta.get("creationTimestamp", ""), meta["namespace"], meta["name"]]
        for rule in one["spec"].get("rules") or []:
            found.setdefault((rule.get("host") or "").lower(), []).append(key)
    found.pop("", None)
    several = dict((h, sorted(keys)) for h, keys in found.items() if len(set(k[1] for k in keys)) > 1)
    return dict((h, ["%s/%s" % (k[1], k[2]) for k in keys]) for h, keys in several.items())


def webhook(one):
    """Return what matters of a webhook; what the API leaves out is what it takes then."""
    return {
        "policy": one.get("failurePolicy", "Ignore"),
        "url": one.get("clientConfig", {}).get("url", ""),
        "selector": one.get("namespaceSelector") or {},
        "rules": one.get("rules") or [],
    }


def asked_gpus(container):
    """Return how many GPUs a container asks for."""
    return int(container.get("resources", {}).get("limits", {}).get("nvidia.com/gpu", 0))


def node_state(node):
    """Return what matters of a node."""
    status = node["status"]
    return {
        "conditions": dict(
            (c["type"], [c["status"], c.get("message", "")[:LONG_LINE]]) for c in status["conditions"]
        ),
        "kubelet": status["nodeInfo"]["kubeletVersion"].lstrip("v"),
        "cordoned": bool(node["spec"].get("unschedulable")),
        "gpus": int(status.get("allocatable", {}).get("nvidia.com/gpu", 0)),
    }


def pod_trouble(pod, now):
    """Return what is wrong with a pod; None where nothing is."""
    meta, status = pod["metadata"], pod["status"]
    began = moment(status.get("startTime") or meta["creationTimestamp"]) or now
    row = {"namespace": meta["namespace"], "name": meta["name"], "node": pod["spec"].get("nodeName", "")}
    row.update(
        {"phase": status.get("phase", ""), "reason": status.get("reason", ""), "age_s": int(now - began)}
    )
    row.update(
        {
            "restarts": 0,
            "waiting": "",
            "message": status.get("message", "")[:LONG_LINE],
            "killed": "",
            "late_s": 0,
        }
    )
    for c in status.get("containerStatuses", []) + status.get("initContainerStatuses", []):
        row["restarts"] = max(row["restarts"], c.get("restartCount", 0))
        waiting = c.get("state", {}).get("waiting") or {}
        row["waiting"] = row["waiting"] or waiting.get("reason", "")
        row["message"] = row["message"] or waiting.get("message", "")[:LONG_LINE]
        ended = c.get("lastState", {}).get("terminated") or c.get("state", {}).get("terminated") or {}
        row["killed"] = row["killed"] or ("OOMKilled" if ended.get("reason") == "OOMKilled" else "")
    for c in status.get("conditions", []):
        if c["status"] == "False" and c["type"] == "PodScheduled":
            row["message"], row["waiting"] = c.get("message", "")[:LONG_LINE], c.get("reason", "")
    if meta.get("deletionTimestamp"):
        # Its containers go one after another, and kubelet calls it Pending (ContainerCreating) when the last is gone: no trouble
        # before it is late. deletionTimestamp is the end of its grace period. Unknown is a node that says nothing any more.
        row["late_s"] = max(0, int(now - (moment(meta["deletionTimestamp"]) or now)))
        if row["phase"] != "Unknown":
            return row if row["late_s"] > WAITING else None
    stuck = row["phase"] in ("Pending", "Unknown") and row["age_s"] > WAITING
    starts = ("", "ContainerCreating", "PodInitializing", "Unschedulable")
    ill = row["waiting"] not in starts and row["age_s"] > SETTLING
    ill = ill or row["reason"] == "Evicted" or bool(row["killed"])
    return row if stuck or ill or row["late_s"] > WAITING else None


def warnings(events, since):
    """Return reason to count, last message and object of warnings since a moment, of those reasons that tell of trouble."""
    found = {}
    for e in events:
        at = moment(e.get("lastTimestamp"))
        if at is None or at < since:
            continue
        row = found.setdefault(e.get("reason", ""), {"count": 0, "message": "", "object": "", "at": 0})
        row["count"] += 1
        if at >= row["at"]:
            about = e["involvedObject"]
            row["object"] = "%s %s/%s" % (about.get("kind"), about.get("namespace", ""), about.get("name"))
            row["message"], row["at"] = e.get("message", "")[:LONG_LINE], at
    return found
