"""Bad input of the database's contract, which is refused on SQLite, on PostgreSQL."""
# ruff: noqa: F403

import pytest

from tests.unit.ava.db.test_db_bad_input import *

pytestmark = pytest.mark.slow
