"""A small world in a database."""

import pytest

from tests.unit.ava.db.world import World


@pytest.fixture
def world(db):
    return World(db)
