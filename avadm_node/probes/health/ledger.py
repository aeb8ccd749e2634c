"""What the doctor asks of the platform's books: the database's sums on PostgreSQL's nodes, and what pods have on masters."""

from __future__ import absolute_import

import json

from .kube import listed
from .system import LONG_LINE, call

GPU = "nvidia.com/gpu"
MOST = 20  # rows that are told
FIELDS = ("gpu", "cpu", "memory")
DRIFT = " UNION ALL ".join(
    "SELECT '%(kind)s ' || s.name, '%(field)s', s.used_%(field)s, coalesce(sum(c.%(field)s), 0) FROM %(table)s s "
    "LEFT JOIN charges c ON c.ended IS NULL AND c.%(column)s = s.name "
    "GROUP BY s.name, s.used_%(field)s HAVING s.used_%(field)s <> coalesce(sum(c.%(field)s), 0)"
    % {"kind": kind, "table": table, "column": column, "field": field}
    for kind, table, column in (("group", "groups", "group_name"), ("queue", "queues", "queue"))
    for field in FIELDS
)
# One statement sees one moment.
SQL = (
    "SELECT json_build_object('drift', (SELECT json_agg(json_build_array(d.*)) FROM (%s LIMIT %d) d), "
    "'runs', (SELECT json_object_agg(run, gpu) FROM charges WHERE ended IS NULL AND gpu > 0))" % (DRIFT, MOST)
)


def ava_ledger(params):
    """On the primary: groups and queues whose use is not the sum of what is charged, and the GPUs of each run that is charged."""
    psql = ["runuser", "-u", "postgres", "--", "psql", "--no-psqlrc", "-qAt", "--set=ON_ERROR_STOP=1"]
    psql += ["--dbname=" + params["ava"]["ledger"], "--command"]
    code, out, err = call(psql + ["SELECT pg_is_in_recovery()"], 20)
    if code == 0 and out.strip() == "t":
        return {"said": "", "primary": False, "drift": [], "runs": {}}
    if code == 0:
        code, out, err = call(psql + [SQL], 30)
    if code != 0:
        reply = (err.strip().splitlines() or ["psql ended with %d" % code])[0]
        return {"said": reply[:LONG_LINE], "primary": True, "drift": [], "runs": {}}
    found = json.loads(out)
    return {"said": "", "primary": True, "drift": found["drift"] or [], "runs": found["runs"] or {}}


def ava_runs(_):
    """GPUs that pods of each run hold, and nodes of which more are given than they have."""
    runs, given = {}, {}
    for pod in listed("/api/v1/pods?labelSelector=ava.io%2Fmanaged%3Dtrue"):
        node, run = pod["spec"].get("nodeName"), pod["metadata"].get("labels", {}).get("ava.io/run", "")
        count = sum(_cards(c) for c in pod["spec"].get("containers") or [])
        if node and count and pod.get("status", {}).get("phase") in ("Pending", "Running"):
            # One that is going may stand beside the one in its place.
            if not pod["metadata"].get("deletionTimestamp"):
                runs[run] = runs.get(run, 0) + count
            given[node] = given.get(node, 0) + count
    nodes = listed("/api/v1/nodes")
    have = dict((n["metadata"]["name"], int(n["status"].get("capacity", {}).get(GPU, 0))) for n in nodes)
    over = dict(
        (node, [count, have.get(node, 0)]) for node, count in given.items() if count > have.get(node, 0)
    )
    return {"runs": runs, "over": over}


def _cards(container):
    return int(container.get("resources", {}).get("limits", {}).get(GPU, 0))
