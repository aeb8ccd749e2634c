"""An sshd of the tests' own, and fleets that reach it."""

import pytest

from avadm.remote.connect import Target
from avadm.remote.hostkeys import KnownHosts
from avadm.remote.ssh import SshFleet
from tests.unit.remote.sshserver import Server, new_key


@pytest.fixture
def key(tmp_path):
    return new_key(tmp_path / "id")


@pytest.fixture
def server(tmp_path, key):
    server = Server(new_key(tmp_path / "host"), accept=[key])
    yield server
    server.close()


@pytest.fixture
def pinned(tmp_path, server):
    """The file in which the server's host key is pinned, for any name."""
    known = KnownHosts(tmp_path / "known_hosts")
    known.pin(Target("n1", "127.0.0.1", server.port).entry_names, server.host_key)
    known.save()
    return known.path


@pytest.fixture
def reach(tmp_path):
    """Return a function: a fleet of one node, n1, at a port, or of other targets."""

    def fleet(port, user="root", known="known_hosts", **more):
        if "credentials" not in more:
            more.setdefault("key", tmp_path / "id")
        targets = port if isinstance(port, list) else [Target("n1", "127.0.0.1", port, user)]
        return SshFleet(targets, known_hosts=tmp_path / known, **more)

    return fleet


@pytest.fixture
def fleet(server, pinned, reach):
    with reach(server.port) as fleet:
        yield fleet
