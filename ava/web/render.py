"""Templates: one environment per language, everything escaped, amounts and times as people write them."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape

from ava.web import assets, labels
from ava.web.i18n import LANGUAGES, Translator, catalogue, moment
from ava.web.nodes import has_room

FOLDER = Path(__file__).with_name("templates")
UNITS = ("B", "KiB", "MiB", "GiB", "TiB", "PiB")


@cache
def environment(language: str) -> Environment:
    """Return the templates of a language."""
    made = Environment(
        loader=FileSystemLoader(FOLDER),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        extensions=["jinja2.ext.i18n", "jinja2.ext.do"],
        auto_reload=False,
    )
    made.install_gettext_translations(catalogue(language), newstyle=True)  # type: ignore[attr-defined]
    words = Translator(language)
    made.filters |= {
        "cores": lambda value: words.number(value / 1000),
        "bytes": lambda value: size(words, value),
        "number": words.number,
        "time": words.time,
        "moment": moment,
        "t": words,
        "phrase": lambda text: words.phrase(text) or text,
    }
    made.globals |= {
        "asset": assets.address,
        "languages": LANGUAGES,
        "labels": labels,
        "words": words,
        "limited": limited,
        "room": has_room,
    }
    return made


def size(words: Translator, value: int) -> str:
    """Return bytes in the largest unit of which there is at least one."""
    power = 0
    while power + 1 < len(UNITS) and abs(value) >= 1024 ** (power + 1):
        power += 1
    return f"{words.number(value / 1024**power, 1)} {UNITS[power]}"


def limited(used: int, most: int | None) -> float:
    """Return which part of a limit is used, 0 to 100; 0 where there is no limit."""
    if most is None:
        return 0.0
    return 100.0 if most <= 0 and used > 0 else 0.0 if most <= 0 else min(100.0, 100.0 * used / most)


def page(words: Translator, template: str, now: datetime, data: Mapping[str, Any]) -> str:
    """Return a page's text."""

    def ago(value: datetime | None) -> Markup:
        if value is None:
            return Markup("—")
        reply, whole = words.ago(value, now), words.time(value)
        return Markup('<time datetime="{}" title="{}">{}</time>').format(value.isoformat(), whole, reply)

    given = {"now": now, "ago": ago, "problems": (), "errors": {}}
    return environment(words.language).get_template(template).render(given | dict(data))


__all__ = ["environment", "escape", "limited", "page", "size"]
