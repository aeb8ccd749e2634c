"""Cordoning and draining nodes of Kubernetes with kubectl, on a master. Runs on nodes: python 2.7 and 3.

kubectl 1.9 evicts; what it does not do well is done here, before and after (its source: pkg/kubectl/cmd/drain.go):

- It cordons first and then refuses, and names pods without their namespace. Here nothing is cordoned where it would refuse.
- A node that could not be cordoned is an exit status of 0. Here the node is read afterwards.
- Static pods, and local data of pods that stay, are refused like those that go. Here only what would be lost is.
- While a budget keeps a pod it says nothing. Here it is asked for a short while only, and what is left is reported.
"""

from __future__ import absolute_import, division, print_function

import json
import subprocess
import time

KUBECTL = ["kubectl", "--kubeconfig", "/root/.kube/config", "--request-timeout=20s"]
MIRROR = "kubernetes.io/config.mirror"
MANAGED, RUN = "ava.io/managed", "ava.io/run"  # labels of AVA's pods
MAY_GO = (
    "cluster-autoscaler.kubernetes.io/safe-to-evict-local-volumes"  # the field's annotation: names of volumes
)
SPACE = "ava-"  # what the names of their namespaces begin with
DELETE_S = 60  # seconds of one call that asks for the end of pods
AT_ONCE = 200  # pods that one call names
SLICE = 10  # seconds that kubectl may wait before what is left is looked at again


class DrainError(Exception):
    """kubectl did not do what it was asked; the text is for people."""


def execute(argv):
    """Return (rc, stdout, stderr) of a command."""
    try:
        process = subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    except OSError as error:
        return 127, "", "%s: %s" % (argv[0], error.strerror)
    out, err = process.communicate()
    return process.returncode, out.decode("utf-8", "replace"), err.decode("utf-8", "replace")


def called(one):
    """Return NAMESPACE/NAME of an object."""
    return "%s/%s" % (one["metadata"]["namespace"], one["metadata"]["name"])


def controller(pod):
    """Return the kind of what makes a pod again, "" where nothing does."""
    owners = pod["metadata"].get("ownerReferences") or []
    return ([o["kind"] for o in owners if o.get("controller")] or [""])[0]


def stays(pod):
    """Return whether a pod is left where it is: static ones, and those of daemon sets, which would be made again."""
    return MIRROR in (pod["metadata"].get("annotations") or {}) or controller(pod) == "DaemonSet"


def without_controller(pod):
    """Return whether no one would make this pod again elsewhere; one that is done needs no one."""
    return not controller(pod) and pod["status"].get("phase") not in ("Succeeded", "Failed")


def local_volumes(pod):
    """Return the names of the volumes that go with a pod."""
    return [volume.get("name") for volume in pod["spec"].get("volumes") or [] if "emptyDir" in volume]


def with_local_data(pod):
    """Return whether a pod has a volume that goes with it, but those that its makers say may go."""
    may_go = (pod["metadata"].get("annotations") or {}).get(MAY_GO, "").split(",")
    return bool(set(local_volumes(pod)) - set(map(str.strip, may_go)))


def takes(node, pod):
    """Return whether pods of this kind may be put on a node; required affinities are not looked at."""
    ready = [c["status"] for c in (node.get("status") or {}).get("conditions") or [] if c["type"] == "Ready"]
    labels = node["metadata"].get("labels") or {}
    wanted = pod["spec"].get("nodeSelector") or {}
    taints = [t for t in node["spec"].get("taints") or [] if t.get("effect") != "PreferNoSchedule"]
    return (
        ready == ["True"]
        and not node["spec"].get("unschedulable")
        and all(labels.get(k) == v for k, v in wanted.items())
        and all(tolerates(pod, taint) for taint in taints)
    )


def tolerates(pod, taint):
    """Return whether a pod bears with a taint."""
    for one in pod["spec"].get("tolerations") or []:
        if one.get("effect") not in (None, "", taint.get("effect")):
            continue
        if one.get("operator") == "Exists":
            if one.get("key") in (None, "", taint["key"]):
                return True
        elif one.get("key") == taint["key"] and (one.get("value") or "") == (taint.get("value") or ""):
            return True
    return False


def run_of(pod):
    """Return the run of AVA that a pod says it is of, "" for none; whether there is such a run only the platform knows."""
    labels = pod["metadata"].get("labels") or {}
    ours = labels.get(MANAGED) == "true" and pod["metadata"]["namespace"].startswith(SPACE)
    return labels.get(RUN, "") if ours else ""


