"""What pydantic finds wrong, as problems in the platform's words; values that are secret are never repeated."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from pydantic import BaseModel, ValidationError

from ava.domain.phrases import Phrase, noun
from ava.domain.problems import Problem, ValidationProblems
from ava.schemas.field_phrases import KNOWN

SECRET = frozenset({"password", "current", "new", "private_key", "token", "secret"})
"""Names of fields whose values are never shown."""
LONGEST = 120
"""Characters of a value that are shown."""
_WANTED = {
    "missing": "this field",
    "json_invalid": "JSON (RFC 8259)",
    "int_type": Phrase("a whole number"),
    "int_parsing": Phrase("a whole number"),
    "int_from_float": Phrase("a whole number"),
    "float_type": Phrase("a number"),
    "float_parsing": Phrase("a number"),
    "bool_type": Phrase("true or false"),
    "bool_parsing": Phrase("true or false"),
    "string_type": Phrase("text"),
    "dict_type": Phrase("an object"),
    "model_type": Phrase("an object"),
    "model_attributes_type": Phrase("an object"),
    "list_type": "a list",
    "tuple_type": "a list",
    "datetime_type": "a time as RFC 3339 has it",
    "datetime_from_date_parsing": "a time as RFC 3339 has it",
    "datetime_parsing": "a time as RFC 3339 has it",
}
EXPLAINED = {
    r"^[a-z]([-a-z0-9]{0,30}[a-z0-9])?$": Phrase(
        "1 to 32 lower-case letters, digits and '-', a letter first, no '-' last"
    ),
    r"^[a-z]([-a-z0-9]{0,61}[a-z0-9])?$": Phrase(
        "1 to 63 lower-case letters, digits and '-', a letter first, no '-' last"
    ),
    r"^[a-z]([-a-z0-9]{0,18}[a-z0-9])?$": Phrase(
        "1 to 20 lower-case letters, digits and '-', a letter first, no '-' last"
    ),
    r"^[a-z0-9]([-a-z0-9._]{0,98}[a-z0-9])?$": (
        Phrase("1 to 100 lower-case letters, digits, '-', '.' and '_', a letter or digit first and last")
    ),
    r"^[a-z0-9]([-a-z0-9._]{0,198}[a-z0-9])?$": (
        Phrase("1 to 200 lower-case letters, digits, '-', '.' and '_', a letter or digit first and last")
    ),
    r"^[^\x00-\x1f\x7f]*$": Phrase("text without control characters"),
    r"^[\x21-\x7e]{1,200}$": Phrase("1 to 200 printable ASCII characters without blanks"),
    r"^[A-Za-z0-9][A-Za-z0-9._-]*$": Phrase("letters, digits, '-', '.' and '_', a letter or digit first"),
    r"^[A-Za-z0-9]([A-Za-z0-9._/-]*[A-Za-z0-9])?$": Phrase("a label's key, such as example.org/kind"),
    r"^([A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?)?$": Phrase(
        "a label's value: letters, digits, '-', '.' and '_'"
    ),
    r"^[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?$": Phrase(
        "a label's value: letters, digits, '-', '.' and '_'"
    ),
    r"^[A-Za-z0-9][A-Za-z0-9._/:@-]*$": Phrase("an image's name, such as registry.example.org/torch:2"),
    r"^[A-Za-z_][A-Za-z0-9_]{0,127}$": Phrase("1 to 128 letters, digits and '_', no digit first"),
    r"^(https://|ssh://|git@)[^\s]+$": Phrase("an address that begins with https://, ssh:// or git@"),
    r"^[0-9a-f]{7,64}$": Phrase("7 to 64 hexadecimal digits in lower case"),
    r"^/[!-~]*$": Phrase("a path that begins with /"),
    r"^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$": Phrase("a node's name"),
    r"^[A-Za-z0-9_][A-Za-z0-9._-]*(/[A-Za-z0-9_][A-Za-z0-9._-]*)*$": Phrase(
        "a path of plain names, such as s3/faces"
    ),
    r"^(/[A-Za-z0-9_][A-Za-z0-9._-]*)+$": Phrase(
        "a path of plain names from the root, such as /export/faces"
    ),
    r"^[A-Za-z0-9_][A-Za-z0-9._-]*$": Phrase("letters, digits, '-', '.' and '_', no '-' or '.' first"),
    r"^[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)*$": Phrase(
        "a host name or an IPv4 address"
    ),
    r"^20[0-9]{2}-(0[1-9]|1[0-2])$": Phrase("a month, such as 2026-11"),
}
"""Patterns of the API's fields in words; a pattern that is not here is shown itself."""
_HOMES = {
    "": "the top of the definition",
    "roles": "an item of roles (roles: [{...}])",
    "each": "each of a role (roles: [{each: {...}}])",
    "git": "git",
    "data_sets": "an item of data_sets",
    "serving": "serving",
    "scaling": "serving.scaling",
}
"""Where the fields of each part of a definition stand."""
_LIMITS = {
    "ge": Phrase("at least {least}"),
    "gt": Phrase("more than {most}"),
    "le": Phrase("at most {most}"),
    "lt": Phrase("less than {most}"),
}


