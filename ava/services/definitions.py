"""Definitions of workbenches, trainings and services: store, list, delete, start."""

from __future__ import annotations

from typing import Any

from pydantic import ValidationError

from ava.domain.model import Definition, Kind
from ava.domain.problems import ApiError
from ava.domain.spec import Spec
from ava.schemas.common import Paged
from ava.schemas.definitions import DefinitionMake, DefinitionsQuery, Start
from ava.schemas.runs import DefinitionOut, RunOut
from ava.schemas.validation import problems
from ava.services import pagination, serializers
from ava.services.auth.caller import Caller
from ava.services.lookup import find
from ava.services.runs import submit
from ava.services.runs.runs import with_states


def _definition(who: Caller, id: str, action: str) -> Definition:
    found = find(who.services.store.definition, "definition", id, "path.id")
    who.may(action, owner=found.owner, what=f"definition {id}", where="path.id")
    return found


def list_definitions(who: Caller, query: DefinitionsQuery) -> Paged[DefinitionOut]:
    """Return stored definitions, newest first."""
    who.may("definitions.list-all" if query.all else "definitions.list")
    scope = f"definitions {query.all} {query.kind} {query.name}"
    found = who.services.store.definitions(
        owner=None if query.all else who.me.name,
        kind=Kind(query.kind) if query.kind else None,
        name=query.name,
        after=pagination.opened(who, query, scope),
        limit=query.limit,
    )
    return pagination.page(who, found, scope, serializers.definition)


def make_definition(who: Caller, body: DefinitionMake) -> DefinitionOut:
    """Store a definition. Kind and name are its key: the same again changes nothing, another one is 409 unless ``replace``."""
    who.may("definitions.make")
    submit.check(who, who.me, body.spec)
    store, kind = who.services.store, Kind(body.spec.kind)
    with who.change("definitions.make", f"{kind} {body.name}"):
        made = store.save_definition(
            who.me.name,
            kind,
            body.name,
            submit.to_document(body.spec),
            who.services.clock(),
            replace=body.replace,
        )
    return serializers.definition(made)


def show_definition(who: Caller, id: str) -> DefinitionOut:
    """Return a definition."""
    return serializers.definition(_definition(who, id, "definitions.show"))


def delete_definition(who: Caller, id: str) -> None:
    """Delete a definition of which nothing runs; its runs stay known."""
    found = _definition(who, id, "definitions.delete")
    with who.change("definitions.delete", f"definition {found.id}"):
        who.services.store.delete_definition(found.id, who.services.clock())


def start(who: Caller, id: str, body: Start, idempotency_key: str | None = None) -> RunOut:
    """Start a definition; the run is charged to one's default group of this moment (U6). The same key again is the same run."""
    found = _definition(who, id, "definitions.start")
    key = submit.key_of(idempotency_key, body.key)
    changes = body.model_dump(exclude_none=True, exclude={"key"})
    spec = _spec(found, changes)
    submit.check(who, who.me, spec)
    with who.change("runs.make", f"definition {found.id}"):
        run = submit.start(who, found, spec, key)
    return with_states(who, [run])[0]


def _spec(found: Definition, changes: dict[str, Any]) -> Spec:
    """Return what is started; ApiError 409 for a definition that an earlier version took and this one does not."""
    try:
        return Spec.model_validate(found.spec | changes)
    except ValidationError as error:
        raise ApiError(409, *problems(error.errors(include_url=False))) from None
