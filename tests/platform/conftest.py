"""What tests on real parts of the platform share. Async fixtures are none: each test runs its own loop."""

import pytest

from tests.platform.apiserver import api_server


@pytest.fixture(scope="session")
def apiserver():
    """A real kube-apiserver 1.9.11 with its etcd, no nodes, no controllers; shared by all tests of the session."""
    with api_server() as server:
        yield server
