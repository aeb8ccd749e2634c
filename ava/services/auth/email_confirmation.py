"""A link by which a user confirms an e-mail address: good once, for some days, for one account and one address.

AVA sends nothing but this link to an address that is not confirmed, because anybody may register with another person's. The
link is good in a session of its account alone, so that neither the other person nor a mail scanner confirms it by mistake.
"""

from __future__ import annotations

import logging
from urllib.parse import urlencode

from ava.domain.model import User
from ava.domain.phrases import Phrase
from ava.domain.problems import ApiError, Problem, conflict
from ava.services.auth import one_time_links
from ava.services.auth.caller import digest
from ava.services.auth.rate_limits import RateLimited
from ava.services.context import Context

log = logging.getLogger("ava.api")
DAYS = 3
PATH = "/confirm-email"
_KIND = "confirm-email"
_WHOLE_SITE = "site"


def state(context: Context, user: User) -> bool | None:
    """Return whether an account's address is confirmed; None where the site sends no mail."""
    return None if context.config.email_confirmation is None else user.email_confirmed is not None


def make(context: Context, user: User) -> str:
    """Return the confirmation of an account's present address, sealed."""
    return one_time_links.make(context, _KIND, user, user.email, DAYS)[0]


def send(context: Context, user: User) -> None:
    """Have a link sent to the address of an account.

    Raises:
        ApiError: 409 where the site sends no mail, the address is confirmed, or the account is not active; 429 where an account,
            an address or the whole site has caused as many of these mails as it may.
    """
    if refused := _pointless(context, user):
        raise refused
    context.db.users.ask_confirmation(user.name, user.email, _link(context, user), context.clock())


def prepare(context: Context, user: User) -> tuple[str, str] | None:
    """Return the address of an account as it will be, and a link to confirm it; the mail counts as sent.

    None where no mail is needed, or no more may be sent now: the account's page shows that, and sends the link again.
    """
    if _pointless(context, user) is not None:
        return None
    try:
        return user.email, _link(context, user)
    except RateLimited as refused:
        log.warning("user %s: no confirmation sent: %s", user.name, refused.problems[0].what)
        return None


def _link(context: Context, user: User) -> str:
    """Return a new link, counted against the limits; ApiError 429."""
    bounds = _bounds(user)
    # All are looked at before one counts: where the site sends no more, that does not use up an account's own.
    for kind, who, what in bounds:
        context.rates.check(kind, who, what)
    for kind, who, what in bounds:
        context.rates.spend(kind, who, what)
    settings = context.config.email_confirmation
    address = settings.address if settings is not None else ""
    return f"{address}{PATH}?{urlencode({'confirmation': make(context, user)})}"


def offer(context: Context, user: User) -> None:
    """Have a link sent where one is needed; where it is not, or no more may be sent now, nothing is.

    The account's page shows that the address is not confirmed, and sends the link again.
    """
    if _pointless(context, user) is not None:
        return
    try:
        send(context, user)
    except ApiError as refused:
        log.warning("user %s: no confirmation sent: %s", user.name, refused.problems[0].what)


def use(context: Context, user: User, confirmation: str) -> User:
    """Confirm the address of the account that shows its own link; ApiError 403 for a link that is not valid (any more)."""
    link = one_time_links.read(context, _KIND, confirmation)
    if link is None or (link.user, link.kept) != (user.id, digest(user.email)):
        raise _refused()
    if not one_time_links.spend(context, _KIND, confirmation, link):
        raise _refused()
    confirmed = context.db.users.confirm_email(user.name, user.email, context.clock())
    if confirmed is None:
        raise _refused()
    return confirmed


def _bounds(user: User) -> list[tuple[str, str, str]]:
    """Return what a further mail counts against: kind of limit, key, and what there are too many of."""
    return [
        ("confirmation_account", user.id, "confirmation mails of this account"),
        ("confirmation_address", user.email, "confirmation mails to this address"),
        ("confirmation_site", _WHOLE_SITE, "confirmation mails of all users"),
    ]


def _pointless(context: Context, user: User) -> ApiError | None:
    """Return why no link is sent to an account's address; None where one may be."""
    if context.config.email_confirmation is None:
        return conflict(
            "no-mail",
            Phrase("This site sends no mail, so no address has to be confirmed."),
            "request",
            Phrase("Nothing has to be done."),
            found=Phrase("no mail server"),
            wanted=Phrase("a site with a mail server"),
        )
    if refused := one_time_links.inactive(user):
        return refused
    if user.email_confirmed is not None:
        return conflict(
            "email-confirmed",
            Phrase("The address of {user} is confirmed.", user=user.name),
            "path.name",
            Phrase("Nothing has to be done."),
            found=Phrase("a confirmed address"),
            wanted=Phrase("an address that is not confirmed"),
        )
    return None


def _refused() -> ApiError:
    return ApiError(
        403,
        Problem(
            "confirmation-invalid",
            Phrase("This link does not confirm the e-mail address of your account."),
            "body.confirmation",
            Phrase("a link that was used, is too old, or is for another account or address"),
            Phrase("the latest link that was sent to this account's address"),
            Phrase("Log in as the user named in the mail, or send the link again on the page Account."),
        ),
    )
