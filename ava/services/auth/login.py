"""Login by name and password: the database's own, or the site's directory."""

from __future__ import annotations

import hmac
import logging

from cryptography.fernet import InvalidToken

from ava.domain.model import User, UserState
from ava.domain.names import account_name, is_directory_name, shown
from ava.domain.phrases import Phrase
from ava.domain.problems import ApiError, Problem
from ava.services import metrics
from ava.services.auth.caller import digest
from ava.services.auth.directory import LdapUnavailable
from ava.services.auth.rate_limits import RateLimited, network
from ava.services.context import Context

log = logging.getLogger("ava.api")
KNOWN = "__Host-ava-known"
"""Cookie: a browser in which a person has logged in. It lets no user in."""
DIRECTORY = "ldap"
"""Issuer of the identities of the site's directory, of which there is one."""
DATABASE = "database"
KNOWN_SECONDS = 90 * 86400


def mark(context: Context, name: str) -> str:
    """Return the value of KNOWN for a browser in which a person has logged in."""
    return context.sealer.seal(f"known {name}")


def user(context: Context, name: str, password: str, address: str, known: str = "") -> User:
    """Return whose name and password these are.

    Whether the name, the password or the account's state was wrong is not reported to a client that has not given the password.
    ApiError logins count by name and network, so that no stranger locks an account out. Many of one name from many networks
    slow down clients alone that have not logged in with that name before. ``known`` is the cookie KNOWN that came along: what
    is refused counts for this browser alone.

    Raises:
        ApiError: 401 for what does not match, 403 for an account that waits for approval or was shut out, 429, 503.
    """
    context.rates.spend("login_address", network(address), "logins")
    login, name = name, _account_of(context, name)
    familiar = _is_known(context, name, known)
    whose = f"{name} browser {digest(known)}" if familiar else f"{name} {network(address)}"
    context.rates.check("login_account", whose, "refused logins of this account")
    if not familiar and not context.rates.is_known(name, network(address)):
        _slow_down(context, name)
    found, kept = _account(context, name)
    by = _matched(context, login, found, kept, password, address)
    if not by or found is None:
        context.rates.count("login_name", name)
        context.rates.spend("login_account", whose, "refused logins of this account")
        refused(context, name, address, "name-or-password")
        raise ApiError(
            401,
            Problem(
                "login-refused",
                Phrase("Name and password do not belong together."),
                "body",
                Phrase("another name or password"),
                Phrase("those of an account"),
                Phrase("Try again; an administrator can set a new password."),
            ),
        )
    if by == DIRECTORY:
        _claim(context, found, login, address)
    let_in(context, found, address)
    context.rates.remember(name, network(address))
    if kept and context.directory is None and context.passwords.outdated(kept):
        context.db.users.update(found.name, context.clock(), password=context.passwords.hash(password))
    return found


def _account_of(context: Context, login: str) -> str:
    """Return the name of the account that somebody means: in a directory people may have dots and underscores."""
    return account_name(login) if context.directory is not None and is_directory_name(login) else login


def _claim(context: Context, found: User, login: str, address: str) -> None:
    """Return where the account is that of this person of the directory; ApiError 409 where it is another's."""
    try:
        # Directories do not tell capitals apart.
        context.db.identities.claim(found.name, DIRECTORY, login.lower(), context.clock())
    except ApiError:
        refused(context, found.name, address, "name-of-another")
        raise


def _is_known(context: Context, name: str, known: str) -> bool:
    try:
        return hmac.compare_digest(
            context.sealer.open(known, KNOWN_SECONDS).encode(), f"known {name}".encode()
        )
    except (InvalidToken, ValueError):
        return False


def _slow_down(context: Context, name: str) -> None:
    """Return unless so many logins of a name were refused lately that clients it does not know are slowed down."""
    try:
        context.rates.check("login_name", name, "refused logins of this account")
    except RateLimited:
        context.rates.spend(
            "login_slow", name, "logins of this account from places that it has not logged in from"
        )


def let_in(context: Context, found: User, address: str) -> None:
    """Return where a person whose identity is proven may log in; ApiError 403 while the account may not."""
    if found.state is UserState.ACTIVE:
        context.db.users.record_login(found.name, context.clock())
        metrics.LOGINS.labels("done").inc()
        return
    refused(context, found.name, address, found.state.value)
    raise ApiError(
        403,
        Problem(
            f"account-{found.state.value}",
            "This account may not log in" + (" yet." if found.state is UserState.PENDING else "."),
            Phrase("user {name}", name=found.name),
            found.state.value,
            Phrase("active"),
            Phrase("An administrator approves it.")
            if found.state is UserState.PENDING
            else Phrase("Ask an administrator."),
        ),
    )


def _account(context: Context, name: str) -> tuple[User | None, str | None]:
    try:
        found = context.db.users.get(name)
        # An id is no name to log in with.
        return (found, context.db.users.password_hash(name)) if found.name == name else (None, None)
    except ApiError:
        return None, None


def _matched(
    context: Context, login: str, found: User | None, kept: str | None, password: str, address: str
) -> str:
    """Return by what they match, "" for nothing: the directory where there is one, the database then for administrators alone.

    Who was locked in the directory does not get in by a password of the database's. The directory is asked for every name, so
    that neither time nor answer tells which of them have an account.

    Raises:
        ApiError: 503 where the directory is away, and no one's password of the database was given who needs none of it.
    """
    if context.directory is None:
        return DATABASE if context.passwords.matches(kept, password) else ""
    mine = found is not None and found.admin and found.name == login
    own = DATABASE if context.passwords.matches(kept if mine else None, password) else ""
    try:
        return DIRECTORY if context.directory.knows(login, password) else own
    except LdapUnavailable as why:
        if own:
            return own
        log.warning("the directory is away: %s", why)
        context.audit("nobody", "sessions.open", "directory", "unreachable", address, {"why": str(why)[:300]})
        raise ApiError(
            503,
            Problem(
                "login-provider-unavailable",
                Phrase("The site's directory does not answer."),
                "directory",
                Phrase("no answer"),
                Phrase("an answer"),
                Phrase("Try again in a minute; the audit log has the cause. Who has logged in stays so."),
            ),
        ) from None


def refused(context: Context, name: str, address: str, why: str) -> None:
    """Count and write down a login that was refused."""
    metrics.LOGINS.labels("refused").inc()
    context.audit("nobody", "sessions.open", f"user {shown(name)}", "refused", address, {"why": why})