def selects(selector, labels):
    """Return whether the selector of a budget takes labels; an empty one takes none (policy/v1beta1)."""
    selector = selector or {}
    exact, rules = selector.get("matchLabels") or {}, selector.get("matchExpressions") or []
    if not exact and not rules:
        return False
    held = {
        "In": lambda rule: labels.get(rule["key"]) in rule["values"],
        "NotIn": lambda rule: labels.get(rule["key"]) not in rule["values"],
        "Exists": lambda rule: rule["key"] in labels,
        "DoesNotExist": lambda rule: rule["key"] not in labels,
    }
    return all(labels.get(k) == v for k, v in exact.items()) and all(held[r["operator"]](r) for r in rules)


def guards(budget, pod):
    """Return whether a budget is over a pod."""
    same = budget["metadata"]["namespace"] == pod["metadata"]["namespace"]
    return same and selects(budget["spec"].get("selector"), pod["metadata"].get("labels") or {})


def why(pod, budgets):
    """Return what a pod that is still there waits for, in words; "" where that is not seen."""
    if pod["metadata"].get("deletionTimestamp"):
        return "is ending, has %s s for it" % pod["metadata"].get("deletionGracePeriodSeconds", "?")
    for budget in budgets:
        status = budget.get("status") or {}
        if guards(budget, pod) and not status.get("disruptionsAllowed"):
            words = called(budget), status.get("currentHealthy", 0), status.get("desiredHealthy", 0)
            return "kept by budget %s: %s healthy, at least %s wanted" % words
    return ""


def delete(pods, run):
    """Ask for the end of pods, each with its own grace period, whatever budgets are over them; most of them may end already."""
    spaces = {}
    for pod in pods:
        spaces.setdefault(pod["metadata"]["namespace"], []).append(pod["metadata"]["name"])
    for space, names in sorted(spaces.items()):
        for start in range(0, len(names), AT_ONCE):
            some = names[start : start + AT_ONCE]
            argv = ["timeout", "-k", "5", str(DELETE_S)] + KUBECTL
            rc, out, err = run(argv + ["delete", "pods", "--ignore-not-found", "--namespace", space] + some)
            # Out of time: what was not asked for yet is by the next call.
            if rc not in (0, 124):
                raise DrainError("kubectl delete: %s" % (err or out).strip()[-600:])


