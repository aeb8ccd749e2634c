"""The form of a data set: a name, and of the source that is chosen what its kind wants to know.

The kinds and their fields are the domain's own (``ava.domain.data_sets.Source``): one that is added there has a form here
at once. Its words are in ``labels``; without them the names of the domain stand there.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ava.domain import data_sets
from ava.domain.problems import ApiError, Problem
from ava.schemas.data_sets import DataSetMake
from ava.services.auth import permissions
from ava.services.auth.authorization import relations
from ava.services.auth.caller import Caller
from ava.services.config import Config
from ava.services.context import Context
from ava.services.runs.rules import sources
from ava.web import forms

OWN = "folder"
"""The source that everybody may have."""
KINDS = data_sets.KINDS
GIB = 2**30


def fields(kind: str) -> list[str]:
    """Return what a kind of source wants to know, in the order of its form."""
    return [name for name in KINDS[kind].model_fields if name != "kind"]


def needed(kind: str) -> set[str]:
    """Return those of them that have to be filled in."""
    return {name for name in fields(kind) if KINDS[kind].model_fields[name].is_required()}


def offered(context: Context, caller: Caller) -> list[str]:
    """Return the kinds that somebody may make data sets of, by the table of roles."""
    # Asked of the table itself: to be shown no form is no refusal, which would be written down.
    return (
        list(KINDS) if permissions.allowed("sources.make", relations(context, caller, None, None)) else [OWN]
    )


def read(form: forms.Form, kind: str) -> DataSetMake:
    """Return the API's request; ApiError 422 with all that is wrong with the form, each at its field."""
    asked = {name: form.text(name) for name in fields(kind)}
    plain = {"kind": kind} | {k: v for k, v in asked.items() if v or k in needed(kind)}
    body: dict[str, object] = {"name": form.text("name"), "source": plain}
    if kind == OWN and form.text("quota"):
        body["quota"] = forms.scaled(form.text("quota"), GIB)
    return forms.as_model(DataSetMake, body)


def wrong(form: forms.Form, kind: str, config: Config) -> list[Problem]:
    """Return all that is wrong with a form, and why the site has no such source."""
    found: list[Problem] = []
    try:
        read(form, kind)
    except ApiError as refused:
        found = list(refused.problems)
    at = {field_of(problem) for problem in found}
    more = lacking(kind, config, {name: form.text(name) for name in fields(kind)})
    return found + [problem for problem in more if field_of(problem) not in at]


def lacking(kind: str, config: Config, given: Mapping[str, Any]) -> list[Problem]:
    """Return why the site has no such source; of what is not filled in yet nothing is stated."""
    try:
        sources.allowed({"kind": kind, **given}, config)
    except ApiError as refused:
        return [p for p in refused.problems if given.get(at := field_of(p)) or not known(kind, at, config)]
    return []


def field_of(problem: Problem) -> str:
    """Return the field of the form that a problem is about."""
    return problem.where.removeprefix("body.").removeprefix("source.")


def by_field(found: list[Problem]) -> dict[str, list[Problem]]:
    """Return problems by the fields of the form."""
    by: dict[str, list[Problem]] = {}
    for problem in found:
        by.setdefault(field_of(problem), []).append(problem)
    return by


def known(kind: str, field: str, config: Config) -> tuple[str, ...]:
    """Return what the site allows there, where it has a list of it (``nfs_servers``): the form proposes it."""
    return tuple(getattr(config, f"{kind}_{field}s", ()))
