"""Log-in by a directory (LDAP): a bind as the person, over TLS alone; nothing is searched and no password is kept."""

from __future__ import annotations

import ssl
from typing import Any

import ldap3
from ldap3.core.exceptions import LDAPException, LDAPSASLPrepError
from ldap3.utils.dn import escape_rdn

from ava.api.away import cause
from ava.api.config import Ldap
from ava.api.directory import DirectoryDown
from ava.domain.names import person_problems

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
        if not password or person_problems(name, ""):
            return False
        person = self._settings.user_dn.replace("{name}", escape_rdn(name))
        try:
            return self._bind(person, password)
        except LDAPSASLPrepError:
            # A text that can be nobody's password (RFC 4013).
            return False
        except (LDAPException, OSError) as error:
            raise DirectoryDown(cause(error)) from None

    def _bind(self, person: str, password: str) -> bool:
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
        try:
            if self._strategy == ldap3.SYNC:
                connection.open()
                # Without TLS the password would be on the wire: then nobody gets in.
                if not self._secure and not connection.start_tls():
                    raise DirectoryDown("no TLS")
            return bool(connection.bind())
        finally:
            connection.unbind()
