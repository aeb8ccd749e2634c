"""Texts of problems and reasons with their values apart, so that each reader is notified in their own language.

A phrase is its English text wherever a text is wanted: programs and logs see nothing else. Who has a catalogue of another
language words it from its template and its values; both are kept beside a text that is stored. Templates stand in the code alone:
what users and nodes write is a value, and never searched for places.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import reduce
from typing import Any, Union

Value = Union[str, int, float, Sequence[str], None]  # noqa: UP007  the client's Python 3.9 evaluates it
"""What is put in: a text, another phrase, a number, or several texts, which are listed."""
_PLACE = re.compile(r"\{(\w+)\}")
DEPTH, VALUES, LISTED = 6, 20, 100
"""Of a stored phrase: phrases within phrases, values of one, texts of a list."""


class Phrase(str):
    """An English text that knows how it is made.

    Attributes:
        template: English, with ``{name}`` where a value is put in; what the catalogues of other languages have.
        values: by the names of the places.
    """

    __slots__ = ("template", "values")
    template: str
    values: Mapping[str, Value]

    def __new__(cls, template: str, /, **values: Value) -> Phrase:
        """Return the text; places without a value stay as they are."""
        made = super().__new__(cls, _fill(template, values, str))
        made.template, made.values = str(template), values
        return made


def _fill(template: str, values: Mapping[str, Value], word: Callable[[str], str]) -> str:
    def value(name: str) -> str:
        found = values[name]
        if isinstance(found, str):
            return word(found)
        return ", ".join(map(word, found)) if isinstance(found, Sequence) else str(found)

    return _PLACE.sub(lambda place: value(place[1]) if place[1] in values else place[0], template)


_NOUNS = {
    str(one): one
    for one in (
        Phrase("admin"),
        Phrase("data set"),
        Phrase("definition"),
        Phrase("group"),
        Phrase("key"),
        Phrase("node"),
        Phrase("pool"),
        Phrase("queue"),
        Phrase("run"),
        Phrase("service"),
        Phrase("training"),
        Phrase("user"),
        Phrase("workbench"),
    )
}


def noun(word: str) -> str:
    """Return what kind of thing something is, as a phrase where it is one of the platform's."""
    return _NOUNS.get(word, word)


def places(template: str) -> list[str]:
    """Return the names of a template's places, in order."""
    return _PLACE.findall(template)


def worded(text: str, translation: Callable[[str], str]) -> str:
    """Return a phrase in another language; "" for any other text, and where that language does not have it.

    Args:
        text: the phrase.
        translation: gives a template in that language, "" where it does not have it.
    """
    found = translation(text.template) if isinstance(text, Phrase) else ""
    if not found or not isinstance(text, Phrase):
        return ""
    return _fill(found, text.values, lambda value: worded(value, translation) or str(value))


def sentences(*texts: str) -> str:
    """Return sentences after one another, empty ones left out; a phrase where all of them are phrases."""
    given = [text for text in texts if text]
    if not given or not all(isinstance(text, Phrase) for text in given):
        return " ".join(given)
    return reduce(lambda first, second: Phrase("{first} {second}", first=first, second=second), given)


def listed(texts: Sequence[str]) -> str:
    """Return texts in a row, with commas between."""
    rest: Sequence[str] = texts[1:]
    start = texts[0] if texts else ""
    return reduce(lambda first, second: Phrase("{first}, {second}", first=first, second=second), rest, start)


def as_document(text: str) -> dict[str, Any] | None:
    """Return what makes a phrase, as JSON; None for any other text, and for a phrase that is too large to be kept so."""
    if not isinstance(text, Phrase):
        return None
    document = _document(text)
    return document if isinstance(from_document(str(text), document), Phrase) else None


def _document(text: Phrase) -> dict[str, Any]:
    def value(found: Value) -> Any:
        if isinstance(found, Phrase):
            return _document(found)
        if isinstance(found, Sequence) and not isinstance(found, str):
            return [value(one) for one in found]
        return str(found)

    shown = {name: value(text.values[name]) for name in places(text.template) if name in text.values}
    return {"template": text.template, "values": shown}


def from_document(text: str, document: object) -> str:
    """Return a text as the phrase that it was; as it is where what was kept beside it does not make this very text."""
    try:
        made = _made(document, len(text), 0)
    except (ValueError, TypeError, KeyError, AttributeError):
        return text
    return made if made == text else text


def _made(document: Any, most: int, depth: int) -> str:
    """Return a text of a document; ValueError for one that is longer than ``most``, nested too deep, or has too many values."""
    if isinstance(document, str):
        if len(document) > most:
            raise ValueError
        return document
    values, template = document["values"], document["template"]
    if depth >= DEPTH or len(values) > VALUES or not isinstance(template, str) or len(template) > 1000:
        raise ValueError

    def value(found: Any) -> Value:
        if not isinstance(found, list):
            return _made(found, most, depth + 1)
        if len(found) > LISTED:
            raise ValueError
        return [_made(one, most, depth + 1) for one in found]

    made = Phrase(template, **{name: value(found) for name, found in values.items()})
    if len(made) > most:
        raise ValueError
    return made
