"""Redaction: no secret reaches a log, an event, an artifact or a screen (design 8)."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable
from typing import Any
from urllib.parse import quote

import ahocorasick

from avadm.secret_patterns import MASK, PATTERNS, texts

# A value shorter than this cannot be distinguished from ordinary text ("on", "1"); masking it would only make logs
# unreadable. Generated secrets have 16 characters and more.
MIN_LENGTH = 4


class Redactor:
    """Replaces each secret value, in its usual encodings too, and what looks like a key, with ``***``.

    Args:
        secrets: the values; other types than text are read as text, containers are walked.
    """

    def __init__(self, secrets: Iterable[Any] = ()) -> None:
        values = {form for text in texts(list(secrets)) for form in _forms(text)}
        # One pass over the text for any number of values: an expression of 2,000 alternatives tries each at each place.
        self._literal = ahocorasick.Automaton()
        for value in values:
            self._literal.add_word(value, len(value))
        self._literal.make_automaton()

    def text(self, text: str) -> str:
        """Return the text without secrets, and with ``?`` for what was no UTF-8 where it came from."""
        # Ansible hands such bytes on as lone surrogates, which no file or terminal takes.
        text = text.encode("utf-8", "replace").decode()
        text = self._without(text)
        # And what looks like a secret even if it is not one of ours: a site's extra_vars, a key made on a node.
        for pattern in PATTERNS:
            text = pattern.masked(text)
        return text

    def _without(self, text: str) -> str:
        """Return the text with ``***`` for each value, and one for values that overlap: no end of one stays."""
        if not len(self._literal):
            return text
        parts, done = [], 0
        for begin, end in _merged(sorted((at + 1 - size, at + 1) for at, size in self._literal.iter(text))):
            parts += [text[done:begin], MASK]
            done = end
        return "".join([*parts, text[done:]])


def _merged(places: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return places in order, with those that overlap made one."""
    out: list[tuple[int, int]] = []
    for begin, end in places:
        if out and begin < out[-1][1]:
            out[-1] = (out[-1][0], max(out[-1][1], end))
        else:
            out.append((begin, end))
    return out


def _forms(text: str) -> Iterable[str]:
    """Yield the text, its lines, and how JSON, base64, URLs and the shell would write it."""
    parts = [text, text.strip(), *(line.strip() for line in text.splitlines() if len(line.strip()) >= 8)]
    for part in parts:
        if len(part) < MIN_LENGTH:
            continue
        encoded = base64.b64encode(part.encode()).decode()
        escaped = json.dumps(part)[1:-1]
        for form in (
            part,
            encoded,
            escaped,
            json.dumps(escaped)[1:-1],
            json.dumps(part, ensure_ascii=False)[1:-1],
            quote(part, safe=""),
            part.replace("'", "'\"'\"'"),
        ):
            if len(form) >= MIN_LENGTH:
                yield form
