#!/usr/bin/env python
"""Load on the API of Kubernetes, timed: starts of pods, and requests. Runs on a master; Python 2.7 and 3.

``starts`` reads a pod's manifest from standard input, ``api`` nothing. Each prints one JSON document.
"""

from __future__ import print_function

import argparse
import base64
import json
import os
import shutil
import ssl
import subprocess
import sys
import tempfile
import threading
import time

try:
    from http.client import HTTPException, HTTPSConnection
    from urllib.parse import urlparse
except ImportError:  # Python 2.7
    from httplib import HTTPException, HTTPSConnection
    from urlparse import urlparse


class Connection(HTTPSConnection):
    """Python 2.7 knows no addresses in certificates: they are looked at here."""

    def connect(self):
        HTTPSConnection.connect(self)
        shown = [value for _kind, value in self.sock.getpeercert().get("subjectAltName", ())]
        if not self._context.check_hostname and self.host not in shown:
            raise IOError("the certificate is of %s" % (", ".join(shown) or "no host"))


class Api(object):
    """Requests with the certificate of root's kubectl; each Api is one connection."""

    def __init__(self):
        text = subprocess.check_output(
            ["kubectl", "config", "view", "--raw", "--flatten", "--minify", "-o", "json"]
        )
        doc = json.loads(text.decode())
        cluster, user = doc["clusters"][0]["cluster"], doc["users"][0]["user"]
        self.server = urlparse(cluster["server"])
        folder = tempfile.mkdtemp()  # 0700
        try:
            paths = {}
            for name, source in (
                ("ca", cluster["certificate-authority-data"]),
                ("cert", user["client-certificate-data"]),
                ("key", user["client-key-data"]),
            ):
                paths[name] = os.path.join(folder, name)
                with os.fdopen(os.open(paths[name], os.O_WRONLY | os.O_CREAT, 0o600), "wb") as f:
                    f.write(base64.b64decode(source))
            self.tls = ssl.create_default_context(cafile=paths["ca"])
            self.tls.load_cert_chain(paths["cert"], paths["key"])
            self.tls.check_hostname = sys.version_info[0] > 2
        finally:
            shutil.rmtree(folder)
        self.connection = None

    def open(self, method, path, body=None, timeout=30):
        if self.connection is None:
            self.connection = Connection(
                self.server.hostname, self.server.port or 443, context=self.tls, timeout=timeout
            )
        text = None if body is None else json.dumps(body)
        self.connection.request(method, path, text, {"Content-Type": "application/json"})
        return self.connection.getresponse()

    def ask(self, method, path, body=None):
        """Return status and document; (0, error) where the server did not answer."""
        try:
            answer = self.open(method, path, body)
            text = answer.read().decode()
        except (EnvironmentError, HTTPException) as e:
            self.connection = None
            return 0, {"message": str(e) or repr(e)}
        try:
            return answer.status, json.loads(text)
        except ValueError:  # what is passed on from a node need not be JSON
            return answer.status, {"message": text[:500]}


def watch(api, path, seen, stop, limit):
    """Note when each pod was first seen scheduled, and running, until it is stopped."""
    answer = api.open("GET", path, timeout=limit)
    while not stop.is_set():
        try:
            line = answer.readline() if hasattr(answer, "readline") else readline(answer)
        except (EnvironmentError, HTTPException):
            return
        if not line:
            return
        now, pod = time.time(), json.loads(line.decode())["object"]
        known = seen.setdefault(pod["metadata"]["name"], {})
        known["node"] = pod["spec"].get("nodeName", "")
        if known["node"]:
            known.setdefault("scheduled", now)
        if pod["status"].get("phase") == "Running":
            known.setdefault("running", now)


def readline(answer):
    """Read one line of a chunked answer (Python 2.7's answers have no readline)."""
    line = b""
    while not line.endswith(b"\n"):
        byte = answer.read(1)
        if not byte:
            return b""
        line += byte
    return line


