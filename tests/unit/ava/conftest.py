"""A database in SQLite for each test, and an AVA behind a server."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from ava.db.database import Database, open_database
from tests.unit.ava import migrated_database

if TYPE_CHECKING:
    from tests.unit.ava.served import Served


@pytest.fixture
def url(tmp_path: Path) -> str:
    return migrated_database.copied(tmp_path)


@pytest.fixture
def db(url: str) -> Iterator[Database]:
    db = open_database(url)
    yield db
    db.close()


@pytest.fixture
def served(tmp_path: Path) -> Iterator["Served"]:
    # Imported here: the others' tests do without all of the API.
    from tests.unit.ava.served import Served

    made = Served(tmp_path)
    yield made
    made.close()
