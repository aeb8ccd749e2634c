"""The cache on the lab; a lab without one (`avadm lab up --with cache`) skips these tests."""

import re
from dataclasses import dataclass

import pytest

MOUNT, STORE = "/mnt/alluxio", "/mnt/cephfs/cache"


@dataclass(frozen=True)
class Cache:
    """The cache, asked on its first master; files are written on the node without a worker."""

    lab: object

    @property
    def master(self):
        """The first master's name."""
        return self.lab.names("alluxio_master")[0]

    @property
    def workers(self):
        """The workers' names."""
        return self.lab.names("alluxio_worker")

    @property
    def clients(self):
        """The clients' names."""
        return self.lab.names("alluxio_client")

    @property
    def reader(self):
        """A client without a worker."""
        return next(c for c in self.clients if c not in self.workers)

    def sh(self, node, command, timeout=120):
        """Run a command on a node."""
        return self.lab.sh(node, command, timeout)

    def metric(self, node, name, port=29998):
        """Return a metric's value as a node's own page tells it; 0 where it was never counted."""
        address = self.lab.node(node)["address"]
        page = self.sh(
            node, f"curl -sf --max-time 10 --noproxy '*' http://{address}:{port}/metrics/prometheus/"
        )
        found = re.search(rf"^{name}(?:{{[^}}]*}})? (\S+)$", page, re.M)
        return float(found[1]) if found else 0.0

    def total(self, name):
        """Return a metric's sum over all workers."""
        return sum(self.metric(w, name) for w in self.workers)


@pytest.fixture(scope="session")
def cache(lab):
    """The lab's cache."""
    if not lab.names("alluxio_master"):
        pytest.skip("this lab has no cache: avadm lab up --with cache")
    return Cache(lab)


@pytest.fixture
def files(cache, request):
    """A folder of the under store for one test, and its name in the mount; removed at the end."""
    name = f"test-{re.sub(r'[^a-z]+', '-', request.node.name.lower())[:40]}"
    cache.sh(cache.workers[-1], f"rm -rf {STORE}/{name}; mkdir -p {STORE}/{name}")
    yield f"{STORE}/{name}", f"{MOUNT}/cephfs/{name}"
    cache.sh(cache.workers[-1], f"rm -rf {STORE}/{name}")
