"""The ledger's contract, as it is held on SQLite, on PostgreSQL."""
# ruff: noqa: F403

import pytest

from tests.unit.ava.store.test_store_access import *
from tests.unit.ava.store.test_store_bad_input import *
from tests.unit.ava.store.test_store_charges import *
from tests.unit.ava.store.test_store_data_sets import *
from tests.unit.ava.store.test_store_definitions import *
from tests.unit.ava.store.test_store_groups import *
from tests.unit.ava.store.test_store_hand import *
from tests.unit.ava.store.test_store_people import *
from tests.unit.ava.store.test_store_races import *
from tests.unit.ava.store.test_store_runs import *
from tests.unit.ava.store.test_store_settings import *

pytestmark = pytest.mark.platform
