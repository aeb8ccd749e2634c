"""An image is deleted, or runs of it are started; in the same moment one of the two waits, and is refused where it has to be.

What the database keeps of it, and in which order each of the two writes and looks: ``ava.db.images``.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import timedelta

from ava.domain.names import shown
from ava.domain.phrases import Phrase
from ava.domain.problems import ApiError, conflict
from ava.services.auth.caller import Caller
from ava.services.context import Context

LONGEST = timedelta(minutes=2)
"""For how long a removal counts that broke off: more than the registry's answer to one is waited for."""
PATIENCE = 5.0
"""Seconds for which a start waits for a deletion, which takes less than one."""


@contextmanager
def deleting(context: Context, caller: Caller, repository: str) -> Iterator[Callable[[], None]]:
    """Let no one start a run of a repository's images inside; what this gives is to be called before each removal."""
    db, clock, id = context.db, context.clock, secrets.token_hex(16)
    begun = False

    def removing() -> None:
        nonlocal begun
        db.images.begin_deletion(id, repository, clock() + LONGEST)
        begun = True

    db.images.begin_deletion(id, repository, clock() + LONGEST)
    try:
        yield removing
    except BaseException:
        # What the registry was asked for and has not answered may be done yet.
        if not begun:
            _over(context, caller, id)
        raise
    _over(context, caller, id)


def _over(context: Context, caller: Caller, id: str) -> None:
    # Where the database is away it is over in time by itself; what was done is done.
    with suppress(ApiError):
        context.db.images.end_deletion(id)


@contextmanager
def claimed(context: Context, caller: Caller, repository: str | None) -> Iterator[None]:
    """Let no one delete an image of a repository while a run of it is started; None: nothing to claim."""
    if repository is None:
        yield
        return
    db, id = context.db, secrets.token_hex(16)
    db.images.claim(id, repository, context.clock() + LONGEST)
    try:
        yield
    finally:
        # Where the database is away the claim ends by itself.
        with suppress(ApiError):
            db.images.release(id)


def wait(context: Context, caller: Caller, repository: str, where: str) -> None:
    """Return once no image of a repository is being deleted; ApiError 409 where that takes long."""
    db, end = context.db, time.monotonic() + PATIENCE
    while db.images.is_being_deleted(repository, context.clock()):
        if time.monotonic() >= end:
            raise conflict(
                "image-being-deleted",
                Phrase("An image of this repository is being deleted."),
                f"{where}.image",
                Phrase("Try again in two minutes."),
                found=shown(repository),
                wanted=Phrase("a repository of which nothing is being deleted"),
            )
        time.sleep(0.1)
