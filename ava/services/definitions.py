"""Definitions of workbenches, trainings and services: store, list, delete, start."""

from __future__ import annotations

from typing import Any

from pydantic import ValidationError

from ava.domain.model import Definition, Kind
from ava.domain.phrases import Phrase
from ava.domain.problems import ApiError
from ava.domain.spec import Spec
from ava.schemas.common import Paged
from ava.schemas.definitions import DefinitionMake, DefinitionsQuery, Start
from ava.schemas.runs import DefinitionOut, RunOut
from ava.schemas.validation import problems
from ava.services import pagination, serializers
from ava.services.auth.authorization import authorize, record_change
from ava.services.auth.caller import Caller
from ava.services.context import Context
from ava.services.lookup import find
from ava.services.runs import submit
from ava.services.runs.runs import with_states


def _definition(context: Context, caller: Caller, id: str, action: str) -> Definition:
    found = find(context.db.definitions.get, "definition", id, "path.id")
    authorize(
        context, caller, action, owner=found.owner, what=Phrase("definition {id}", id=id), where="path.id"
    )
    return found


def list_definitions(context: Context, caller: Caller, query: DefinitionsQuery) -> Paged[DefinitionOut]:
    """Return stored definitions, newest first."""
    authorize(context, caller, "definitions.list-all" if query.all else "definitions.list")
    scope = f"definitions {query.all} {query.kind} {query.name}"
    found = context.db.definitions.list(
        owner=None if query.all else caller.me.name,
        kind=Kind(query.kind) if query.kind else None,
        name=query.name,
        after=pagination.opened(context, caller, query, scope),
        limit=query.limit,
    )
    return pagination.page(context, caller, found, scope, serializers.definition)


def make_definition(context: Context, caller: Caller, body: DefinitionMake) -> DefinitionOut:
    """Store a definition. Kind and name are its key: the same again changes nothing, another one is 409 unless ``replace``."""
    authorize(context, caller, "definitions.make")
    submit.check(context, caller, caller.me, body.spec)
    db, kind = context.db, Kind(body.spec.kind)
    with record_change(context, caller, "definitions.make", f"{kind} {body.name}"):
        made = db.definitions.save(
            caller.me.name,
            kind,
            body.name,
            submit.to_document(body.spec),
            context.clock(),
            replace=body.replace,
        )
    return serializers.definition(made)


def show_definition(context: Context, caller: Caller, id: str) -> DefinitionOut:
    """Return a definition."""
    return serializers.definition(_definition(context, caller, id, "definitions.show"))


def delete_definition(context: Context, caller: Caller, id: str) -> None:
    """Delete a definition of which nothing runs; its runs stay known."""
    found = _definition(context, caller, id, "definitions.delete")
    with record_change(context, caller, "definitions.delete", f"definition {found.id}"):
        context.db.definitions.delete(found.id, context.clock())


def start(
    context: Context, caller: Caller, id: str, body: Start, idempotency_key: str | None = None
) -> RunOut:
    """Start a definition; the run is charged to one's default group of this moment (U6). The same key again is the same run."""
    found = _definition(context, caller, id, "definitions.start")
    key = submit.key_of(idempotency_key, body.key)
    changes = body.model_dump(exclude_none=True, exclude={"key"})
    spec = _spec(found, changes)
    submit.check(context, caller, caller.me, spec)
    with record_change(context, caller, "runs.make", f"definition {found.id}"):
        run = submit.start(context, caller, found, spec, key)
    return with_states(context, caller, [run])[0]


def _spec(found: Definition, changes: dict[str, Any]) -> Spec:
    """Return what is started; ApiError 409 for a definition that an earlier version took and this one does not."""
    try:
        return Spec.model_validate(found.spec | changes)
    except ValidationError as error:
        raise ApiError(409, *problems(error.errors(include_url=False))) from None
