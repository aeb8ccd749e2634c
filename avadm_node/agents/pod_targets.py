"""Tells Prometheus which pods ask to be scraped: those with the annotation prometheus.io/scrape: "true".

Those behind a Service with it are reported too, each pod once: one that asks itself is asked as it says itself.

prometheus.io/port (else the pod's first port) and prometheus.io/path (else /metrics) say where. The pods are followed by
list and watch; what is found is written as a file of targets that Prometheus reads (file_sd). Prometheus nodes need no
way to the network of pods: the targets are the API server's own way to a pod. Python 3.5 or later.
"""

import argparse
import json
import os
import re
import time

from ..kubeapi import Api

PODS = "/api/v1/pods"
SERVICES = "/api/v1/services"
PREFIX = "prometheus.io/"
PATH = re.compile(r"(/[A-Za-z0-9_~.-]+)+/?")
RESYNC_S = 300
"""Seconds after which all pods are listed again, whatever the watch reported."""
FRESH_S = 60
"""The file's time of change is this old at most while pods are followed: an alert looks at it."""
OPTIONS = {
    "server": "URL of Kubernetes' API",
    "authority": "file with the certificate of its authority",
    "certificate": "file with the client's certificate",
    "key": "file with the client's private key",
    "file": "the file of targets",
}


class Skipped(Exception):
    """A pod asks to be scraped in a way that cannot be met."""


def port_of(pod, asked):
    """Return the port's number."""
    ports = [p["containerPort"] for c in pod["spec"]["containers"] for p in c.get("ports") or []]
    found = str(asked or (ports[0] if ports else ""))
    if not (found.isdigit() and 0 < int(found) < 65536):
        raise Skipped("%sport is %r: a number from 1 to 65535 is wanted" % (PREFIX, found))
    return int(found)


def path_of(asked):
    """Return the path; one that could lead out of the pod's own is refused."""
    path = asked or "/metrics"
    if not PATH.fullmatch(path) or any(set(part) == {"."} for part in path.split("/") if part):
        raise Skipped("%spath is %r: a plain path such as /metrics is wanted" % (PREFIX, path))
    return path


def service_of(pod, services):
    """Return the Service that asks for a pod, the first by name; None where none does."""
    meta = pod["metadata"]
    labels = set((meta.get("labels") or {}).items())
    asking = [
        s
        for s in services
        if s["metadata"]["namespace"] == meta["namespace"]
        and (s["metadata"].get("annotations") or {}).get(PREFIX + "scrape") == "true"
        and s["spec"].get("selector")
        and set(s["spec"]["selector"].items()) <= labels
    ]
    return min(asking, key=lambda s: s["metadata"]["name"]) if asking else None


def behind(service, pod):
    """Return the pod's port that a Service's first port leads to, by number or by name; None where it has no such."""
    first = (service["spec"].get("ports") or [{}])[0]
    wanted = first.get("targetPort") or first.get("port")
    named = {
        p.get("name"): p["containerPort"] for c in pod["spec"]["containers"] for p in c.get("ports") or []
    }
    return wanted if isinstance(wanted, int) else named.get(wanted)


def target(pod, server, services=()):
    """Return a pod's target; None where neither it nor a Service of it asks, or where it does not run."""
    meta = pod["metadata"]
    notes, default = meta.get("annotations") or {}, None
    if pod.get("status", {}).get("phase") != "Running" or notes.get(PREFIX + "scrape") == "false":
        return None
    if notes.get(PREFIX + "scrape") != "true":
        service = service_of(pod, services)
        if service is None:
            return None
        notes, default = service["metadata"]["annotations"], behind(service, pod)
    port, path = port_of(pod, notes.get(PREFIX + "port") or default), path_of(notes.get(PREFIX + "path"))
    space, name = meta["namespace"], meta["name"]
    return {
        "targets": [server],
        "labels": {
            "__metrics_path__": "%s/%s/pods/%s:%d/proxy%s" % ("/api/v1/namespaces", space, name, port, path),
            "instance": "%s/%s:%d" % (space, name, port),
            "namespace": space,
            "pod": name,
            "node": pod["spec"].get("nodeName", ""),
        },
    }


