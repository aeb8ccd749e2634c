"""The database's contract, as it is held on SQLite, on PostgreSQL."""
# ruff: noqa: F403

from tests.unit.ava.db.test_db_audit import *
from tests.unit.ava.db.test_db_charges import *
from tests.unit.ava.db.test_db_data_sets import *
from tests.unit.ava.db.test_db_definitions import *
from tests.unit.ava.db.test_db_groups import *
from tests.unit.ava.db.test_db_heartbeats import *
from tests.unit.ava.db.test_db_keys import *
from tests.unit.ava.db.test_db_node_drains import *
from tests.unit.ava.db.test_db_offboarding import *
from tests.unit.ava.db.test_db_outbox import *
from tests.unit.ava.db.test_db_pods import *
from tests.unit.ava.db.test_db_pools import *
from tests.unit.ava.db.test_db_queues import *
from tests.unit.ava.db.test_db_races import *
from tests.unit.ava.db.test_db_runs import *
from tests.unit.ava.db.test_db_secrets import *
from tests.unit.ava.db.test_db_users import *
