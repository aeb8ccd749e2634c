"""Rules over services of the site that the platform uses."""

from __future__ import annotations

from collections.abc import Iterator

from avadm.findings import Finding
from avadm.sitefile.rules.draft import Draft
from avadm.sitefile.source import KeyPath

MAIL: KeyPath = ("components", "ava", "notices", "mail")


def mailed(draft: Draft) -> Iterator[Finding]:
    """A password is not sent in plain words."""
    knobs = draft.site.components.ava
    mail = knobs.notices.mail if knobs and knobs.notices and draft.ok("components", "ava") else None
    if mail is None or not mail.user or mail.tls != "none":
        return
    yield draft.error(
        "ava-mail-tls",
        (*MAIL, "tls"),
        "The platform would send its password to the mail server in plain words.",
        "none, with a user",
        "starttls or tls, or no user",
        "Use `tls: starttls`, or leave user out where the server takes mails of the platform without.",
    )


RULES = [mailed]
