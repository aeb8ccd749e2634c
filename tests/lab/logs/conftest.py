"""Logs on the lab: the client over ssh as `avadm logs` has it, each store alone, and what waits until lines are there."""

import time
import uuid

import pytest

from avadm.components.logs.variables import USER, stores
from avadm.logs.client import Client
from avadm.logs.query import Query
from avadm.logs.transport import SshStore
from avadm.remote.ssh import SshFleet
from avadm.site.load import load


@pytest.fixture(scope="session")
def site_file(lab):
    found = load(lab.site_path)
    if not found.site.components.logs:
        pytest.skip("this lab keeps no logs: `avadm lab up --with logs`")
    return found


@pytest.fixture(scope="session")
def ways(site_file):
    """Return store's node to a client that asks it alone."""
    fleet = SshFleet(site_file)
    yield {
        s["name"]: Client([SshStore(s["name"], s["url"], USER, fleet, site_file.profile.python)])
        for s in stores(site_file.site)
    }
    fleet.close()


@pytest.fixture
def marker():
    """Return a word that no other line holds."""
    return f"marker-{uuid.uuid4().hex[:12]}"


def wait(client, query, count, seconds=60):
    """Return the lines once there are so many; a failure names what there is."""
    end = time.monotonic() + seconds
    while True:
        lines = client.search(query, 10_000).lines
        if len(lines) >= count or time.monotonic() > end:
            assert len(lines) >= count, f"{len(lines)} of {count} after {seconds} s: {query.text()}"
            return lines
        time.sleep(1)


def recent(**wanted):
    """Return a query for lines of the last half hour."""
    return Query(since=time.time() - 1800, **wanted)
