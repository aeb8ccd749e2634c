"""What can go wrong between a part of AVA and an API server. No message holds a token, a key or a body that was sent."""

from __future__ import annotations

from typing import Any


class KubeError(Exception):
    """A request that did not do what it was sent for.

    Attributes:
        code: HTTP status; 0 where no reply came.
        reason: Kubernetes' own word: ``NotFound``, ``AlreadyExists``, ``Invalid`` …
        retry_after: seconds after which the server wants to be asked again; None where it did not say.
    """

    def __init__(
        self, message: str, *, code: int = 0, reason: str = "", retry_after: float | None = None
    ) -> None:
        super().__init__(message)
        self.code = code
        self.reason = reason
        self.retry_after = retry_after


class NotFound(KubeError):
    """404: the object, or the kind, is not there."""


class Conflict(KubeError):
    """409: somebody else changed it, or a precondition does not hold."""


class AlreadyExists(Conflict):
    """409 with reason AlreadyExists: an object of this name is there."""


class Gone(KubeError):
    """410: the resource version or continue token is too old; list again."""


class Denied(KubeError):
    """401 or 403: this account may not."""


class Invalid(KubeError):
    """400, 413, 415 or 422: the server will never take this object."""


class Busy(KubeError):
    """429: ask again later."""


class Unavailable(KubeError):
    """5xx, no connection, or no reply in time. Whether a write was carried out is unknown."""


class Fenced(KubeError):
    """A write that was not sent because this process is not (or no longer) the leader."""


_BY_CODE: dict[int, type[KubeError]] = {
    400: Invalid,
    401: Denied,
    403: Denied,
    404: NotFound,
    409: Conflict,
    410: Gone,
    413: Invalid,
    415: Invalid,
    422: Invalid,
    429: Busy,
}
RETRIED = (Busy, Unavailable)
"""Errors after which the same request may succeed later."""


def from_status(code: int, status: dict[str, Any], where: str, retry_after: float | None = None) -> KubeError:
    """Return the exception for an HTTP status and the body's ``Status`` object (may be empty).

    ``where`` is verb and path: what the reader needs to find the object.
    """
    reason = str(status.get("reason") or "")
    reply = str(status.get("message") or "").strip()[:1000]
    if code == 409 and reason == "AlreadyExists":
        kind: type[KubeError] = AlreadyExists
    else:
        kind = _BY_CODE.get(code, Unavailable if code >= 500 else KubeError)
    text = f"{where}: {code}{f' {reason}' if reason else ''}{f': {reply}' if reply else ''}"
    return kind(text, code=code, reason=reason, retry_after=retry_after)
