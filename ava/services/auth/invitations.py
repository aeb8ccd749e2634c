"""A link by which a person chooses a password: good once, for some days, and only while the account has the password it had then.

Anyone who has it is that person to the platform, as with a password.
"""

from __future__ import annotations

from datetime import datetime

from ava.domain.model import User, UserState
from ava.domain.phrases import Phrase
from ava.domain.problems import ApiError, Problem, conflict
from ava.services.auth import one_time_links
from ava.services.auth.caller import digest
from ava.services.context import Context

DAYS = 7
_KIND = "invitation"


def make(context: Context, user: User) -> tuple[str, datetime]:
    """Return an invitation for an account and when it ends.

    Raises:
        ApiError: 409 for an account that cannot be used, or whose password the site's directory has.
    """
    if refused := one_time_links.inactive(user):
        raise refused
    if elsewhere(context, user.admin):
        raise conflict(
            "password-elsewhere",
            Phrase("{user} logs in with the password of the site's directory.", user=user.name),
            "path.name",
            Phrase("Nothing is to be done here."),
            found=Phrase("login by LDAP"),
            wanted=Phrase("a password of AVA"),
        )
    return one_time_links.make(context, _KIND, user, context.db.users.password_hash(user.name), DAYS)


def elsewhere(context: Context, admin: bool) -> bool:
    """Whether the site's directory has the password of such a user, so that there is none to choose here."""
    return context.config.ldap is not None and not admin


def use(context: Context, invitation: str, password: str) -> User:
    """Give the account this password, end what logins it had, and return it; ApiError 403 for no invitation (any more)."""
    link = one_time_links.read(context, _KIND, invitation)
    if link is None:
        raise _refused()
    user = _invited(context, link)
    hashed = context.passwords.hash(password)
    if not one_time_links.spend(context, _KIND, invitation, link):
        raise _refused()
    context.db.users.replace_password(user.name, hashed)
    return user


def _invited(context: Context, link: one_time_links.Link) -> User:
    try:
        user = context.db.users.get(link.user)
    except ApiError:
        raise _refused() from None
    if user.state is not UserState.ACTIVE or digest(context.db.users.password_hash(user.name)) != link.kept:
        raise _refused()
    return user


def _refused() -> ApiError:
    return ApiError(
        403,
        Problem(
            "invitation-invalid",
            Phrase("This invitation is not valid (any more)."),
            "body.invitation",
            Phrase("one that was used, is too old, or was not made here"),
            Phrase("an unused invitation"),
            Phrase("Ask an administrator for another one."),
        ),
    )