def problems(errors: Sequence[Any]) -> list[Problem]:
    """Return pydantic's (or FastAPI's) errors as problems, in order."""
    found: list[Problem] = []
    for error in _plain(errors):
        nested = error.get("ctx", {}).get("error")
        if isinstance(nested, ValidationError):
            # A part that was validated by its own rules (definitions.py): its errors stand below its place.
            inner = nested.errors(include_url=False)
            found += problems([{**e, "loc": (*error["loc"], *e["loc"])} for e in inner])
        elif isinstance(nested, ValidationProblems):
            found += [
                replace(p, where=place((*error["loc"], *filter(None, [p.where])))) for p in nested.problems
            ]
        else:
            found.append(_problem(error))
    return found


def _plain(errors: Sequence[Any]) -> Sequence[Any]:
    """Leave out that a list is too short where the reason is that its items are wrong, and so were not counted."""
    inside = {tuple(e["loc"][:-1]) for e in errors} | {tuple(e["loc"][:-2]) for e in errors}
    inside |= {tuple(e["loc"][:-3]) for e in errors}
    return [e for e in errors if e["type"] != "too_short" or tuple(e["loc"]) not in inside]


def place(loc: Sequence[int | str]) -> str:
    """Return a place as people write it: ``body.spec.roles[0].replicas``."""
    text = ""
    for part in loc:
        if part == "[key]":
            continue
        text += f"[{part}]" if isinstance(part, int) else f".{shown(part)}" if text else shown(part)
    return text


def shown(value: Any, *, hide: bool = False) -> str:
    """Return a value for a message: short, printable, nothing secret; containers by their size alone."""
    if hide:
        return Phrase("a secret (not shown)")
    if isinstance(value, dict):
        return f"an object of {len(value)} fields"
    if isinstance(value, (list, tuple)):
        return f"a list of {len(value)}"
    if value is None:
        return Phrase("nothing")
    text = str(value)[: LONGEST + 1] if isinstance(value, str) else repr(value)[: LONGEST + 1]
    plain = "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)
    return plain if len(plain) <= LONGEST else plain[:LONGEST] + "…"


