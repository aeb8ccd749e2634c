"""Whether a node suits a pod that waits: as much of the scheduler's judgement as choosing a place for its volume needs.

Kubernetes 1.9 cannot make a volume where the pod will be (that came with 1.11): a volume on a node's own disk binds
the pod to that node, so anyone who makes it looks first whether the pod could run there.
"""

from .common import VolumeError, bytes_of


def misfit(node, running, pod):
    """Return why a pod cannot run on a node; None where nothing speaks against it.

    Args:
        node: the node's object.
        running: the pods that are bound to it.
        pod: the one that waits.
    """
    spec, labels = pod["spec"], node["metadata"].get("labels") or {}
    if spec.get("nodeName"):
        return (
            None
            if spec["nodeName"] == node["metadata"]["name"]
            else "the pod is bound to " + spec["nodeName"]
        )
    wanted = spec.get("nodeSelector") or {}
    if any(labels.get(key) != value for key, value in wanted.items()):
        return "the pod's nodeSelector asks for another node"
    terms = (
        ((spec.get("affinity") or {}).get("nodeAffinity") or {}).get(
            "requiredDuringSchedulingIgnoredDuringExecution"
        )
        or {}
    ).get("nodeSelectorTerms")
    if terms is not None and not any(
        all(meets(labels, e) for e in t.get("matchExpressions") or []) for t in terms
    ):
        return "the pod's node affinity asks for another node"
    if node["spec"].get("unschedulable"):
        return "the node takes no pods"
    for taint in node["spec"].get("taints") or []:
        bars = taint.get("effect") in ("NoSchedule", "NoExecute")
        if bars and not any(tolerates(t, taint) for t in spec.get("tolerations") or []):
            return "the pod does not tolerate the node's taint " + taint["key"]
    return short(node, running, pod)


def meets(labels, expression):
    """Tell whether labels meet an expression of a node selector."""
    value, kind = labels.get(expression["key"]), expression["operator"]
    values = expression.get("values") or []
    if kind in ("Exists", "DoesNotExist"):
        return (value is not None) == (kind == "Exists")
    if kind in ("In", "NotIn"):
        return (value in values) == (kind == "In")
    try:
        return int(value) > int(values[0]) if kind == "Gt" else int(value) < int(values[0])
    except (TypeError, ValueError, IndexError):
        return False


def tolerates(toleration, taint):
    """Tell whether a toleration is one of a taint."""
    if toleration.get("effect") not in (None, "", taint.get("effect")):
        return False
    if toleration.get("operator") == "Exists":
        return toleration.get("key") in (None, "", taint["key"])
    return (toleration.get("key"), toleration.get("value") or "") == (taint["key"], taint.get("value") or "")


def requests(pod):
    """Return what a pod's containers ask for together."""
    total = {}
    for container in pod["spec"].get("containers") or []:
        for name, amount in ((container.get("resources") or {}).get("requests") or {}).items():
            total[name] = total.get(name, 0) + thousandths(amount)
    return total


def short(node, running, pod):
    """Return what the node has not enough of left for a pod; None where it has."""
    free = {name: thousandths(amount) for name, amount in node["status"]["allocatable"].items()}
    for one in running:
        if one.get("status", {}).get("phase") not in ("Succeeded", "Failed"):
            for name, amount in requests(one).items():
                free[name] = free.get(name, 0) - amount
    for name, amount in sorted(requests(pod).items()):
        if amount > free.get(name, 0):
            return "the node has too little %s left for the pod" % name
    return None


def thousandths(quantity):
    """Return a quantity of a resource in thousandths: 100m processors, 2Gi of memory, 4 GPUs."""
    text = str(quantity)
    if text.endswith("m"):
        return int(text[:-1])
    if text.strip("0") == "" or not text[:1].isdigit():
        return 0
    try:
        return bytes_of(text) * 1000
    except VolumeError:
        return 0
