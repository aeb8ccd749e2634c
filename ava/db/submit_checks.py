"""What is wrong with a request to run something."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlalchemy import Connection, Row, func, select

from ava.db.tables import runs
from ava.domain.model import Kind, Phase, UserState
from ava.domain.names import name_problems, shown
from ava.domain.phrases import Phrase, noun
from ava.domain.problems import ApiError, Problem, conflict
from ava.domain.quota import asks_problems
from ava.domain.resources import Resources

KEY_LENGTH = 200
MOST_QUEUED = 1000
"""Queued runs of one user. Requests at the same moment may exceed it by a few, which does no harm."""
PRIORITIES = range(1001)


def check_submission(asks: Resources, key: str, priority: int, cluster: str) -> Sequence[Problem]:
    """Return all that is wrong with the amounts, the key, the priority and the cluster's name."""
    problems = [*asks_problems(asks), *name_problems(cluster, "cluster")]
    if not isinstance(key, str) or not 0 < len(key) <= KEY_LENGTH or not key.isprintable():
        problems.append(
            Problem(
                "key-invalid",
                Phrase("The key that makes a repeated request harmless is not valid."),
                "key",
                shown(str(key)),
                Phrase("1 to {most} printable characters", most=KEY_LENGTH),
                Phrase("Send a UUID for each run that is wanted."),
            )
        )
    if isinstance(priority, bool) or priority not in PRIORITIES:
        found, wanted = str(priority)[:40], f"an integer from 0 to {PRIORITIES[-1]}"
        problems.append(
            Problem("number-invalid", Phrase("The priority is out of range."), "priority", found, wanted)
        )
    return problems


def check_may_run(connection: Connection, person: Row[Any], what: Row[Any]) -> None:
    """Refuse a run that its owner, the definition's state or the runs that there are do not allow."""
    if person.state != UserState.ACTIVE:
        raise conflict(
            "user-not-active",
            Phrase("{person} may not run anything.", person=person.name),
            "owner",
            Phrase("Ask an administrator."),
            found=person.state,
            wanted=Phrase("active"),
        )
    if person.default_group is None:
        remedy = Phrase("Ask an administrator to put the user into a group.")
        raise conflict(
            "no-group",
            Phrase("{person} is in no group, so nothing can be charged.", person=person.name),
            "owner",
            remedy,
        )
    if what.deleted is not None:
        remedy = Phrase("Store it again.")
        raise conflict(
            "definition-deleted", Phrase("{name} was deleted.", name=what.name), "definition", remedy
        )
    queued = (
        select(func.count())
        .select_from(runs)
        .where(runs.c.owner == person.name, runs.c.phase == Phase.QUEUED)
    )
    if (waiting := connection.execute(queued).scalar_one()) >= MOST_QUEUED:
        raise conflict(
            "queue-limit-exceeded",
            Phrase("{person} has as many runs waiting as one user may have.", person=person.name),
            "owner",
            Phrase("Wait until some have begun, or stop some."),
            found=str(waiting),
            wanted=Phrase("less than {most}", most=MOST_QUEUED),
        )
    if what.kind not in (Kind.WORKBENCH, Kind.SERVICE):
        return
    if (other := running(connection, what)) is not None:
        raise already_running(what, other)


def already_running(what: Row[Any], other: str) -> ApiError:
    """Return the refusal of a second run of a workbench or service; ``other`` is the first one's id."""
    return conflict(
        f"{what.kind}-running",
        Phrase("The {kind} {name} has a run already.", kind=noun(what.kind), name=what.name),
        "definition",
        Phrase("Use that one, or stop it and wait until it has finished."),
        found=other,
    )


def running(connection: Connection, what: Row[Any]) -> str | None:
    """Return the id of the definition's run that has not finished, None without one."""
    query = select(runs.c.id).where(runs.c.definition == what.id, runs.c.phase != Phase.FINISHED)
    return connection.execute(query).scalar()
