"""What a run comes after: ids of runs, or names of one's own trainings (U8)."""

from __future__ import annotations

from ava.domain.model import Kind
from ava.domain.names import is_id
from ava.domain.phrases import Phrase
from ava.domain.problems import ApiError, Problem
from ava.domain.spec import Spec
from ava.services.auth.caller import Caller
from ava.services.context import Context


def predecessors(context: Context, caller: Caller, spec: Spec) -> list[str]:
    """Return the ids of the runs that have to succeed first; ApiError 422 with all names of which there is none.

    Only one's own runs: whether others' succeed is nothing that anybody may learn by waiting for them.
    """
    found: list[str] = []
    wrong: list[Problem] = []
    for index, name in enumerate(spec.after):
        id = (_by_id(context, caller, name) if is_id(name) else None) or _newest(context, caller, name)
        if id is None:
            wrong.append(
                Problem(
                    "after-unknown",
                    Phrase("There is no run of yours to come after."),
                    f"body.spec.after[{index}]",
                    name,
                    Phrase("the id of a run, or the name of a training that was started"),
                    Phrase("See `ava list`."),
                )
            )
        else:
            found.append(id)
    if wrong:
        raise ApiError(422, *wrong)
    return found


def _by_id(context: Context, caller: Caller, id: str) -> str | None:
    try:
        run = context.db.runs.get(id)
    except ApiError as refused:
        if refused.status != 404:
            raise
        return None
    return run.id if run.owner == caller.me.name else None


def _newest(context: Context, caller: Caller, name: str) -> str | None:
    db = context.db
    made = db.definitions.list(owner=caller.me.name, kind=Kind.TRAINING, name=name, limit=1).items
    runs = db.runs.list(definition=made[0].id, limit=1).items if made else ()
    return runs[0].id if runs else None