class Drain(object):
    """One node of Kubernetes.

    Args:
        name: the node's name.
        force: whether pods without a controller may go, for good.
        delete_local_data: whether pods with data in an emptyDir may go.
        runs: whether pods that say they are of AVA's runs may go, for good.
        nowhere: whether pods that no other node takes may go against their budgets.
        run: callable(argv) -> (rc, stdout, stderr).
        nodes: all nodes of Kubernetes, where they have been read; read once where empty.
    """

    def __init__(
        self,
        name,
        force=False,
        delete_local_data=False,
        run=execute,
        clock=time.time,
        runs=False,
        nowhere=False,
        nodes=None,
    ):
        self.name, self.force, self.delete_local_data, self.runs = name, force, delete_local_data, runs
        self.nowhere, self.nodes = nowhere, nodes if nodes is not None else []
        self.run, self.clock = run, clock

    def kubectl(self, *words):
        """Return what kubectl says; DrainError where it fails."""
        rc, out, err = self.run(KUBECTL + list(words))
        if rc != 0:
            raise DrainError("kubectl %s: %s" % (words[0], (err or out).strip()[-600:]))
        return out

    def cordoned(self):
        """Return whether no new pods are put there; None where Kubernetes does not know the node."""
        text = self.kubectl("get", "node", self.name, "-o", "json", "--ignore-not-found")
        return bool(json.loads(text)["spec"].get("unschedulable")) if text.strip() else None

    def cordon(self, wanted):
        """Keep new pods from the node, or let them come again; return whether that is a change."""
        if self.cordoned() is wanted:
            return False
        verb = "cordon" if wanted else "uncordon"
        reply = self.kubectl(verb, self.name)
        if self.cordoned() is not wanted:
            raise DrainError("kubectl %s %s had no effect: %s" % (verb, self.name, reply.strip()[-600:]))
        return True

    def pods(self):
        """Return (pods that would go, pods that stay)."""
        path = "/api/v1/pods?fieldSelector=spec.nodeName%%3D%s" % self.name
        found = json.loads(self.kubectl("get", "--raw", path))["items"]
        return [p for p in found if not stays(p)], [p for p in found if stays(p)]

    def look(self):
        """Return what draining would mean, changing nothing: cordoned, going, refused (why to pods), runs (pod to AVA's run)."""
        cordoned = self.cordoned()
        going, staying = self.pods() if cordoned is not None else ([], [])
        runs = {called(p): run_of(p) for p in going if run_of(p)}
        return {
            "cordoned": cordoned,
            "going": [called(p) for p in going],
            "refused": self.refused(going),
            "runs": runs,
        }

    def refused(self, going):
        """Return what speaks against draining: ``without-controller``, ``local-data`` and ``nowhere`` to pods."""
        found = {}
        if self.runs:
            going = [p for p in going if not run_of(p)]
        if not self.force:
            found["without-controller"] = [called(p) for p in going if without_controller(p)]
        if not self.delete_local_data:
            found["local-data"] = [called(p) for p in going if with_local_data(p)]
        if not self.nowhere:
            found["nowhere"] = [called(p) for p in self.stranded(going)]
        return {reason: names for reason, names in found.items() if names}

    def stranded(self, going):
        """Return the pods that no other node takes and that their budgets keep as long as that is so."""
        if not self.nodes and any(controller(p) for p in going):
            self.nodes += json.loads(self.kubectl("get", "--raw", "/api/v1/nodes"))["items"]
        others = [n for n in self.nodes if n["metadata"]["name"] != self.name]
        alone = [p for p in going if controller(p) and not any(takes(n, p) for n in others)]
        found = []
        for budget in self.budgets() if alone else []:
            its = [p for p in alone if guards(budget, p)]
            status = budget.get("status") or {}
            if status.get("currentHealthy", 0) - len(its) < status.get("desiredHealthy", 0):
                found += [p for p in its if p not in found]
        return found

    def drain(self, seconds):
        """Cordon the node and have its pods evicted for at most so many seconds (and the last try's).

        What is refused leaves the node as it was, unless pods were evicted already.

        Returns:
            done; evicted: pods that are gone; left: pods that are not, with what each waits for; refused: see refused();
            cordoned: whether the node is cordoned now.
        """
        deadline, gone = self.clock() + seconds, set()
        going, staying = self.pods()
        if self.refused(going):
            return self.result(going, gone, self.cordoned())
        ours = self.cordon(True)
        if ours:  # what came meanwhile
            going, staying = self.pods()
        try:
            while going and not self.refused(going):
                before = set(map(called, going))
                going, staying = self.evict(going, staying, int(deadline - self.clock()))
                gone |= before - set(map(called, going))
                if self.clock() >= deadline:
                    break
        except DrainError:
            self.undo(ours, gone)
            raise
        undone = bool(self.refused(going)) and self.undo(ours, gone)
        return self.result(going, gone, not undone)

    def undo(self, ours, gone):
        """Let pods come again where it was us who kept them off, and none had to go; return whether they may."""
        return ours and not gone and self.cordon(False)

    def evict(self, going, staying, seconds):
        """Have kubectl evict for some seconds; return (pods that are left, pods that stay)."""
        seconds = max(1, min(SLICE, seconds))
        words = ["drain", self.name, "--ignore-daemonsets", "--timeout=%ds" % seconds]
        # Asked for also because of pods that stay, or may go though they are refused else; those that go were looked at.
        staying = staying + [p for p in going if self.runs and run_of(p)]
        if self.force or any(without_controller(p) for p in staying):
            words.append("--force")
        if self.delete_local_data or any(local_volumes(p) for p in going + staying):
            words.append("--delete-local-data")
        # Its own limit begins again with each pod that is gone.
        rc, out, err = self.run(["timeout", "-k", "5", str(seconds + 5)] + KUBECTL + words)
        if rc not in (0, 124) and "did not complete within" not in err:
            raise DrainError("kubectl drain: %s" % (err or out).strip()[-600:])
        going, staying = self.pods()
        if self.nowhere:
            delete([p for p in self.stranded(going) if not p["metadata"].get("deletionTimestamp")], self.run)
        return going, staying

    def result(self, left, gone, cordoned):
        """Return the answer of drain()."""
        refused = self.refused(left)
        budgets = self.budgets() if left and not refused else []
        return {
            "done": not left,
            "evicted": sorted(gone),
            "left": [{"pod": called(p), "why": why(p, budgets)} for p in left],
            "refused": refused,
            "cordoned": cordoned,
        }

    def budgets(self):
        """Return all PodDisruptionBudgets."""
        return json.loads(self.kubectl("get", "--raw", "/apis/policy/v1beta1/poddisruptionbudgets"))["items"]


def answer(given, run=execute):
    """Do one thing to several nodes; return node to what came of it, or ``error``.

    Args:
        given: do (look, cordon, uncordon or drain), names; for drain: seconds, force, delete_local_data, runs, nowhere.
        run: see Drain.
    """
    found, nodes = {}, []
    try:
        for name in given["names"]:
            one = Drain(
                name,
                given.get("force", False),
                given.get("delete_local_data", False),
                run,
                runs=given.get("runs", False),
                nowhere=given.get("nowhere", False),
                nodes=nodes,
            )
            if given["do"] == "look":
                found[name] = one.look()
            elif given["do"] == "drain":
                found[name] = one.drain(given["seconds"])
            else:
                found[name] = {"changed": one.cordon(given["do"] == "cordon")}
    except (DrainError, ValueError, KeyError) as error:
        return {"error": "%s" % (error.args[0],), "nodes": found}
    return {"nodes": found}
