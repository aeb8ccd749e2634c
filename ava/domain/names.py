"""What names, ids and addresses may look like. A name that is used once is never used for another thing again."""

from __future__ import annotations

import re
from collections.abc import Sequence

from ava.domain.phrases import Phrase
from ava.domain.problems import Problem

ALPHABET = "0123456789abcdefghijklmnopqrstuv"
"""Base 32 whose digits sort as their values do (RFC 4648, section 7)."""
EPOCH = 1_577_836_800_000
"""2020-01-01 in milliseconds: an id's second character is a digit until 2063."""
ID_LENGTH = 13
SERIAL_BITS = 18
_ID = re.compile(r"[a-z][0-9][0-9a-v]{11}")
_PERSON = re.compile(r"[a-z]([-a-z0-9]{0,30}[a-z0-9])?")
_NAME = re.compile(r"[a-z0-9]([-a-z0-9._]{0,198}[a-z0-9])?")
_DIRECTORY = re.compile(r"[A-Za-z0-9]([-A-Za-z0-9._]{0,62}[A-Za-z0-9])?")
_EMAIL = re.compile(
    r"[^@\s<>\"',;:\\()\[\]\x00-\x1f\x7f]{1,64}@[A-Za-z0-9]([-A-Za-z0-9.]{0,251}[A-Za-z0-9])?"
)
RESERVED = frozenset({"root", "nobody", "nogroup", "me", "any", "all", "none", "system"})
"""Accounts of every machine, and words that the API and the command line use for something else."""


def new_id(prefix: str, milliseconds: int, serial: int) -> str:
    """Return an id of 13 characters that sorts by time.

    Args:
        prefix: one lower-case letter that tells kinds of objects apart; Kubernetes' services want a letter first.
        milliseconds: since 1970.
        serial: tells apart what was made in one millisecond; its lowest 18 bits are used.
    """
    moment = min(max(milliseconds - EPOCH, 0), 2**42 - 1)
    number = moment << SERIAL_BITS | serial % 2**SERIAL_BITS
    digits = [ALPHABET[number >> shift & 31] for shift in range(55, -1, -5)]
    return prefix + "".join(digits)


def is_id(text: str) -> bool:
    """Return whether a text may be an id. No user or group has such a name; of other things the id goes before the name."""
    return _ID.fullmatch(text) is not None


def person_problems(name: str, where: str) -> Sequence[Problem]:
    """Return what is wrong with the name of a user or a group: a path, an account and a part of a namespace."""
    wanted = Phrase("1 to 32 lower-case letters, digits and '-', a letter first, no '-' last")
    free = f"{wanted}; no word of the platform's, and no 13 characters like an id such as {new_id('u', EPOCH, 0)}"
    if _PERSON.fullmatch(name) is None:
        return (_invalid(name, where, wanted),)
    if name in RESERVED or is_id(name):
        return (
            Problem(
                "name-reserved",
                Phrase("The name {name} is reserved.", name=name),
                where,
                name,
                free,
                Phrase("Choose another name."),
            ),
        )
    return ()


def account_name(login: str) -> str:
    """Return the name of the account of a person who is called so elsewhere: ``Ann.Smith@example.org`` is ``ann-smith``.

    Names of accounts are parts of namespaces, hosts and paths. What is before ``@`` counts, in small letters, with ``-`` in the
    place of dots and underscores. Two people may come to one name: anyone who uses this has to see whose it is.
    """
    plain = re.sub(r"[-._]+", "-", login.partition("@")[0].strip().lower())
    return plain.strip("-")


def is_directory_name(login: str) -> bool:
    """Return whether a text may be a person's name in a directory: letters, digits, dots, underscores and ``-``."""
    return _DIRECTORY.fullmatch(login) is not None


def name_problems(name: str, where: str) -> Sequence[Problem]:
    """Return what is wrong with the name of a definition, a queue or a pool."""
    wanted = Phrase("1 to 200 lower-case letters, digits, '-', '.' and '_', a letter or digit first and last")
    if _NAME.fullmatch(name) is None:
        return (_invalid(name, where, wanted),)
    return ()


def email_problems(email: str, where: str) -> Sequence[Problem]:
    """Return what is wrong with an address; whether it can be reached is found by writing to it."""
    # "=?" begins an encoded word, which programs that read a mail's header decode: into line breaks, too.
    if len(email) <= 254 and _EMAIL.fullmatch(email) and ".." not in email and "=?" not in email:
        return ()
    return (
        Problem(
            "email-invalid",
            Phrase("This is no e-mail address."),
            where,
            shown(email),
            Phrase("NAME@DOMAIN of at most 254 characters"),
            Phrase("Correct the address."),
        ),
    )


def shown(text: str, limit: int = 80) -> str:
    """Return a text as it may stand in a message: printable, and cut."""
    plain = "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in text[: limit + 1])
    return plain if len(text) <= limit else f"{plain[:limit]}… ({len(text)} characters)"


def _invalid(name: str, where: str, wanted: str) -> Problem:
    return Problem(
        "name-invalid",
        Phrase("The name has characters or a length that are not allowed."),
        where,
        shown(name),
        wanted,
    )
