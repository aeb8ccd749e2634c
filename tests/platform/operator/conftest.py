"""A ledger in SQLite with a group, a user and pools."""

import shutil

import pytest

from ava.store.open import migrate, open_store
from tests.unit.ava.operator.room import furnish


@pytest.fixture(scope="session")
def empty(tmp_path_factory):
    path = tmp_path_factory.mktemp("ledger") / "ledger.db"
    migrate(f"sqlite:///{path}")
    return path


@pytest.fixture
def store(tmp_path, empty):
    shutil.copy(empty, tmp_path / "ledger.db")
    store = open_store(f"sqlite:///{tmp_path / 'ledger.db'}")
    furnish(store)
    yield store
    store.close()
