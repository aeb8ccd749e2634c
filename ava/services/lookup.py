"""Lookup of what a request names."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from ava.domain.phrases import Phrase, noun
from ava.domain.problems import ApiError, missing
from ava.services.auth.caller import Caller

T = TypeVar("T")


def find(ask: Callable[[str], T], what: str, ref: str, where: str) -> T:
    """Return the object that a reference names; an unknown one is refused in the same words as one of another user."""
    try:
        return ask(ref)
    except ApiError as refused:
        if refused.status == 404:
            raise missing(Phrase("{kind} {name}", kind=noun(what), name=ref), where) from None
        raise


def user_name(caller: Caller, ref: str) -> str:
    """Return the user name that a reference means: ``me`` is the caller."""
    return caller.me.name if ref == "me" else ref
