"""Why a service of the site could not be asked, in words for the log and administrators that repeat no one's secret."""

from __future__ import annotations

UNPROVEN = ("CERTIFICATE_VERIFY_FAILED", "doesn't match any name")
"""In the texts of OpenSSL and ldap3 for a certificate that is not the service's."""


def cause(error: BaseException) -> str:
    """Return the kind of an error; of a certificate that does not prove whose it is, that too: it is fixed elsewhere."""
    seen: BaseException | None = error
    while seen is not None:
        if any(words in str(seen) for words in UNPROVEN):
            return f"{type(error).__name__}: its certificate does not prove that it is the service"
        seen = seen.__cause__ or seen.__context__
    return type(error).__name__
