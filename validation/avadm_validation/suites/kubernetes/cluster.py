"""The cluster as the checks use it: kubectl on a master, pods that ask one another, and nothing left at the end."""

from __future__ import annotations

import json
import shlex
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from avadm_validation.measuring.context import Context, MeasureError, Outcome
from avadm_validation.measuring.machine import patience
from avadm_validation.measuring.targets import KubeTarget
from avadm_validation.protocol.model import Verdict
from avadm_validation.suites.kubernetes import objects as o

IMAGE = "image of the pods"
"""Under which the preconditions leave the image for the checks."""
AT_ONCE = 16
"""How many pods are entered at a time: each kubectl takes some 30 MB on the master."""
_MAKING = threading.Lock()
"""Held while what several checks share is made."""
SWEEP = """
gone() {{ [ -z "$(kubectl get namespaces -o name {names} --ignore-not-found 2>&1)" ]; }}
kubectl delete namespace {names} --ignore-not-found >&2
end=$(($(date +%s) + {seconds}))
until gone || [ "$(date +%s)" -ge $end ]; do sleep 0.5; done
kubectl get namespaces -o name {names} --ignore-not-found
"""


def patient(job: Any) -> Any:
    """Return a tool's job, or jobs, with longer limits of single requests on a busy machine.

    Requests that are to be refused wait as long as the others: a slow answer would pass for a refusal.
    """
    if isinstance(job, list):
        return [patient(one) for one in job]
    return {**job, "timeout": round(job["timeout"] * patience(), 1)} if "timeout" in job else job


