"""Reading raw tool output: JSON documents and what lies in them."""

from __future__ import annotations

import json
import math
from typing import Any

from avadm_validation.suites.storage.extract.types import Inputs, Params


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


def number(inputs: Inputs, params: Params) -> float:
    """Return the number at ``path`` (dotted) of the JSON in group ``doc``."""
    value = at(document((inputs.get("doc") or [""])[0]), str(params["path"]))
    return float(value) if isinstance(value, (int, float)) else math.nan


def equals(inputs: Inputs, params: Params) -> float:
    """Return 1 if the JSON of every file has one of ``value`` (separated by |) at ``path``, else 0."""
    texts = [text for group in inputs.values() for text in group]
    wanted = str(params["value"]).split("|")
    return float(bool(texts) and all(str(at(document(t), str(params["path"]))) in wanted for t in texts))


def contains(inputs: Inputs, params: Params) -> float:
    """Return 1 if every raw file contains ``text``, else 0."""
    texts = inputs.get("doc", [])
    return float(bool(texts) and all(str(params["text"]) in t for t in texts))


def length(inputs: Inputs, params: Params) -> float:
    """Return the number of entries of the JSON list that a file holds (e.g. ``dirfrag ls``)."""
    text = (inputs.get("doc") or [""])[0]
    try:
        doc = json.loads(text[text.index("[") :])
    except ValueError:
        return math.nan
    return float(len(doc))
