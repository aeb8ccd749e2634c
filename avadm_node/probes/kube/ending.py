"""Ending pods where the whole site is switched off. Runs on a master: python 2.7 and 3.

Evicting is of no use there: a budget keeps the last pods, which have nowhere to go. Pods are deleted, so that each has its own
time to end, and its kubelet unmounts its volumes; their controllers make them again, and nodes that are cordoned take none.
"""

from __future__ import absolute_import, division, print_function

import json

from .drain import (
    KUBECTL,
    DrainError,
    called,
    delete,
    execute,
    run_of,
    stays,
    why,
    with_local_data,
    without_controller,
)


def answer(given, run=execute):
    """End pods on nodes, or only look at them.

    Args:
        given: do (look or end); names, the nodes; namespace, "" for all but `except`; except, namespaces that are left alone;
            force and delete_local_data, as of a drain.
        run: callable(argv) -> (rc, stdout, stderr).

    Returns:
        mapping with left, pods that have not ended, each with node and why; refused, why to pods that may not be ended, and then
        none is. Or ``error``.
    """
    try:
        pods = _pods(given, run)
        refused = _refused(pods, given)
        if given["do"] == "end" and not refused:
            delete([pod for pod in pods if not pod["metadata"].get("deletionTimestamp")], run)
            pods = _pods(given, run)
    except (DrainError, ValueError, KeyError) as error:
        return {"error": "%s" % (error.args[0],)}
    rows = [{"pod": called(pod), "node": pod["spec"]["nodeName"], "why": why(pod, [])} for pod in pods]
    return {"left": rows, "refused": refused, "runs": dict((called(p), run_of(p)) for p in pods if run_of(p))}


def _pods(given, run):
    """Return the pods of these nodes and namespaces that have not ended; those of daemon sets and static ones stay."""
    rc, out, err = run(KUBECTL + ["get", "--raw", "/api/v1/pods"])
    if rc != 0:
        raise DrainError("kubectl get: %s" % (err or out).strip()[-600:])
    names, found = set(given["names"]), []
    for pod in json.loads(out)["items"]:
        space = pod["metadata"]["namespace"]
        chosen = space == given["namespace"] if given["namespace"] else space not in given["except"]
        ended = (pod.get("status") or {}).get("phase") in ("Succeeded", "Failed")
        if chosen and not ended and pod["spec"].get("nodeName") in names and not stays(pod):
            found.append(pod)
    return found


def _refused(pods, given):
    found = {}
    if not given["force"]:
        found["without-controller"] = [called(p) for p in pods if without_controller(p)]
    if not given["delete_local_data"]:
        found["local-data"] = [called(p) for p in pods if with_local_data(p)]
    return dict((reason, names) for reason, names in found.items() if names)