def starts(a):
    """Make pods one after another and note how long each took until a watch showed it running."""
    pod, api = json.load(sys.stdin), Api()
    path = "/api/v1/namespaces/%s/pods" % a.namespace
    selector = "?labelSelector=app%%3D%s" % pod["metadata"]["labels"]["app"]
    _, listed = api.ask("GET", path + selector)
    version = listed["metadata"]["resourceVersion"]
    seen, stop, made, refused = {}, threading.Event(), {}, []
    url = "%s%s&watch=1&resourceVersion=%s&timeoutSeconds=%d" % (path, selector, version, a.limit + 60)
    watcher = threading.Thread(target=watch, args=(Api(), url, seen, stop, a.limit + 60))
    watcher.daemon = True
    watcher.start()
    begun = time.time()
    for i in range(a.pods):
        # Pods that start at the same time wait for one another where there are few cores.
        while a.flight and len([n for n in made if "running" not in seen.get(n, {})]) >= a.flight:
            if time.time() > begun + a.limit or not watcher.is_alive():
                break
            time.sleep(0.02)
        if time.time() > begun + a.limit:
            break
        name = "%s-%d" % (pod["metadata"]["labels"]["app"], i)
        pod["metadata"]["name"] = name
        made[name] = time.time()
        status, answer = api.ask("POST", path, pod)
        if status != 201:
            refused.append("%s: %s" % (status, answer.get("message")))
        time.sleep(max(0.0, made[name] + a.gap - time.time()))
    while time.time() < begun + a.limit and watcher.is_alive():
        if all("running" in seen.get(n, {}) for n in made):
            break
        time.sleep(0.1)
    stop.set()
    rows = []
    for name in sorted(made, key=made.get):
        known = seen.get(name, {})
        row = {"pod": name, "node": known.get("node", ""), "created": made[name]}
        for state in ("scheduled", "running"):
            row[state + "_s"] = round(known[state] - made[name], 4) if state in known else None
        rows.append(row)
    api.ask("DELETE", path + selector, {"kind": "DeleteOptions", "apiVersion": "v1", "gracePeriodSeconds": 0})
    print(json.dumps({"starts": rows, "refused": refused, "limit_s": a.limit}))


def api_load(a):
    """Make, read, change, list and remove small objects in turn; note how long each request took."""
    api = Api()
    path, i = "/api/v1/namespaces/%s/configmaps" % a.namespace, 0
    taken, errors = {"get": [], "write": [], "list": []}, []

    def timed(kind, method, where, body=None):
        begun = time.time()
        status, answer = api.ask(method, where, body)
        taken[kind].append(round(time.time() - begun, 5))
        if not 200 <= status < 300:
            errors.append("%s %s: %s %s" % (method, where, status, answer.get("message")))

    begun = time.time()
    end, most = begun + a.seconds, begun + max(a.seconds, a.most)
    # A busy machine answers few requests in a short window: too few of them say nothing of the slowest of a hundred.
    while time.time() < end or (time.time() < most and sum(map(len, taken.values())) < a.least):
        i += 1
        name = "load-%d" % i
        thing = {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": name},
            "data": {"x": "y" * 1024},
        }
        timed("write", "POST", path, thing)
        timed("get", "GET", path + "/" + name)
        thing["data"]["x"] = "z" * 1024
        timed("write", "PUT", path + "/" + name, thing)
        timed("list", "GET", "/api/v1/namespaces/%s/pods" % a.namespace)
        timed("write", "DELETE", path + "/" + name)
        timed("get", "GET", "/api/v1/namespaces/%s" % a.namespace)
    print(json.dumps({"seconds": taken, "errors": errors, "window_s": round(time.time() - begun, 3)}))


def main():
    p = argparse.ArgumentParser()
    p.add_argument("what", choices=["starts", "api"])
    p.add_argument("--namespace", required=True)
    p.add_argument("--pods", type=int, default=20)
    p.add_argument("--gap", type=float, default=0.5)
    p.add_argument("--flight", type=int, default=0, help="how many may be starting at a time; 0: any number")
    p.add_argument("--limit", type=float, default=60)
    p.add_argument("--seconds", type=float, default=5)
    p.add_argument(
        "--least", type=int, default=0, help="continue beyond --seconds until so many requests are timed"
    )
    p.add_argument("--most", type=float, default=0, help="but not longer than this, seconds")
    a = p.parse_args()
    {"starts": starts, "api": api_load}[a.what](a)


if __name__ == "__main__":
    main()
