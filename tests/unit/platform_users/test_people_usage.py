"""`avadm ava usage`: the database's charges of a month, by user, by group, the same each time."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import pytest
from click.testing import Result

from ava.client import Client
from avadm.platform_users.usage import report
from tests.unit.ava.served import Served

Verb = Callable[..., Result]


@pytest.fixture
def used(served: Served) -> Served:
    """Ann has had two GPUs for three hours, ben one for the last hour of the month and the first of the next."""
    two = {"roles": [{"each": {"gpu": 2, "cpu": 1000, "memory": 2**30}}]}
    one = {"roles": [{"each": {"gpu": 1, "cpu": 1000, "memory": 2**30}}]}
    run = served.run("ann", **two)["id"]
    served.admit(run)
    served.now += timedelta(hours=3)
    served.finish(run)
    later = served.run("ben", **one)["id"]
    served.now = datetime(2026, 11, 30, 23, tzinfo=UTC)
    served.admit(later)
    served.now += timedelta(hours=2)
    served.finish(later)
    return served


def rows(done: Result) -> list[dict[str, str]]:
    assert done.exit_code == 0, (done.output, done.exception)
    return list(csv.DictReader(io.StringIO(done.stdout)))


def test_a_month_is_exported_by_user_and_group_and_ends_where_it_ends(used: Served, verb: Verb) -> None:
    found = rows(verb("usage", "--month", "2026-11", "--csv"))
    assert [(r["user"], r["group"], r["gpu_hours"]) for r in found] == [
        ("ann", "vision", "6.0000"),
        ("ben", "vision", "1.0000"),
    ]
    assert [(r["user"], r["gpu_hours"]) for r in rows(verb("usage", "--month", "2026-12", "--csv"))] == [
        ("ben", "1.0000")
    ]


def test_sums_by_group_and_by_user_are_of_the_same_rows(used: Served, verb: Verb) -> None:
    [row] = rows(verb("usage", "--month", "2026-11", "--by", "group", "--csv"))
    assert (row["group"], row["user"], row["runs"], row["gpu_hours"]) == ("vision", "", "2", "7.0000")
    by_user = json.loads(verb("usage", "--month", "2026-11", "--by", "user", "--json").stdout)["rows"]
    assert [(r["user"], r["group"], r["gpu_hours"]) for r in by_user] == [
        ("ann", "", "6.0000"),
        ("ben", "", "1.0000"),
    ]


def test_a_month_that_is_over_is_the_same_whenever_it_is_asked_for(used: Served, root: Client) -> None:
    first = report(root, "2026-11", None, now=datetime(2026, 12, 1, tzinfo=UTC))
    used.now += timedelta(hours=20)
    assert report(root, "2026-11", None, now=used.now) == first
    assert first.final
    assert not report(root, "2026-11", None, now=datetime(2026, 11, 30, 23, 59, tzinfo=UTC)).final


@pytest.mark.parametrize("month", ["2026-13", "11-2026", "2099-01", "; DROP"])
def test_what_is_no_month_that_has_begun_is_refused(used: Served, verb: Verb, month: str) -> None:
    done = verb("usage", "--month", month)
    assert done.exit_code != 0 and not done.stdout
