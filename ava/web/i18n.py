"""Languages: which one a request wants, and their catalogues, read at the start from the .po files (nothing is compiled)."""

from __future__ import annotations

import io
from datetime import UTC, datetime
from functools import cache, partial
from gettext import GNUTranslations, NullTranslations
from pathlib import Path

from babel.dates import format_timedelta
from babel.messages.catalog import Catalog
from babel.messages.mofile import write_mo
from babel.messages.pofile import read_po
from babel.numbers import format_decimal

from ava.domain import phrases

LANGUAGES = {"en": "English", "zh": "中文"}
"""Code to its own name, in the order in which they are offered; the first one is what the texts are written in."""
COOKIE = "ava-language"
TAGS = {"en": "en", "zh": "zh-Hans"}
"""What a page says of its language (BCP 47)."""
JUST = 5
"""Seconds that are not worth counting."""
PHRASE = "sentence"
"""The context of phrases in a catalogue."""
FOLDER = Path(__file__).with_name("locale")


def N_(text: str) -> str:
    """Mark a text that is translated where it is shown."""
    return text


@cache
def _texts(language: str) -> Catalog | None:
    path = FOLDER / language / "LC_MESSAGES" / "ava.po"
    if not path.is_file():
        return None
    with path.open("rb") as file:
        return read_po(file, locale=language)


@cache
def catalogue(language: str) -> NullTranslations:
    """Return a language's translations; those of the first language are the texts themselves."""
    return _translations(language) or NullTranslations()


def _translations(language: str) -> NullTranslations | None:
    texts = _texts(language)
    if texts is None:
        return None
    compiled = io.BytesIO()
    write_mo(compiled, texts)
    compiled.seek(0)
    return GNUTranslations(compiled)


class _Lacking(NullTranslations):
    """What a language does not have."""

    def pgettext(self, context: str, message: str) -> str:
        """Return that there are no words."""
        return ""


@cache
def _own(language: str) -> NullTranslations:
    """Return a language's translations, without the texts themselves where it has none."""
    found = _translations(language)
    if found is None:
        return _Lacking()
    found.add_fallback(_Lacking())
    return found


def chosen(cookie: str | None, accepted: str) -> str:
    """Return the language of a request: the one its reader chose, else the first that the browser names, else English."""
    if cookie in LANGUAGES:
        return str(cookie)
    for part in accepted.split(",")[:20]:
        code = part.partition(";")[0].strip().partition("-")[0].lower()
        if code in LANGUAGES:
            return code
    return next(iter(LANGUAGES))


def moment(value: datetime) -> str:
    """Return a time in UTC, without its zone."""
    return f"{value.astimezone(UTC):%Y-%m-%d %H:%M:%S}"


class Translator:
    """One language: its texts, and how it writes times and numbers."""

    def __init__(self, language: str) -> None:
        self.language = language
        self.tag = TAGS[language]
        self._texts, self._own = catalogue(language), _own(language)

    def __call__(self, text: str, **values: object) -> str:
        """Return a text in this language, with values in their places."""
        found = self._texts.gettext(text)
        return found % values if values else found

    def of_problem(self, code: str) -> str:
        """Return what a problem's code means, "" where this language has no words of its own for it."""
        return self._own.pgettext("problem", code)

    def phrase(self, text: str) -> str:
        """Return what a problem or a reason says; "" for a text that is no phrase, or that this language has no words for."""
        return phrases.worded(text, partial(self._own.pgettext, PHRASE))

    def time(self, value: datetime) -> str:
        """Return a time, UTC, as the command line and the charts have it too."""
        return f"{moment(value)} UTC"

    def ago(self, value: datetime, now: datetime) -> str:
        """Return how long ago (or in how long) something is."""
        if abs((value - now).total_seconds()) < JUST:
            return self(N_("just now"))
        reply: str = format_timedelta(value - now, add_direction=True, locale=self.language, threshold=1.2)
        return reply

    def lasting(self, begin: datetime, end: datetime) -> str:
        """Return how long something took."""
        reply: str = format_timedelta(end - begin, locale=self.language, threshold=1.2)
        return reply

    def number(self, value: float, digits: int = 2) -> str:
        """Return a number with so many digits after the point at most."""
        reply: str = format_decimal(round(value, digits), locale=self.language)
        return reply
