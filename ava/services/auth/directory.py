"""What a directory of the site (LDAP) can tell: whether a name and a password belong together."""

from __future__ import annotations

from typing import Protocol


class LdapUnavailable(Exception):
    """The directory has not answered; the text says why."""


class Directory(Protocol):
    """A directory."""

    def knows(self, name: str, password: str) -> bool:
        """Whether the password is that person's; DirectoryDown where it cannot be determined."""