def _problem(error: Any) -> Problem:
    kind, loc, ctx = str(error["type"]), tuple(error["loc"]), error.get("ctx") or {}
    where = place(loc)
    name = noun(shown(loc[-2] if loc[-1] == "[key]" else loc[-1]) if loc else "request")
    hide = bool(SECRET & {str(part) for part in loc})
    if kind == "json_invalid":
        return Problem(
            "json-invalid",
            Phrase("The body is not JSON."),
            "body",
            shown(ctx.get("error", "")),
            _WANTED[kind],
            Phrase("Send a JSON document, UTF-8."),
        )
    if kind == "missing":
        return Problem(
            "field-missing",
            Phrase("{name} is missing.", name=name),
            where,
            Phrase("nothing"),
            Phrase("a value"),
            Phrase("Add {name}.", name=name),
        )
    if kind == "extra_forbidden":
        return Problem(
            "field-unknown",
            Phrase("Unknown field {name}.", name=name),
            where,
            name,  # Its value may be a secret whose name was misspelt.
            Phrase("a known field"),
            _near(name, loc),
        )
    what, remedy = KNOWN.get(name) or (
        Phrase("Invalid value for {name}.", name=name),
        Phrase("Give {name} a value of this kind.", name=name),
    )
    return Problem(
        "value-invalid",
        what,
        where,
        shown(error.get("input"), hide=hide),
        _wanted(kind, ctx, str(error.get("msg", ""))),
        remedy,
    )


def _near(name: str, loc: Sequence[int | str]) -> str:
    """Return what to do about an unknown field: where a field of its name belongs, else the nearest known one of its level."""
    from ava.domain import spec

    levels: dict[str, type[BaseModel]] = {
        "": spec.Spec,
        "roles": spec.Role,
        "each": spec.Amount,
        "git": spec.Git,
        "data_sets": spec.DataSet,
        "serving": spec.Serving,
        "scaling": spec.Scaling,
    }
    level = next((str(part) for part in reversed(loc[:-1]) if isinstance(part, str)), "")
    here = levels.get("" if level in ("body", "spec") else level)
    fields = list(here.model_fields) if here is not None else known_fields()
    homes = [_HOMES[key] for key, model in levels.items() if model is not here and name in model.model_fields]
    if here is not None and homes:
        return Phrase("Move it to {places}.", places=" or ".join(homes))
    near = difflib.get_close_matches(name, [field for field in fields if field != name], n=1)
    return (
        Phrase("Did you mean {name}? Else leave it out.", name=noun(near[0]))
        if near
        else Phrase("Leave it out; the OpenAPI document has the fields.")
    )


def known_fields() -> list[str]:
    """Return the fields of definitions and of requests."""
    from ava.domain import data_sets, spec

    own = (spec.Spec, spec.Role, spec.Amount, spec.Git, spec.Serving, spec.Scaling, spec.DataSet)
    models: list[type[BaseModel]] = [*own, *data_sets.KINDS.values()]
    more = (
        "name",
        "spec",
        "kind",
        "key",
        "password",
        "email",
        "quota",
        "priority",
        "limit",
        "after",
        "label",
    )
    return sorted({*more, *(field for model in models for field in model.model_fields)})


def _wanted(kind: str, ctx: dict[str, Any], message: str) -> str:
    if kind in _WANTED:
        return _WANTED[kind]
    if kind in ("literal_error", "enum"):
        return Phrase("one of: {names}", names=str(ctx.get("expected", "")))
    if kind == "string_pattern_mismatch":
        pattern = str(ctx.get("pattern", ""))
        return EXPLAINED.get(pattern, Phrase("text that matches {pattern}", pattern=pattern))
    limits = {key: text for key, text in _LIMITS.items() if key in ctx}
    if limits.keys() == {"ge", "le"}:
        return Phrase("at least {least} and at most {most}", least=ctx["ge"], most=ctx["le"])
    texts = [Phrase(text, least=ctx[key], most=ctx[key]) for key, text in limits.items()]
    if texts:
        return texts[0] if len(texts) == 1 else " and ".join(texts)
    if "max_length" in ctx or "min_length" in ctx:
        least, most = ctx.get("min_length"), ctx.get("max_length")
        if most is None:
            if least == 1:
                return Phrase("text that is not empty")
            return Phrase("a length of at least {least}", least=least)
        return Phrase("a length of at most {most}", most=most)
    return message.removeprefix("Value error, ")
