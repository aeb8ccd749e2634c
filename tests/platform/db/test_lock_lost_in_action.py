"""A data set's lock that PostgreSQL took away while the file system hung: what cannot be undone is not done."""

from __future__ import annotations

import time
from urllib.parse import quote

import pytest

from ava.db.database import open_database
from ava.domain.problems import ApiError
from tests.unit.ava.db.world import NOW

SHORT = quote("-c idle_in_transaction_session_timeout=500 -c timezone=UTC")


@pytest.mark.parametrize("hangs, done", [(0.1, True), (1.5, False)])
def test_a_lock_that_was_lost_ends_the_action_before_its_last_step(server, database, world, hangs, done):
    id = world.db.data_sets.create("ann", "digits", {"kind": "folder"}, NOW).id
    impatient = open_database(server.url(database) + f"&options={SHORT}")
    steps = []

    def action(still):
        time.sleep(hangs)
        still()
        steps.append("file put in place")

    if done:
        impatient.data_sets.while_unused(id, action)
    else:
        with pytest.raises(ApiError) as caught:
            impatient.data_sets.while_unused(id, action)
        assert caught.value.status == 503
    assert bool(steps) is done
    impatient.close()
