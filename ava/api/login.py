"""Log-in by name and password: the ledger's own, or the site's directory."""

from __future__ import annotations

import hmac
import logging

from cryptography.fernet import InvalidToken

from ava.api import metrics
from ava.api.directory import DirectoryDown
from ava.api.identity import digest
from ava.api.rates import TooMany, network
from ava.api.services import Services
from ava.domain.model import User, UserState
from ava.domain.names import account_name, is_directory_name, shown
from ava.domain.problems import Problem, Refused

log = logging.getLogger("ava.api")
KNOWN = "__Host-ava-known"
"""Cookie: a browser in which a person has logged in. It lets nobody in."""
DIRECTORY = "ldap"
"""Issuer of the identities of the site's directory, of which there is one."""
LEDGER = "ledger"
KNOWN_SECONDS = 90 * 86400


def mark(services: Services, name: str) -> str:
    """Return the value of KNOWN for a browser in which a person has logged in."""
    return services.sealer.seal(f"known {name}")


def user(services: Services, name: str, password: str, address: str, known: str = "") -> User:
    """Return whose name and password these are.

    Whether the name, the password or the account's state was wrong is not reported to a client that has not given the password.
    Refused log-ins count by name and network, so that no stranger locks an account out. Many of one name from many networks
    slow down clients alone that have not logged in with that name before. ``known`` is the cookie KNOWN that came along: what
    is refused counts for this browser alone.

    Raises:
        Refused: 401 for what does not match, 403 for an account that waits for approval or was shut out, 429, 503.
    """
    services.rates.spend("login_address", network(address), "log-ins")
    login, name = name, _account_of(services, name)
    familiar = _is_known(services, name, known)
    whose = f"{name} browser {digest(known)}" if familiar else f"{name} {network(address)}"
    services.rates.check("login_account", whose, "refused log-ins of this account")
    if not familiar and not services.rates.is_known(name, network(address)):
        _slow_down(services, name)
    found, kept = _account(services, name)
    by = _matched(services, login, found, kept, password, address)
    if not by or found is None:
        services.rates.count("login_name", name)
        services.rates.spend("login_account", whose, "refused log-ins of this account")
        refused(services, name, address, "name-or-password")
        raise Refused(
            401,
            Problem(
                "login-refused",
                "Name and password do not belong together.",
                "body",
                "another name or password",
                "those of an account",
                "Try again; an administrator can set a new password.",
            ),
        )
    if by == DIRECTORY:
        _claim(services, found, login, address)
    let_in(services, found, address)
    services.rates.remember(name, network(address))
    if kept and services.directory is None and services.passwords.outdated(kept):
        services.store.set_user(found.name, services.clock(), password=services.passwords.hash(password))
    return found


def _account_of(services: Services, login: str) -> str:
    """Return the name of the account that somebody means: in a directory people may have dots and underscores."""
    return account_name(login) if services.directory is not None and is_directory_name(login) else login


def _claim(services: Services, found: User, login: str, address: str) -> None:
    """Return where the account is that of this person of the directory; Refused 409 where it is another's."""
    try:
        # Directories do not tell capitals apart.
        services.store.claim(found.name, DIRECTORY, login.lower(), services.clock())
    except Refused:
        refused(services, found.name, address, "name-of-another")
        raise


def _is_known(services: Services, name: str, known: str) -> bool:
    try:
        return hmac.compare_digest(
            services.sealer.open(known, KNOWN_SECONDS).encode(), f"known {name}".encode()
        )
    except (InvalidToken, ValueError):
        return False


def _slow_down(services: Services, name: str) -> None:
    """Return unless so many log-ins of a name were refused lately that clients it does not know are slowed down."""
    try:
        services.rates.check("login_name", name, "refused log-ins of this account")
    except TooMany:
        services.rates.spend(
            "login_slow", name, "log-ins of this account from places that it has not logged in from"
        )


def let_in(services: Services, found: User, address: str) -> None:
    """Return where a person whose identity is proven may log in; Refused 403 while the account may not."""
    if found.state is UserState.ACTIVE:
        services.store.entered(found.name, services.clock())
        metrics.LOGINS.labels("done").inc()
        return
    refused(services, found.name, address, found.state.value)
    raise Refused(
        403,
        Problem(
            f"account-{found.state.value}",
            "This account may not log in" + (" yet." if found.state is UserState.PENDING else "."),
            f"user {found.name}",
            found.state.value,
            UserState.ACTIVE.value,
            "An administrator approves it." if found.state is UserState.PENDING else "Ask an administrator.",
        ),
    )


def _account(services: Services, name: str) -> tuple[User | None, str | None]:
    try:
        found = services.store.user(name)
        # An id is no name to log in with.
        return (found, services.store.password(name)) if found.name == name else (None, None)
    except Refused:
        return None, None


def _matched(
    services: Services, login: str, found: User | None, kept: str | None, password: str, address: str
) -> str:
    """Return by what they match, "" for nothing: the directory where there is one, the ledger then for administrators alone.

    Who was locked in the directory does not get in by a password of the ledger's. The directory is asked for every name, so
    that neither time nor answer tells which of them have an account.

    Raises:
        Refused: 503 where the directory is away, and nobody's password of the ledger was given who needs none of it.
    """
    if services.directory is None:
        return LEDGER if services.passwords.matches(kept, password) else ""
    mine = found is not None and found.admin and found.name == login
    own = LEDGER if services.passwords.matches(kept if mine else None, password) else ""
    try:
        return DIRECTORY if services.directory.knows(login, password) else own
    except DirectoryDown as why:
        if own:
            return own
        log.warning("the directory is away: %s", why)
        services.audit(
            "nobody", "sessions.open", "directory", "unreachable", address, {"why": str(why)[:300]}
        )
        raise Refused(
            503,
            Problem(
                "login-service-away",
                "The site's directory does not answer.",
                "directory",
                "no answer",
                "an answer",
                "Try again in a minute; the audit log has the cause. Who has logged in stays so.",
            ),
        ) from None


def refused(services: Services, name: str, address: str, why: str) -> None:
    """Count and write down a log-in that was refused."""
    metrics.LOGINS.labels("refused").inc()
    services.audit("nobody", "sessions.open", f"user {shown(name)}", "refused", address, {"why": why})
