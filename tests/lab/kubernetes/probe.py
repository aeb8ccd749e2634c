"""Asking the API through its virtual address, again and again, and writing objects that must not be lost."""

import base64
import http.client
import json
import ssl
import tempfile
import threading
import time
import uuid
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

from ruamel.yaml import YAML

TIMEOUT = 2  # seconds
EVERY = 0.3  # seconds


@dataclass
class Api:
    """The API at one address, as the administrator of the site's kubeconfig; each request on a connection of its own."""

    kubeconfig: Path
    host: str = ""
    _files: tempfile.TemporaryDirectory = field(default_factory=tempfile.TemporaryDirectory)

    def __post_init__(self):
        data = YAML(typ="safe").load(self.kubeconfig.read_text())
        cluster, user = data["clusters"][0]["cluster"], data["users"][0]["user"]
        url = urlsplit(cluster["server"])
        self.host, self.port = self.host or url.hostname, url.port
        authority = base64.b64decode(cluster["certificate-authority-data"]).decode()
        self.tls = ssl.create_default_context(cadata=authority)
        pair = []
        for part in ("certificate", "key"):
            pair.append(Path(self._files.name) / part)
            pair[-1].write_bytes(base64.b64decode(user[f"client-{part}-data"]))
        self.tls.load_cert_chain(*pair)

    def ask(self, method, path, body=None, timeout=TIMEOUT):
        """Return status and answer; OSError or HTTPException where there is none."""
        connection = http.client.HTTPSConnection(self.host, self.port, timeout=timeout, context=self.tls)
        try:
            headers = {"Content-Type": "application/json"} if body else {}
            connection.request(method, path, json.dumps(body) if body else None, headers)
            answer = connection.getresponse()
            return answer.status, answer.read()
        finally:
            connection.close()


class Writer:
    """Makes one ConfigMap after the other until it is left; remembers which the API reported it has, and when it failed.

    Args:
        api: the API.
        space: a namespace that exists.
    """

    def __init__(self, api, space):
        self.api, self.space = api, space
        self.kept, self.good, self.errors = [], [], []
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._work, daemon=True)

    @property
    def path(self):
        """Where the ConfigMaps are."""
        return f"/api/v1/namespaces/{self.space}/configmaps"

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._end.set()
        self._thread.join()

    def _work(self):
        number = 0
        while not self._end.wait(EVERY):
            name = f"written-{number}"
            number += 1
            body = {"metadata": {"name": name}, "data": {"number": str(number)}}
            try:
                status, reply = self.api.ask("POST", self.path, body)
            except (OSError, http.client.HTTPException) as error:
                status, reply = 0, repr(error)
            if status == 201:
                self.kept.append(name)
                self.good.append(time.monotonic())
            else:
                self.errors.append(f"{status} {reply[:200]!r}")

    def pause(self):
        """Return the longest time between two writes that were acknowledged, seconds."""
        assert len(self.good) > 1, self.errors[-3:]
        return max(b - a for a, b in zip(self.good, self.good[1:], strict=False))

    def lost(self, api=None):
        """Return the acknowledged objects that a server of the API does not have."""
        # Before it is asked: the writing continues meanwhile.
        kept = set(self.kept)
        # Whether they are there is asked, not how soon a master that has just started tells it.
        status, reply = (api or self.api).ask("GET", self.path, timeout=30)
        assert status == 200, reply
        found = {item["metadata"]["name"] for item in json.loads(reply)["items"]}
        return sorted(kept - found)


class Traffic:
    """Requests from the pod on one node to an address, five a second, until it is left; ``failed`` of ``sent`` went wrong."""

    def __init__(self, kube, pod, url):
        self.kube, self.node = kube, pod["spec"]["nodeName"]
        self.file = f"/tmp/traffic-{uuid.uuid4().hex[:8]}"
        self.ask = kube.inside(pod, f"curl -sf -m 1 -o /dev/null {url}")
        self.sent = self.failed = 0

    def __enter__(self):
        # The network of the pod is looked up once: docker may be away later.
        where = self.ask.partition(" -n ")[0].partition("-t ")[2]
        self.ask = self.ask.replace(where, "$pid")
        loop = (
            f"while [ -e {self.file}.on ]; do if {self.ask}; then echo good; else echo bad; fi >> {self.file};"
            " sleep 0.2; done"
        )
        script = f"export pid={where}; touch {self.file}.on {self.file}; nohup timeout 300 bash -c '{loop}' >/dev/null 2>&1 &"
        self.kube.lab.sh(self.node, script)
        return self

    def __exit__(self, *_):
        reply = self.kube.lab.sh(
            self.node, f"rm -f {self.file}.on; sleep 1.5; cat {self.file}; rm -f {self.file}"
        )
        lines = reply.split()
        self.sent, self.failed = len(lines), lines.count("bad")
