"""Pages of lists: bounded, and with cursors that only this API can make, each for one list of one user."""

from __future__ import annotations

import base64
from collections.abc import Callable
from typing import Any, TypeVar

from ava.domain.model import Page
from ava.domain.phrases import Phrase
from ava.domain.problems import ApiError, Problem
from ava.schemas.common import Paged, PageQuery
from ava.services.auth.caller import Caller
from ava.services.context import Context

T = TypeVar("T")
U = TypeVar("U")


def opened(context: Context, caller: Caller, query: PageQuery, scope: str) -> str | None:
    """Return the database's cursor in a query's; ApiError 422 where it was not made here for this list and user."""
    if query.after is None:
        return None
    mark, _, text = query.after.partition(".")
    try:
        plain = base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)).decode()
    except ValueError:
        plain = ""
    if not plain or not context.sealer.is_ours(_marked(caller, scope, plain), mark):
        raise ApiError(
            422,
            Problem(
                "cursor-invalid",
                Phrase("This cursor does not belong to this list."),
                "query.after",
                Phrase("another text"),
                Phrase("the `next` of the page before, with the same filters"),
                Phrase("Begin at the first page."),
            ),
        )
    return plain


def page(context: Context, caller: Caller, found: Page[T], scope: str, shape: Callable[[T], U]) -> Paged[Any]:
    """Return a page of the database as it is answered."""
    following = None
    if found.next is not None:
        text = base64.urlsafe_b64encode(found.next.encode()).decode("ascii").rstrip("=")
        following = f"{context.sealer.mark(_marked(caller, scope, found.next))}.{text}"
    return Paged(items=[shape(item) for item in found.items], next=following)


def _marked(caller: Caller, scope: str, cursor: str) -> str:
    return f"{caller.me.id}\n{scope}\n{cursor}"
