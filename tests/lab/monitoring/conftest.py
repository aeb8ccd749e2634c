"""The lab's Prometheus servers and its Alertmanagers, asked on their nodes with what they have to show.

AVADM_TEST_NODES may name a JSON file of the form of `avadm lab list --json`, for nodes that are not the
lab's.
"""

import json
import os
import subprocess
import sys
import urllib.parse
from functools import cached_property
from pathlib import Path

import pytest

from tests.lab import prometheus
from tests.lab.monitoring import mesh


class Server:
    """One Prometheus or Alertmanager, asked on its node by ``how``: tests/lab/prometheus.py or mesh.py."""

    def __init__(self, lab, name, how):
        self.lab = lab
        self.name = name
        self.how = how

    @cached_property
    def url(self):
        """Where it is asked, and others ask it."""
        return self.how.url(self.lab, self.name)

    @cached_property
    def curl(self):
        return self.how.curl(self.lab, self.name)

    def get(self, path, **query):
        url = f"{self.url}{path}" + (f"?{urllib.parse.urlencode(query)}" if query else "")
        return json.loads(self.lab.sh(self.name, f"{self.curl} '{url}'"))

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


@pytest.fixture(scope="session")
def replicas(lab):
    """Every Prometheus."""
    return [Server(lab, name, prometheus) for name in lab.names("prometheus")]


@pytest.fixture(scope="session")
def routers(lab):
    """Every Alertmanager."""
    return [Server(lab, name, mesh) for name in lab.names("alertmanager")]
