"""What lets a browser into a workbench: a ticket from the site's page to the workbench's own origin, and the cookie there.

Both are sealed with the sealing key, name the session that they come from and one workbench, and are good for nothing else.
A ticket is good for a minute and only in the browser that has asked for it: it holds the digest of a secret which that
browser alone has, in a cookie that is dropped when the ticket is used.
"""

from __future__ import annotations

import hashlib
import hmac
import json
from dataclasses import dataclass

from cryptography.fernet import InvalidToken

from ava.domain.phrases import Phrase
from ava.domain.problems import ApiError, Problem
from ava.services.auth.encryption import Sealer

TICKET_SECONDS = 60
_TICKET, _COOKIE = "workbench ticket", "workbench cookie"


@dataclass(frozen=True, slots=True)
class Pass:
    """Whose browser may come to which workbench, as long as the session lasts and the workbench is theirs.

    Attributes:
        session: digest of the session's secret, by which the database knows it.
        definition: id of the workbench's definition.
    """

    session: str
    definition: str


def ticket(sealer: Sealer, who: Pass, state: str) -> str:
    """Return a ticket; ``state`` is the digest (SHA-256, hexadecimal) of the browser's secret."""
    return _sealed(sealer, _TICKET, who, state)


def cookie(sealer: Sealer, who: Pass) -> str:
    """Return the value of the cookie of a workbench's origin."""
    return _sealed(sealer, _COOKIE, who, "")


def of_ticket(sealer: Sealer, text: str, secret: str) -> Pass:
    """Return what a ticket is for; ApiError 403 for one that is too old, not ours, or of another browser."""
    who, state = _opened(sealer, _TICKET, text, TICKET_SECONDS)
    if not hmac.compare_digest(hashlib.sha256(secret.encode()).hexdigest().encode(), state.encode()):
        raise _refused()
    return who


def of_cookie(sealer: Sealer, text: str) -> Pass:
    """Return what a cookie is for; ApiError 403 for one that is not ours."""
    return _opened(sealer, _COOKIE, text, None)[0]


def _sealed(sealer: Sealer, kind: str, who: Pass, state: str) -> str:
    return sealer.seal(json.dumps([kind, who.session, who.definition, state]))


def _opened(sealer: Sealer, kind: str, text: str, within: int | None) -> tuple[Pass, str]:
    try:
        found, session, definition, state = json.loads(sealer.open(text, within))
    except (InvalidToken, ValueError, UnicodeError):
        raise _refused() from None
    if found != kind:
        raise _refused()
    return Pass(session, definition), state


def _refused() -> ApiError:
    return ApiError(
        403,
        Problem(
            "ticket-invalid",
            Phrase("This way into the workbench is not valid (any more)."),
            "request",
            Phrase("a ticket or cookie that is too old, was not made here, or belongs to another browser"),
            Phrase("a ticket of the last minute, in the browser that has asked for it"),
            Phrase("Open the workbench from its page again."),
        ),
    )
