#!/usr/bin/env python
"""Limits of Kubernetes, tried: quotas, evictions, and what kubelets keep back. Runs on a master; Python 2.7 and 3.

Each command reads its job (JSON) from standard input. `quota` and `evict` print one JSON document, `kubelets` a line for
each node.
"""

from __future__ import print_function

import json
import sys
import time

from kubeload import Api

PAUSE_S = 0.2
QUIET_S = 3
UNKNOWN = "status unknown for quota"
KEPT = ("evictionHard", "kubeReserved", "systemReserved")


def until(true, end):
    """Wait until something is true, or the time is over; return what it was last."""
    while True:
        found = true()
        if found or time.time() > end:
            return found
        time.sleep(PAUSE_S)


def record(name, status, answer):
    return {
        "name": name,
        "status": status,
        "reason": answer.get("reason") or "",
        "message": answer.get("message") or "",
        "causes": [c.get("message", "") for c in (answer.get("details") or {}).get("causes") or []],
    }


def ask_for(api, path, pod, end):
    """Ask for a pod; again while an API server has not heard what is used of the quota."""
    while True:
        status, answer = api.ask("POST", path, pod)
        answer = record(pod["metadata"]["name"], status, answer)
        if UNKNOWN not in answer["message"] or time.time() > end:
            return answer
        time.sleep(PAUSE_S)


def quota(api, job):
    """Make quotas, ask for pods one after another, delete them; note the answers and what the first quota counted."""
    space = "/api/v1/namespaces/%s" % job["namespace"]
    quotas, made = space + "/resourcequotas", []
    for one in job["quotas"]:
        status, answer = api.ask("POST", quotas, one)
        made.append(record(one["metadata"]["name"], status, answer))
    path = quotas + "/" + job["quotas"][0]["metadata"]["name"]
    end = time.time() + job["limit_s"]

    def counted():
        return api.ask("GET", path)[1].get("status") or {}

    until(lambda: counted().get("hard") == job["quotas"][0]["spec"]["hard"], end)
    answers = [ask_for(api, space + "/pods", pod, end) for pod in job["pods"]]
    used = counted().get("used") or {}
    now = {"kind": "DeleteOptions", "apiVersion": "v1", "gracePeriodSeconds": 0}
    for answer in answers:
        if answer["status"] == 201:
            api.ask("DELETE", space + "/pods/" + answer["name"], now)
    begun = time.time()
    freed = until(lambda: set((counted().get("used") or {"": ""}).values()) == {"0"}, begun + job["limit_s"])
    freed_s = round(time.time() - begun, 2) if freed else None
    print(json.dumps({"quotas": made, "answers": answers, "used": used, "freed_s": freed_s}))


def is_ready(pod):
    states = pod["status"].get("containerStatuses") or []
    return bool(states) and all(s["ready"] for s in states) and not pod["metadata"].get("deletionTimestamp")


class Evictions(object):
    """Pods of a deployment whose budget lets one be missing.

    Args:
        api: the way to the API server.
        job: namespace, label (of the pods), deployment, budget, limit_s.
    """

    def __init__(self, api, job):
        self.api, self.job = api, job
        self.space = "/api/v1/namespaces/%s/pods" % job["namespace"]
        self.end = time.time() + job["limit_s"]
        self.made, self.tries, self.seen, self.granted, self.gone = [], [], [], {}, {}

    def make(self):
        """Make budget and deployment; return the names of its pods once one may be missing."""
        where = self.job["namespace"]
        budgets = "/apis/policy/v1beta1/namespaces/%s/poddisruptionbudgets" % where
        deployments = "/apis/apps/v1/namespaces/%s/deployments" % where
        self.budget = budgets + "/" + self.job["budget"]["metadata"]["name"]
        for kind, path in (("budget", budgets), ("deployment", deployments)):
            status, answer = self.api.ask("POST", path, self.job[kind])
            self.made.append(record(kind, status, answer))
        until(self.gives, self.end)
        self.settle()
        return sorted(n for n, p in (self.pods() or {}).items() if is_ready(p))

    def settle(self):
        """Wait until no one has written the budget for some seconds.

        The controller of 1.9 that is counting when a pod is evicted writes its older count over the eviction's.
        """
        version, since = None, time.time()
        while time.time() < self.end and time.time() - since < QUIET_S:
            found = (self.api.ask("GET", self.budget)[1].get("metadata") or {}).get("resourceVersion")
            if found != version:
                version, since = found, time.time()
            time.sleep(PAUSE_S)

    def gives(self):
        """Tell whether the budget lets a pod be missing now."""
        status = self.api.ask("GET", self.budget)[1].get("status") or {}
        return status.get("disruptionsAllowed", 0) > 0

    def pods(self):
        """Return the pods by name; None where the API server did not say."""
        status, found = self.api.ask("GET", "%s?labelSelector=%s" % (self.space, self.job["label"]))
        return {p["metadata"]["name"]: p for p in found["items"] or []} if status == 200 else None

    def look(self):
        """Note which pods are ready, and which of those that were evicted are gone."""
        pods = self.pods()
        if pods is None:  # an API server that does not answer is no pod that is gone
            return
        self.seen.append(sorted(n for n, p in pods.items() if is_ready(p)))
        for name, when in self.granted.items():
            if name not in pods:
                self.gone.setdefault(name, round(time.time() - when, 2))

    def evict(self, name):
        """Ask for an eviction; note the answer."""
        meta = {"name": name, "namespace": self.job["namespace"]}
        body = {"apiVersion": "policy/v1beta1", "kind": "Eviction", "metadata": meta}
        status, answer = self.api.ask("POST", "%s/%s/eviction" % (self.space, name), body)
        self.tries.append(record(name, status, answer))
        if status == 201:
            self.granted[name] = time.time()

    def run(self):
        """Evict one pod, at once another, and that again when the budget gives; return what came of it."""
        pods, beside = self.make(), 0
        if len(pods) > 1:
            self.evict(pods[0])
            self.evict(pods[1])
            until(lambda: self.look() or self.gives(), self.end)
            beside = len(self.seen)
            self.evict(pods[1])
            until(lambda: self.look() or len(self.gone) == len(self.granted), self.end)
        found = {"made": self.made, "pods": pods, "tries": self.tries, "gone_s": self.gone}
        # `beside`: how many of the looks were before the second grant.
        return dict(found, seen=self.seen, beside=beside)


def evict(api, job):
    print(json.dumps(Evictions(api, job).run()))


def kubelets(api, job):
    """Show what each node's kubelet really keeps back, and when it evicts; one that does not answer is asked until the limit."""
    end = time.time() + job["limit_s"]
    for node in job["nodes"]:
        path = "/api/v1/nodes/%s/proxy/configz" % node
        status, answer = api.ask("GET", path)
        while status != 200 and time.time() < end:
            time.sleep(PAUSE_S)
            status, answer = api.ask("GET", path)
        config = answer.get("kubeletconfig") or {}
        kept = {k: config.get(k) for k in KEPT} if status == 200 else None
        print(
            json.dumps({"node": node, "status": status, "kept": kept, "message": answer.get("message", "")})
        )


def main():
    {"quota": quota, "evict": evict, "kubelets": kubelets}[sys.argv[1]](Api(), json.load(sys.stdin))


if __name__ == "__main__":
    main()
