"""Why a node could not be asked: its kind, the facts, and a sentence."""

from __future__ import annotations

from enum import StrEnum


class Why(StrEnum):
    """Kinds of trouble."""

    REFUSED = "refused"
    TIMEOUT = "time-out"
    NO_ROUTE = "no-route"
    NAME = "name"
    HOST_KEY_UNKNOWN = "host-key-unknown"
    HOST_KEY_CHANGED = "host-key-changed"
    AUTH = "auth-failed"
    AUTH_TIMEOUT = "auth-time-out"
    NO_KEY = "no-controller-key"
    NO_SSH = "no-ssh"
    PROTOCOL = "protocol"
    CLOSED = "closed"
    JUMP = "jump-host"
    NOT_FORWARDED = "not-forwarded"
    NO_CHANNEL = "no-channel"
    LOST = "connection-lost"
    NO_ROOT = "no-root"
    LATE = "command-time-out"


class Reason(str):
    """The sentence, which names the node; it goes wherever text goes.

    Attributes:
        why: the kind.
        facts: what the sentence is made of, by name; which ones is seen in access.py.
    """

    why: Why
    facts: dict[str, object]

    def __new__(cls, why: Why, text: str, **facts: object) -> Reason:
        """Return a reason."""
        made = super().__new__(cls, text)
        made.why, made.facts = why, facts
        return made

    def __getnewargs__(self) -> tuple[Why, str]:  # type: ignore[override]
        """Return what a copy is made from; the facts follow by themselves."""
        return self.why, str(self)
