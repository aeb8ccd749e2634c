"""A ledger in SQLite, migrated once and copied for each test."""

import shutil

import pytest

from ava.store.open import migrate, open_store
from tests.unit.ava.store.world import World


@pytest.fixture(scope="session")
def migrated(tmp_path_factory):
    path = tmp_path_factory.mktemp("ledger") / "migrated.db"
    migrate(f"sqlite:///{path}")
    return path


@pytest.fixture
def url(tmp_path, migrated):
    shutil.copy(migrated, tmp_path / "ledger.db")
    return f"sqlite:///{tmp_path / 'ledger.db'}"


@pytest.fixture
def store(url):
    store = open_store(url)
    yield store
    store.close()


@pytest.fixture
def world(store):
    return World(store)
