"""Login by a directory (LDAP): a bind as the user over TLS, after a search for the entry where that is set."""

from __future__ import annotations

import ssl
from typing import Any

import ldap3
import ldap3.core.results
from ldap3.core.exceptions import LDAPException, LDAPSASLPrepError
from ldap3.utils.conv import escape_filter_chars
from ldap3.utils.dn import escape_rdn

from ava.domain.names import is_directory_name
from ava.services.auth.directory import LdapUnavailable
from ava.services.config import Ldap, LdapSearch
from ava.services.unavailable import cause

TIMEOUT = 5
"""Seconds to connect, and to be answered."""


class LdapDirectory:
    """A directory of the settings.

    Args:
        settings: where it is and what people are called in it.
        strategy: ldap3's; tests take one that needs no server.
    """

    def __init__(self, settings: Ldap, strategy: str = ldap3.SYNC) -> None:
        self._settings, self._strategy = settings, strategy
        self._tls = ldap3.Tls(
            validate=ssl.CERT_REQUIRED, ca_certs_file=str(settings.ca) if settings.ca else None
        )
        self._secure = settings.url.startswith("ldaps://")

    def knows(self, name: str, password: str) -> bool:
        """Whether the directory lets that person in.

        An empty password would be an anonymous bind, which directories answer with success (RFC 4513, 5.1.2).
        """
        if not password or not is_directory_name(name):
            return False
        search = self._settings.search
        try:
            if search is not None:
                found = self._find(name, search)
                return found is not None and self._bind(found, password)
            person = (self._settings.user_dn or "").replace("{name}", escape_rdn(name))
            return self._bind(person, password)
        except LDAPSASLPrepError:
            # A text that can be no one's password (RFC 4013).
            return False
        except (LDAPException, OSError) as error:
            raise LdapUnavailable(cause(error)) from None

    def _find(self, name: str, search: LdapSearch) -> str | None:
        """Return the DN of the one entry of that name; None where there is none, or several: whose password would decide?

        Raises:
            DirectoryDown: the service account is refused, or may not search there.
        """
        word = search.passfile.read_text(encoding="utf-8").strip()
        if not word:
            # It would be an anonymous bind.
            raise LdapUnavailable("the service account has no password")
        connection = self._open(search.bind_dn, word)
        try:
            if not connection.bind():
                raise LdapUnavailable("the service account is refused")
            connection.search(
                search.base,
                search.filter.replace("{name}", escape_filter_chars(name)),
                search_scope=ldap3.SUBTREE,
                dereference_aliases=ldap3.DEREF_NEVER,
                attributes=ldap3.NO_ATTRIBUTES,
                # One more than may be there, so that a second one is seen.
                size_limit=2,
                time_limit=TIMEOUT,
            )
            code = connection.result["result"]
            if code not in (ldap3.core.results.RESULT_SUCCESS, ldap3.core.results.RESULT_SIZE_LIMIT_EXCEEDED):
                raise LdapUnavailable(f"the search failed: {connection.result['description']}")
            # Active Directory adds references to other domains, which are no entries.
            entries = [one["dn"] for one in connection.response or () if one.get("type") == "searchResEntry"]
        finally:
            connection.unbind()
        # A bind by an empty name would be anonymous.
        return entries[0] if len(entries) == 1 and entries[0] else None

    def _open(self, person: str, password: str) -> Any:
        """Return a connection with TLS that nothing was sent on yet."""
        # A server's object remembers for seconds that it was away: each bind has one of its own.
        server = ldap3.Server(
            self._settings.url,
            use_ssl=self._secure,
            tls=self._tls,
            connect_timeout=TIMEOUT,
            get_info=ldap3.NONE,
        )
        connection: Any = ldap3.Connection(
            server,
            user=person,
            password=password,
            client_strategy=self._strategy,
            receive_timeout=TIMEOUT,
            raise_exceptions=False,
            auto_referrals=False,
        )
        if self._strategy == ldap3.SYNC:
            try:
                connection.open()
                # Without TLS the password would be on the wire: then no user gets in.
                secure = self._secure or connection.start_tls()
            except BaseException:
                connection.unbind()
                raise
            if not secure:
                connection.unbind()
                raise LdapUnavailable("no TLS")
        return connection

    def _bind(self, person: str, password: str) -> bool:
        connection = self._open(person, password)
        try:
            return bool(connection.bind())
        finally:
            connection.unbind()
