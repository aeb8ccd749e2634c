"""A small world in a ledger."""

import pytest

from tests.unit.ava.store.world import World


@pytest.fixture
def world(store):
    return World(store)
