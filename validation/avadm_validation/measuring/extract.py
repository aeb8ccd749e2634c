"""From raw text to numbers: pure functions by name, used when measuring and again by ``verify``.

Each suite registers its own with ``@extractor()``; those that several suites use are here.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from typing import Any

Inputs = Mapping[str, list[str]]
"""Texts of raw files, by group."""
Params = Mapping[str, float | str]
"""Further arguments."""
Extractor = Callable[[Inputs, Params], float]
"""One number from raw texts; NaN where they hold no value, which never passes."""

EXTRACTORS: dict[str, Extractor] = {}
_NOT_READ = (ArithmeticError, LookupError, TypeError, ValueError, AttributeError)
_SECONDS: dict[str, Extractor] = {}
_FILES: dict[str, Extractor] = {}


def extractor(
    *, seconds: Extractor | None = None, files: Extractor | None = None
) -> Callable[[Extractor], Extractor]:
    """Make a function known by its name, which reports hold.

    Args:
        seconds: tells how long was measured, where the raw files say so.
        files: tells how many files the number is for, where it is one of a series.
    """

    def register(function: Extractor) -> Extractor:
        name = function.__name__
        if EXTRACTORS.setdefault(name, function) is not function:
            raise ValueError(f"there are two functions {name}")
        _SECONDS.update({name: seconds} if seconds else {})
        _FILES.update({name: files} if files else {})
        return function

    return register


def compute(name: str, inputs: Inputs, params: Params) -> float:
    """Return a function's number; NaN where the raw texts are not what it reads; KeyError for an unknown name."""
    function = EXTRACTORS[name]
    try:
        return function(inputs, params)
    except _NOT_READ:
        return math.nan


def facts(name: str, inputs: Inputs, params: Params) -> tuple[float, float | None]:
    """Return what a sample's raw files say beside its value: seconds measured, and files that it is for (a series).

    Seconds are 0 and files None where a function knows of none.
    """
    seconds, files = _SECONDS.get(name), _FILES.get(name)
    try:
        return seconds(inputs, params) if seconds else 0.0, files(inputs, params) if files else None
    except _NOT_READ:
        return math.nan, None


def document(text: str) -> Any:
    """Return the JSON document of a tool's output; {} where there is none (fio may print warnings before it)."""
    start = text.find("{")
    try:
        return json.JSONDecoder().raw_decode(text[start:])[0] if start >= 0 else {}
    except ValueError:
        return {}


def at(doc: Any, path: str) -> Any:
    """Return what lies at a dotted path of a JSON document, None where there is nothing."""
    for key in path.split("."):
        if isinstance(doc, list):
            doc = doc[int(key)] if key.isdigit() and int(key) < len(doc) else None
        else:
            doc = doc.get(key) if isinstance(doc, dict) else None
    return doc


@extractor()
def number(inputs: Inputs, params: Params) -> float:
    """Return the number at ``path`` (dotted) of the JSON in group ``doc``."""
    value = at(document((inputs.get("doc") or [""])[0]), str(params["path"]))
    return float(value) if isinstance(value, (int, float)) else math.nan


@extractor()
def equals(inputs: Inputs, params: Params) -> float:
    """Return 1 if the JSON of every file has one of ``value`` (separated by |) at ``path``, else 0."""
    texts = [text for group in inputs.values() for text in group]
    wanted = str(params["value"]).split("|")
    return float(bool(texts) and all(str(at(document(t), str(params["path"]))) in wanted for t in texts))


@extractor()
def contains(inputs: Inputs, params: Params) -> float:
    """Return 1 if every raw file contains ``text``, else 0."""
    texts = inputs.get("doc", [])
    return float(bool(texts) and all(str(params["text"]) in t for t in texts))


@extractor()
def length(inputs: Inputs, params: Params) -> float:
    """Return the number of entries of the JSON list that a file holds (e.g. ``dirfrag ls``)."""
    text = (inputs.get("doc") or [""])[0]
    try:
        doc = json.loads(text[text.index("[") :])
    except ValueError:
        return math.nan
    return float(len(doc))
