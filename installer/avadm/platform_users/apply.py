"""Doing what was found to be done: one thing after another, what fails is reported and the rest continues."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import tenacity

from ava.client import ApiError, Client, Unreachable
from avadm.findings import Finding
from avadm.platform_users.connect import findings
from avadm.platform_users.diff import Change

PATIENCE = 90.0
"""Seconds for which a platform that says "too many, later" is asked again."""


@dataclass(frozen=True, slots=True)
class Link:
    """Where a new user chooses a password, once."""

    user: str
    url: str
    until: str


@dataclass(slots=True)
class ApplyResult:
    """What came of it.

    Attributes:
        changes: those that were done.
        findings: those that were refused, and why.
    """

    changes: list[Change] = field(default_factory=list)
    links: list[Link] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)


def apply(
    ava: Client,
    host: str,
    changes: Sequence[Change],
    tell: Callable[[Change], None],
    hand: Callable[[Link], None],
) -> ApplyResult:
    """Do changes in order.

    Args:
        ava: an administrator's client.
        host: under which users reach the platform.
        changes: what to do.
        tell: called with each that was done.
        hand: called with each new user's link, at once: it is shown this once.
    """
    done = ApplyResult()
    for change in changes:
        try:
            _patiently(change, ava)
            done.changes.append(change)
            tell(change)
            if change.invite:
                done.links.append(link(ava, host, change.invite))
                hand(done.links[-1])
        except ApiError as refused:
            done.findings += findings(refused, change.where, f"{change.about}: {change.what}")
            if isinstance(refused, Unreachable):
                break
    return done


def link(ava: Client, host: str, user: str) -> Link:
    """Return a new link for a user; ApiError where the user cannot choose a password here."""
    made = ava.invite(user)
    return Link(user, f"https://{host}/invitation#{made.invitation}", f"{made.until:%Y-%m-%d %H:%M} UTC")


def _patiently(change: Change, ava: Client) -> None:
    # Nothing was done where there were too many changes in a minute; it can be asked for again, whatever it is.
    retrying = tenacity.Retrying(
        retry=tenacity.retry_if_exception(lambda e: isinstance(e, ApiError) and e.status == 429),
        stop=tenacity.stop_after_delay(PATIENCE),
        wait=tenacity.wait_exponential(multiplier=1, max=20),
        reraise=True,
    )
    retrying(change.do, ava)
