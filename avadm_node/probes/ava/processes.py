"""AVA's processes as Kubernetes lists them and as they report themselves, through the API server's proxy; for masters."""

from __future__ import absolute_import

import re

from ..health.ava import leases, way_in
from ..health.kubectl import kubectl, listed
from ..health.system import LONG_LINE, Failed

SERIES = re.compile(r"^([a-z_]+)(?:\{(.*)\})? ([0-9.e+-]+)$")
VERSION = re.compile(r'^version="([^"\\]*)"$')


def ask(params):
    """Return deployments with their images, pods with what their processes report, leases and the way in.

    Args:
        params: those of the doctor's probe (namespace, leases, host, address, trusted), and
            port: the pods' internal port; silent: parts that have none;
            series: names of metrics that are wanted beside the version.
    """
    space = "/api/v1/namespaces/" + params["namespace"]
    wanted = "/apis/apps/v1/namespaces/" + params["namespace"] + "/deployments?labelSelector=app%3Dava"
    first = leases(space, params["leases"])
    pods = [
        _pod(one, space, params)
        for one in listed(space + "/pods?labelSelector=app%3Dava")
        # Those of the migration end; those that keep users' images have none of AVA's.
        if one["metadata"]["labels"].get("part", "") not in ("migrate", "images", "")
    ]
    return {
        "deployed": dict(
            (
                d["metadata"]["name"],
                {"image": _image(d["spec"]["template"]), "pods": d["spec"].get("replicas", 1)},
            )
            for d in listed(wanted)
        ),
        "pods": pods,
        "leases": [first, leases(space, params["leases"])],
        "way": way_in(params),
    }


def _image(one):
    return one["spec"]["containers"][0]["image"]


def _pod(pod, space, params):
    meta, status = pod["metadata"], pod.get("status", {})
    part = meta["labels"]["part"]
    row = {
        "name": meta["name"],
        "part": part,
        "image": _image(pod),
        "ready": any(c["type"] == "Ready" and c["status"] == "True" for c in status.get("conditions") or []),
        "ending": bool(meta.get("deletionTimestamp")),
        "version": "",
        "figures": {},
        "why": "",
    }
    if row["ready"] and not row["ending"] and part not in params["silent"]:
        way = "%s/pods/%s:%d/proxy" % (space, meta["name"], params["port"])
        try:
            row["version"], row["figures"] = read(
                kubectl("get", "--raw=" + way + "/metrics"), params["series"]
            )
            if part == "api":
                # Its database answers, too.
                kubectl("get", "--raw=" + way + "/healthz")
        except Failed as error:
            row["why"] = str(error)[:LONG_LINE]
    return row


def read(text, series):
    """Return the version in a process's metrics ("" where there is none), and the sums of the series that are wanted."""
    version, figures = "", {}
    for line in text.split("\n"):
        found = SERIES.match(line)
        if not found:
            continue
        name, labels, value = found.groups()
        if name == "ava_build_info":
            label = VERSION.match(labels or "")
            version = label.group(1) if label else ""
        elif name in series:
            figures[name] = figures.get(name, 0.0) + float(value)
    return version, figures