class Targets:
    """The file of targets, kept as the pods are.

    Args:
        path: the file.
        server: ADDRESS:PORT of the API.
        clock: seconds.
        log: callable(text).
    """

    def __init__(self, path, server, clock=time.time, log=print):
        self.path, self.server, self.clock, self.log = path, server, clock, log
        self.found, self.reported, self.kept, self.fresh = {}, {}, None, 0
        self.pods, self.services = {}, []

    def all(self, pods):
        """Take all pods there are."""
        self.found, self.pods = {}, {}
        for pod in pods:
            self.one("ADDED", pod)
        self.reported = {uid: why for uid, why in self.reported.items() if uid in self.pods}

    def serve(self, services):
        """Take all Services there are."""
        if services != self.services:
            self.services = services
            for pod in list(self.pods.values()):
                self.one("MODIFIED", pod)

    def one(self, kind, pod):
        """Take one pod's change: ADDED, MODIFIED or DELETED."""
        try:
            self.take(kind, pod)
        except Exception as error:
            # What one tenant writes on a pod or a Service must not end the measuring of the others.
            self.log("a pod that cannot be read: %s: %s" % (type(error).__name__, error))

    def take(self, kind, pod):
        """Take one pod's change that can be read."""
        uid, made = pod["metadata"]["uid"], None
        if kind == "DELETED":
            self.pods.pop(uid, None)
        else:
            self.pods[uid] = pod
        try:
            made = target(pod, self.server, self.services) if kind != "DELETED" else None
        except Skipped as why:
            if self.reported.get(uid) != str(why):
                self.reported[uid] = str(why)
                self.log("%(namespace)s/%(name)s: " % pod["metadata"] + str(why))
        if made:
            self.found[uid] = made
        else:
            self.found.pop(uid, None)

    def write(self):
        """Write the file where it is not so already, at once and whole."""
        text = json.dumps([self.found[uid] for uid in sorted(self.found)], indent=1, sort_keys=True) + "\n"
        now = self.clock()
        if text == self.kept and now - self.fresh < FRESH_S:
            return
        with open(self.path + ".new", "w") as out:
            out.write(text)
        os.chmod(self.path + ".new", 0o644)
        os.rename(self.path + ".new", self.path)
        self.kept, self.fresh = text, now


def follow(api, targets, clock=time.monotonic):
    """List all pods, then follow their changes until it is time to list again; ApiError."""
    targets.serve(api.call("GET", SERVICES).get("items") or [])
    listed = api.call("GET", PODS)
    targets.all(listed.get("items") or [])
    targets.write()
    end, since = clock() + RESYNC_S, listed["metadata"]["resourceVersion"]
    while clock() < end:
        for event in api.watch(PODS, since, FRESH_S):
            if event["type"] == "ERROR":
                # Too old a version, mostly: what was missed is in the next list.
                return
            since = event["object"]["metadata"]["resourceVersion"]
            targets.one(event["type"], event["object"])
            targets.write()
        # A watch ends after FRESH_S; Services are few and change seldom, and are read then.
        targets.serve(api.call("GET", SERVICES).get("items") or [])
        targets.write()


def main():
    """Run until stopped."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    for name, about in OPTIONS.items():
        parser.add_argument("--" + name, required=True, help=about)
    config = vars(parser.parse_args())
    api = Api(config)
    targets = Targets(config["file"], api.host, log=lambda text: print(text, flush=True))
    while True:
        try:
            follow(api, targets)
        except Exception as error:
            # What was found stays: a pod does not stop because the API does.
            print("%s: %s" % (type(error).__name__, error), flush=True)
            time.sleep(5)
