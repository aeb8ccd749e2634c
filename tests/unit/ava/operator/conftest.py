"""A ledger in SQLite, migrated once and copied for each test."""

import shutil

import pytest

from ava.store.open import migrate, open_store


@pytest.fixture(scope="session")
def empty_ledger(tmp_path_factory):
    path = tmp_path_factory.mktemp("operator") / "ledger.db"
    migrate(f"sqlite:///{path}")
    return path


@pytest.fixture
def store(tmp_path, empty_ledger):
    shutil.copy(empty_ledger, tmp_path / "ledger.db")
    store = open_store(f"sqlite:///{tmp_path / 'ledger.db'}")
    yield store
    store.close()
