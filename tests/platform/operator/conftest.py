"""A ledger in SQLite with a group, a user and pools."""

import pytest

from ava.store.open import open_store
from tests.unit.ava import ledger
from tests.unit.ava.operator.room import furnish


@pytest.fixture
def store(tmp_path):
    store = open_store(ledger.copied(tmp_path))
    furnish(store)
    yield store
    store.close()
