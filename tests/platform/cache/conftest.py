"""An API server before the cache that a module's fixture ``cache`` has."""

import asyncio

import pytest

from tests.platform.apiserver import api_server
from tests.platform.cache_services import gates, publish


@pytest.fixture(scope="module")
def published(cache, tmp_path_factory):
    """An API server as the role starts it where the site has a cache: it forwards to this one for the storage service."""
    with api_server(gates=gates()) as server:
        asyncio.run(publish(server, cache, tmp_path_factory.mktemp("published")))
        yield server
