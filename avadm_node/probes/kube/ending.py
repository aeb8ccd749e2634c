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
    execute,
    run_of,
    stays,
    why,
    with_local_data,
    without_controller,
)

DELETE_S = 60  # seconds of one call that asks for the end of pods
AT_ONCE = 200  # pods that one call names


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
            _delete([pod for pod in pods if not pod["metadata"].get("deletionTimestamp")], run)
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


def _delete(pods, run):
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
