"""An API server that keeps quotas and disruption budgets, and kubelets that tell what they run with.

`kubelimits.py` itself asks it, so what the suite's checks read is what the tool prints.
"""

import contextlib
import io
import json
import shlex
import sys
import threading
from importlib import util
from pathlib import Path

import avadm_validation

ONE = threading.Lock()
TOOLS = Path(avadm_validation.__file__).parent / "tools"
KEPT = {
    "systemReserved": {"cpu": "50m", "memory": "64Mi"},
    "kubeReserved": {"cpu": "50m", "memory": "64Mi"},
    "evictionHard": {"memory.available": "100Mi", "nodefs.available": "1%"},
}
AMOUNTS = {
    "capacity": {"cpu": "2", "memory": "1048576Ki"},
    "allocatable": {"cpu": "1900m", "memory": "815104Ki"},
}
"""What a node has, and that without what KEPT keeps back."""


def tool():
    """Return the module `kubelimits.py`, as it lies beside `kubeload.py` on a master."""
    sys.path.insert(0, str(TOOLS))
    try:
        spec = util.spec_from_file_location("kubelimits", TOOLS / "kubelimits.py")
        module = util.module_from_spec(spec)
        spec.loader.exec_module(module)
        module.QUIET_S = 0
        return module
    finally:
        sys.path.remove(str(TOOLS))


def soon(job):
    """Return a job whose limit no test waits for: what does not answer here never will."""
    return {**job, "limit_s": min(job["limit_s"], 2)}


def amount(text):
    """Return thousandths of a core, or MiB."""
    return int(text.removesuffix("m").removesuffix("Mi"))


class FakeApi:
    """A good API server; the attributes are what faults change."""

    def __init__(self):
        self.enforced, self.unknown, self.returns = {"cpu", "memory", "must"}, False, True
        self.forbidden = False
        self.budget_kept = self.grants = True
        self.kept, self.silent = {}, set()
        self.hard, self.quota_pods, self.pods, self.made = {}, {}, {}, 0

    def run(self, node, command):
        """Do what the tool would do on the master."""
        printed, line = shlex.split(command.partition(" | ")[0]), shlex.split(command)[-1]
        out = io.StringIO()
        # Checks that run at the same time share this process' standard output.
        with ONE, contextlib.redirect_stdout(out):
            getattr(tool(), shlex.split(line)[-1])(self, soon(json.loads(printed[-1])))
        return out.getvalue()

    def ask(self, method, path, body=None):
        """Answer one request, as `kubeload.Api.ask`."""
        last = path.rpartition("/")[2].partition("?")[0]
        if "/nodes/" in path:
            return self.configz(path.split("/")[4])
        if last == "eviction":
            return self.evict(body["metadata"]["name"])
        if method == "POST" and last == "resourcequotas":
            self.hard[body["metadata"]["name"]] = body["spec"]["hard"]
            return 201, body
        if method == "GET" and "resourcequotas/" in path:
            return 200, {"status": {"hard": self.hard[last], "used": self.used()}}
        if method == "GET" and "poddisruptionbudgets/" in path:
            return 200, {"status": {"disruptionsAllowed": max(0, len(self.ready()) - 1)}}
        if method == "POST" and last == "deployments":
            self.pods = {"evict-a": True, "evict-b": True}
            return 201, body
        if last == "pods":
            return self.admit(body) if method == "POST" else (200, {"items": self.listed()})
        if method == "DELETE" and self.returns:
            self.quota_pods.pop(last)
        return 201 if method == "POST" else 200, {}

    def used(self):
        """Return what a quota counts."""
        sums = {"cpu": 0, "memory": 0}
        for asks in self.quota_pods.values():
            for k, v in asks.items():
                sums[k] += amount(v)
        units = {"cpu": "m", "memory": "Mi"}
        return {f"requests.{k}": f"{v}{units[k]}" if v else "0" for k, v in sums.items()}

    def admit(self, pod):
        """Take a pod or refuse it."""
        asks = pod["spec"]["containers"][0]["resources"].get("requests", {})
        if self.forbidden:
            return 403, {"reason": "Forbidden", "message": "pods is forbidden: User cannot create pods"}
        if self.unknown:
            return 403, {"reason": "Forbidden", "message": "status unknown for quota: accept"}
        if not asks and "must" in self.enforced:
            return 403, {"message": "failed quota: accept: must specify requests.cpu,requests.memory"}
        for kind, text in asks.items():
            left = amount(self.hard["accept"][f"requests.{kind}"]) - amount(self.used()[f"requests.{kind}"])
            if kind in self.enforced and amount(text) > left:
                return 403, {"message": f"exceeded quota: accept, requested: requests.{kind}={text}"}
        self.quota_pods[pod["metadata"]["name"]] = asks
        return 201, pod

    def ready(self):
        return [n for n, ready in self.pods.items() if ready]

    def listed(self):
        """Return the pods; what was made for an evicted one is ready the next time."""
        found = [
            {"metadata": {"name": n}, "status": {"containerStatuses": [{"ready": ready}]}}
            for n, ready in self.pods.items()
        ]
        self.pods = dict.fromkeys(self.pods, True)
        return found

    def evict(self, name):
        """Grant an eviction or refuse it."""
        gives = len(self.ready()) > 1 or not self.budget_kept
        if not (gives and self.grants):
            cause = {"message": "The disruption budget evict needs 1 healthy pods and has 1 currently"}
            return 429, {
                "reason": "TooManyRequests",
                "message": "Cannot evict",
                "details": {"causes": [cause]},
            }
        self.made += 1
        self.pods.pop(name, None)
        self.pods[f"evict-new{self.made}"] = False
        return 201, {"status": "Success"}

    def configz(self, node):
        if node in self.silent:
            return 503, {"message": "Error: 'dial tcp: connection refused'"}
        return 200, {"kubeletconfig": {**KEPT, **self.kept.get(node, {}), "maxPods": 110}}
