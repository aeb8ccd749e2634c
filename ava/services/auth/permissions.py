"""Who may do what: the table permissions.yml, and the one place that asks it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import cast

import yaml

from ava.domain.phrases import Phrase, noun
from ava.domain.problems import ApiError, Problem, missing

WHO = ("anyone", "user", "owner", "member", "admin")


@cache
def table() -> Mapping[str, frozenset[str]]:
    """Return action to who may; ValueError for a word that names no one."""
    data = cast(
        Mapping[str, list[str]], yaml.safe_load(Path(__file__).with_name("permissions.yml").read_text())
    )
    if wrong := {w for who in data.values() for w in who} - set(WHO):
        raise ValueError(f"permissions.yml: unknown: {', '.join(sorted(wrong))}")
    return {action: frozenset(who) for action, who in data.items()}


def allowed(action: str, relations: Iterable[str]) -> bool:
    """Whether somebody who is all these may do it; an unknown action is no one's."""
    return bool(table().get(action, frozenset()) & frozenset(relations))


def unauthenticated() -> ApiError:
    """Return the refusal for who is not logged in."""
    return ApiError(
        401,
        Problem(
            "not-logged-in",
            Phrase("Authentication required."),
            "request",
            Phrase("no valid session or token"),
            Phrase("the cookie of a session, or `Authorization: Bearer TOKEN`"),
            Phrase("Log in, or make a new token."),
        ),
    )


def permit(action: str, relations: Iterable[str], *, what: str, where: str) -> None:
    """Return if the action is allowed.

    Args:
        action: a key of permissions.yml; what stands before its dot has ``show``, if it is about single objects.
        relations: what who asks is to the object.
        what: the object in words; empty for a list.
        where: where the request names it.

    Raises:
        ApiError: 404 where not even its existence is theirs to know, else 403.
    """
    mine = frozenset(relations)
    if allowed(action, mine):
        return
    show = f"{action.partition('.')[0]}.show"
    if show in table() and action != f"{action.partition('.')[0]}.list" and not allowed(show, mine) and what:
        raise missing(what, where)
    who = ", ".join(w for w in WHO if w in table().get(action, ()))
    raise ApiError(
        403,
        Problem(
            "not-allowed",
            Phrase("Permission denied."),
            where,
            ", ".join(w for w in WHO if w in mine and w != "anyone") or "nobody",
            Phrase("one of: {names}", names=noun(who)) if who else "no caller may",
            Phrase("Ask an administrator."),
        ),
    )