class Cluster:
    """One check's way to the cluster.

    Args:
        ctx: the check's view of the run.
    """

    def __init__(self, ctx: Context) -> None:
        if ctx.target.kube is None:
            raise MeasureError("the site has no Kubernetes")
        self.ctx = ctx
        # By digest once the preconditions have asked for it, so that every node runs the same image.
        self.kube: KubeTarget = replace(ctx.target.kube, image=ctx.shared.get(IMAGE, ctx.target.kube.image))
        self.wanted = ctx.rec.save("wanted.json", json.dumps(self.kube.nodes))

    @property
    def folder(self) -> str:
        """Folder of the tools on the nodes that need some."""
        return self.ctx.tools

    def run(self, command: str, name: str, timeout: float = 60) -> str:
        """Run a command on the master; return its raw file; MeasureError where it fails."""
        done = self.ctx.rec.run(self.kube.master, command, name, timeout=timeout)
        self.ctx.must(done)
        # What printed nothing has no raw file: an earlier one must not stand for it.
        return self.ctx.rec.last(self.kube.master) if done.stdout else self.ctx.rec.save(f"{name}.empty", "")

    def ctl(self, arguments: str, name: str) -> str:
        """Run kubectl; return its raw file."""
        return self.run(f"kubectl --request-timeout=30s {arguments}", name)

    def apply(self, *objects: dict[str, Any]) -> None:
        """Make or change objects."""
        text = json.dumps({"apiVersion": "v1", "kind": "List", "items": objects})
        self.run(f"kubectl apply -f - <<'END'\n{text}\nEND", "apply")

    def quietly(self, arguments: str) -> Any:
        """Return what ``kubectl get -o json`` says, without keeping it (to wait for something); {} where it fails."""
        done = self.ctx.rec.fleet.run(self.kube.master, f"kubectl --request-timeout=10s {arguments} -o json")
        return json.loads(done.stdout) if done.rc == 0 else {}

    def wait(self, true: Callable[[], bool], seconds: float) -> bool:
        """Wait until something is true; return whether it became so; on a busy machine the time is longer."""
        begun = time.monotonic()
        while not true():
            if time.monotonic() > begun + seconds * patience():
                return False
            time.sleep(0.5)
        return True

    def pods(self, selector: str = "app=echo", space: str = o.SPACE) -> str:
        """Return the raw file of pods."""
        return self.ctl(f"get pods -n {space} -l {selector} -o json", "pods")

    def echo(self) -> dict[str, tuple[str, str]]:
        """Have a serving pod on every node and a service of them; return node to (pod, address) of those that run."""
        with _MAKING:
            if not self.ctx.shared.get("echo"):
                self.ctx.step("start a pod on every node")
                self.apply(o.everywhere(self.kube), o.service("echo"), o.service("heads", clusterIP="None"))
                self.wait(lambda: len(self._up()) == len(self.kube.nodes), float(self.ctx.params["ready_s"]))
                self.ctx.shared["echo"] = True
        found = self._up()
        if not found:
            raise MeasureError(f"no pod runs: kubectl describe pods -n {o.SPACE}")
        return found

    def streamers(self) -> None:
        """Have two pods that serve connections that stay open, and their service."""
        with _MAKING:
            if self.ctx.shared.get("stream"):
                return
            ports = [{"port": 80, "targetPort": o.STREAM_PORTS["websocket"]}]
            self.apply(o.streamers(self.kube), o.service("stream", selector=o.STREAM, ports=ports))
            get = f"get deployment -n {o.SPACE} stream"
            seconds = float(self.ctx.params["ready_s"])
            if not self.wait(lambda: self.quietly(get).get("status", {}).get("readyReplicas") == 2, seconds):
                why = f"the pods of {o.SPACE}/stream do not run: kubectl describe pods -n {o.SPACE}"
                raise MeasureError(why)
            self.ctx.shared["stream"] = True

    def no_outside_client(self, remedy: str) -> Outcome:
        """Return what a check from outside says at a site where every node is part of the cluster."""
        why = "every node is part of the cluster: nothing can ask from outside"
        return Outcome(method="", verdict=Verdict.BLOCKED, reasons=[why], remedy=remedy)

    def limits(self, command: str, job: Any, timeout: float) -> str:
        """Run a command of `kubelimits.py` on the master with its job; return its raw file."""
        tool = shlex.quote(self.ctx.tool("kubelimits.py", command))
        return self.run(f"printf %s {shlex.quote(json.dumps(job))} | sh -c {tool}", command, timeout=timeout)

    def outside(self, script: str, command: str, job: Any, timeout: float) -> str:
        """Run a tool on the node outside the cluster; return its raw file; MeasureError where it fails.

        Limits of single requests and the whole limit are longer on a busy machine.
        """
        line = f"export NODE={shlex.quote(self.kube.outside)}; " + self.ctx.tool(
            script, command, json.dumps(patient(job))
        )
        done = self.ctx.rec.run(self.kube.outside, line, "outside", timeout=timeout * patience())
        if done.rc:
            raise MeasureError(f"{self.kube.outside}: {done.stderr.strip() or done.error}")
        return self.ctx.rec.last(self.kube.outside)

    def outside_quietly(self, script: str, command: str, job: Any, timeout: float) -> str:
        """Return what a tool says on the node outside, without keeping it (to wait for something)."""
        line = f"export NODE=outside; {self.ctx.tool(script, command, json.dumps(job))}"
        return str(self.ctx.rec.fleet.run(self.kube.outside, line, timeout=timeout).stdout)

    def _up(self) -> dict[str, tuple[str, str]]:
        found = {}
        for pod in self.quietly(f"get pods -n {o.SPACE} -l app=echo").get("items", []):
            states = pod["status"].get("containerStatuses", [])
            if pod["status"].get("phase") == "Running" and states and states[0]["ready"]:
                found[pod["spec"]["nodeName"]] = (pod["metadata"]["name"], pod["status"]["podIP"])
        return found

    def address(self, service: str) -> str:
        """Return a service's address."""
        return str(self.quietly(f"get service -n {o.SPACE} {service}")["spec"]["clusterIP"])

    def inside(
        self, pods: Sequence[str], name: str, command: str, job: dict[str, Any], space: str = o.SPACE
    ) -> str:
        """Run the program in pods, some at once; return the raw file with a line of each (what failed has none).

        Limits of single requests and the whole limit are longer on a busy machine.
        """
        line = f"python3 {o.PROGRAM} {command} {shlex.quote(json.dumps(patient(job)))}"
        # Each pod's output has a file of its own, so that lines of two cannot mix.
        one = shlex.quote(f'kubectl exec -n {space} % -- {line} > "$0"/% 2>&1 || true')
        script = (
            f"d=$(mktemp -d); printf '%s\\n' {' '.join(pods)} | xargs -P {AT_ONCE} -I% sh -c {one} $d; "
            "cat $d/*; rm -rf $d"
        )
        seconds = 120 + float(self.ctx.params.get("timeout_s", 5)) * 4
        return self.run(script, name, timeout=seconds * patience())

    def prepare(self) -> None:
        """Make the namespaces with the pods' program, and wait until pods may be made there."""
        self.apply(*(f(space) for space in o.SPACES for f in (o.namespace, o.program)))
        for space in o.SPACES:
            there = f"get serviceaccount -n {space} default"
            if not self.wait(lambda there=there: bool(self.quietly(there)), 30):  # type: ignore[misc]
                raise MeasureError(f"namespace {space} has got no service account")

    def sweep(self, seconds: float) -> list[str]:
        """Remove the namespaces; return what stayed, in sentences. Nothing is raised."""
        line = SWEEP.format(names=" ".join(o.SPACES), seconds=int(seconds))
        done = self.ctx.rec.run(self.kube.master, line, "sweep", timeout=seconds + 60)
        if done.rc or done.error:
            return [f"{done.node}: could not be cleaned up: {done.error or done.stderr.strip()}"]
        return [
            f"{n} is still there; `kubectl describe namespace` says why" for n in done.stdout.split("\n") if n
        ]
