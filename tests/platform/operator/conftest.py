"""A database in SQLite with a group, a user and pools."""

import pytest

from ava.db.database import open_database
from tests.unit.ava import migrated_database
from tests.unit.ava.operator.fake_cluster import furnish


@pytest.fixture
def db(tmp_path):
    db = open_database(migrated_database.copied(tmp_path))
    furnish(db)
    yield db
    db.close()
