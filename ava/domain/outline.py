"""How large a definition may be, and its outline: what lists, queues and placement need of it, which is small.

A definition's variables and commands are its user's text. Lists and the rounds of the scheduler read outlines alone, so that what
they take does not grow with what users wrote.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from ava.domain.phrases import Phrase
from ava.domain.problems import Problem

SPEC_BYTES = 64 * 2**10
"""Of a whole definition, as JSON."""
COMMAND_BYTES = 16 * 2**10
"""Of one command: each pod of a run carries it."""
_LEFT_OUT = frozenset({"command", "env", "git", "data_sets", "after"})


def outline(spec: Mapping[str, Any]) -> dict[str, Any]:
    """Return a definition without its variables, commands, code and data: a few KiB at most of one that is valid."""
    found = {name: value for name, value in spec.items() if name not in _LEFT_OUT}
    if isinstance(roles := found.get("roles"), list | tuple):
        found["roles"] = [_role(role) for role in roles]
    return found


def columns(spec: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Return the columns of a row that keeps a definition."""
    # What is no mapping the columns themselves refuse.
    return {"spec": dict(spec), "outline": outline(spec)} if isinstance(spec, Mapping) else {"spec": spec}


def size_problems(spec: Mapping[str, Any], where: str = "spec") -> Sequence[Problem]:
    """Return what of a definition is larger than it may be."""
    if not isinstance(spec, Mapping):
        return []
    problems = []
    if (found := _size(spec)) > SPEC_BYTES:
        problems.append(
            _large(
                Phrase("The definition is too large."),
                where,
                found,
                SPEC_BYTES,
                Phrase("Put long values into files."),
            )
        )
    roles = spec.get("roles") or ()
    commands = {f"{where}.roles[{i}].command": role.get("command") for i, role in enumerate(roles)}
    for place, command in ({f"{where}.command": spec.get("command")} | commands).items():
        if command and (found := _size(command)) > COMMAND_BYTES:
            remedy = Phrase(
                "Put it into a script of the image, of the code or of a data set, and start that."
            )
            problems.append(_large(Phrase("The command is too large."), place, found, COMMAND_BYTES, remedy))
    return problems


def _large(what: str, where: str, found: int, most: int, remedy: str) -> Problem:
    return Problem(
        "definition-too-large",
        what,
        where,
        Phrase("{size} bytes as JSON", size=found),
        Phrase("at most {most}", most=most),
        remedy,
    )


def _size(value: Any) -> int:
    """Return the bytes of a value as JSON; 0 of what is none, which the database itself refuses."""
    try:
        text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=dict)
    except (TypeError, ValueError, RecursionError):
        return 0
    return len(text.encode(errors="replace"))


def _role(role: Any) -> Any:
    return {n: v for n, v in role.items() if n != "command"} if isinstance(role, Mapping) else role
