"""What the doctor asks of the platform: on masters, and of its database on the primary."""

from __future__ import absolute_import

import json
import tempfile
import time

from .kubectl import listed
from .system import LONG_LINE, call


def ava(params):
    """The platform: its deployments and pods, who acts of operator and scheduler (twice, to see a renewal), and the way in."""
    report = params["ava"]
    space = "/api/v1/namespaces/" + report["namespace"]
    first = leases(space, report["leases"])
    pods = {}
    for pod in listed(space + "/pods?labelSelector=app%3Dava"):
        part, status = pod["metadata"]["labels"].get("part", ""), pod.get("status", {})
        ready = [c["status"] == "True" for c in status.get("conditions") or [] if c["type"] == "Ready"]
        row = pods.setdefault(part, {"ready": 0, "nodes": [], "restarts": 0})
        row["ready"] += any(ready)
        row["nodes"].append(pod["spec"].get("nodeName", ""))
        row["restarts"] += sum(c.get("restartCount", 0) for c in status.get("containerStatuses") or [])
    wanted = "/apis/apps/v1/namespaces/" + report["namespace"] + "/deployments?labelSelector=app%3Dava"
    deployed = dict((d["metadata"]["name"], d["spec"].get("replicas", 1)) for d in listed(wanted))
    return {
        "deployed": deployed,
        "pods": pods,
        "leases": [first, leases(space, report["leases"])],
        "way": way_in(report),
    }


def leases(space, names):
    """Lease to its holder and how often it was renewed; None where it was never held."""
    found = {}
    for one in listed(space + "/configmaps"):
        text = (one["metadata"].get("annotations") or {}).get("ava.io/leader")
        if one["metadata"]["name"] in names and text:
            record = json.loads(text)
            found[one["metadata"]["name"]] = [record.get("holder", ""), record.get("renewals", 0)]
    time.sleep(4)
    return dict((name, found.get(name)) for name in names)


def way_in(given):
    """Status of the platform's own page at the ingress' address, and what curl says where there is none."""
    argv = ["curl", "--silent", "--show-error", "--noproxy", "*", "--max-time", "15", "--output", "/dev/null"]
    argv += ["--resolve", "%(host)s:443:%(address)s" % given, "--write-out", "%{http_code}"]
    url = "https://%(host)s/api/v1/openapi.json" % given
    trusted = given.get("trusted")
    if trusted:
        with tempfile.NamedTemporaryFile(suffix=".crt") as authority:
            authority.write(trusted.encode("ascii"))
            authority.flush()
            code, out, err = call(argv + ["--cacert", authority.name, url], 20)
    else:
        # Of a certificate of the site's own without its authority: what the system trusts.
        own = [] if trusted == "" else ["--cacert", "/etc/kubernetes/pki/ca.crt"]
        code, out, err = call(argv + own + [url], 20)
    text = (err.strip().splitlines() or ["curl ended with %d" % code])[0] if code else ""
    return {"status": int(out) if code == 0 and out.isdigit() else 0, "said": text[:LONG_LINE]}


GPU = "nvidia.com/gpu"
MOST = 20  # rows that are reported
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
    psql += ["--dbname=" + params["ava"]["database"], "--command"]
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
