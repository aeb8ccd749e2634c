"""A user is shut out or leaves a group while the connection breaks: all of it is done, or nothing."""

from __future__ import annotations

import pytest

from ava.db import offboarding, runs
from ava.domain.model import Phase
from ava.domain.problems import ApiError
from tests.unit.ava.db.test_db_offboarding import CHANGES, snapshot, three_runs  # noqa: F401


@pytest.mark.parametrize("change", CHANGES)
def test_cut_connection_leaves_nothing_half_done(world, server, database, three_runs, change, monkeypatch):  # noqa: F811
    before = snapshot(world, three_runs)

    def stop_run(connection, run, now, *, by):
        stopped = runs.stop_run(connection, run, now, by=by)
        if run == three_runs[1]:
            server.cut(database)
        return stopped

    with monkeypatch.context() as planted:
        planted.setattr(offboarding, "stop_run", stop_run)
        with pytest.raises(ApiError) as refused:
            CHANGES[change](world.db)
    assert refused.value.status == 503
    assert snapshot(world, three_runs) == before
    CHANGES[change](world.db)
    assert world.db.runs.get(three_runs[1]).phase is Phase.FINISHED
