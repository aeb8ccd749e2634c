"""The lab's Prometheus servers, asked over HTTP from this machine, and its Alertmanagers, asked on their nodes with their own
certificates.

AVADM_TEST_NODES may name a JSON file of the form of `avadm lab list --json`, for nodes that are not the
lab's.
"""

import json
import os
import subprocess
import sys
import urllib.parse
import urllib.request
from pathlib import Path

import pytest

from tests.lab.monitoring import mesh


class Server:
    """One Prometheus or Alertmanager."""

    def __init__(self, name, url):
        self.name = name
        self.url = url

    def get(self, path, **query):
        url = f"{self.url}{path}" + (f"?{urllib.parse.urlencode(query)}" if query else "")
        # The lab's addresses need no proxy, whatever this machine's environment says.
        with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(url, timeout=10) as answer:
            return json.load(answer)

    def query(self, expr):
        """Return the result of an instant query: a list of {metric, value}."""
        return self.get("/api/v1/query", query=expr)["data"]["result"]

    def value(self, expr):
        """Return the only number of an instant query."""
        (sample,) = self.query(expr)
        return float(sample["value"][1])

    def __repr__(self):
        return self.name


@pytest.fixture(scope="session")
def nodes():
    """Every node: name, address, roles."""
    if path := os.environ.get("AVADM_TEST_NODES"):
        return json.loads(Path(path).read_text())["nodes"]
    listed = subprocess.run(
        [Path(sys.executable).parent / "avadm", "lab", "list", "--json"],
        capture_output=True,
        text=True,
        check=True,
    )
    return json.loads(listed.stdout)["nodes"]


class Guarded(Server):
    """One Alertmanager, asked on its node."""

    def __init__(self, name, url, lab):
        super().__init__(name, url)
        self.lab = lab

    def get(self, path, **query):
        url = f"{self.url}{path}" + (f"?{urllib.parse.urlencode(query)}" if query else "")
        return json.loads(self.lab.sh(self.name, f"{mesh.curl(self.lab, self.name)} '{url}'"))


def servers(nodes, role, port):
    found = [Server(n["name"], f"http://{n['address']}:{port}") for n in nodes if role in n["roles"]]
    assert found, f"no node has the role {role}"
    return found


@pytest.fixture(scope="session")
def replicas(nodes):
    """Every Prometheus."""
    return servers(nodes, "prometheus", 9090)


@pytest.fixture(scope="session")
def routers(lab):
    """Every Alertmanager."""
    return [Guarded(name, mesh.url(lab, name), lab) for name in lab.names("alertmanager")]
