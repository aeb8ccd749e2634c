"""Whether a node keeps to a control, from what tools/cisread.py printed there."""

from __future__ import annotations

import fnmatch
import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from avadm_validation.measuring.extract import Inputs, Params, extractor
from avadm_validation.suites.cis.controls import Control, controls

Doc = Mapping[str, Any]


def values_of(doc: Doc, process: str, flag: str) -> list[str]:
    """Return the values that an argument is given, in order; LookupError without the process.

    An argument alone is ``true``: Go's flags of that kind do not take the next word. ``_`` in a name is ``-``, as in
    Kubernetes' own reading. What etcd's environment says counts only without the argument.
    """
    part = doc["processes"][process]
    argv, found = part["argv"], []
    for i, word in enumerate(argv):
        name, has, value = word.lstrip("-").partition("=")
        if word.startswith("-") and name.replace("_", "-") == flag:
            following = argv[i + 1] if i + 1 < len(argv) else "-"
            alone = following.startswith("-") or following.lower() in ("true", "false")
            found.append(str(value if has else "true" if alone else following))
    named = f"{process}_{flag}".upper().replace("-", "_")
    environment = part.get("environment", {})
    return found or ([str(environment[named])] if named in environment else [])


def _gated(values: Sequence[str], gate: str) -> list[str]:
    """Return a gate's value in lists of feature gates; the last one counts."""
    pairs = dict(p.partition("=")[::2] for p in ",".join(values).split(","))
    found = {name.strip(): value.strip() for name, value in pairs.items()}
    return [found[gate]] if gate in found else []


def _holds(control: Control, values: Sequence[str]) -> bool:
    """Compare; of an argument that is given twice the last counts, and neither may name what must not be there."""
    if not values:
        return control.rule == "unset" or control.unset == "good"
    value = values[-1]
    match control.rule:
        case "set":
            return value != ""
        case "unset":
            return False
        case "is":
            return value.lower() == control.value
        case "nonzero":
            return not value.startswith("-") and re.search("[1-9]", value) is not None
        case "has":
            return control.value in value.split(",")
        case "lacks":
            return all(control.value not in v.split(",") for v in values)
        case "at-least":
            return float(value) >= float(control.value)


def paths(control: Control, doc: Doc) -> list[str]:
    """Return the files that a control means on a node; LookupError where one of them is not there."""
    found: list[str] = []
    for name in control.files:
        kind, _, rest = name.partition(":")
        if kind == "FLAG":
            process, _, flag = rest.partition(":")
            found += (values_of(doc, process, flag) or [""])[-1:]
        elif kind == "UNIT":
            found += [doc["units"][rest]]
        else:
            found += [p for p in doc["files"] if fnmatch.fnmatch(p, name)] or [name]
    return found


def _file_holds(control: Control, entry: Mapping[str, Any]) -> bool:
    if control.owner:
        return f"{entry['user']}:{entry['group']}" == control.owner
    return int(entry["mode"], 8) & ~int(control.mode, 8) & 0o7777 == 0


def complies(control: Control, doc: Doc) -> bool:
    """Tell whether a node keeps to a control; what cannot be read is not kept to."""
    try:
        if control.encryption:
            return bool(doc["encryption"][0] == control.encryption)
        if control.files:
            return all(_file_holds(control, doc["files"][path]) for path in paths(control, doc))
        given = [values_of(doc, control.process, flag) for flag in control.flags]
        if control.gate:
            given = [_gated(values, control.gate) for values in given]
        return all(_holds(control, values) for values in given)
    except (LookupError, ValueError):
        return False


def seen(control: Control, doc: Doc) -> str:
    """Return what a node has, in a phrase."""
    try:
        if control.encryption:
            return ", ".join(doc["encryption"]) or "no provider"
        if control.files:
            entries = {path: doc["files"].get(path) for path in paths(control, doc)}
            return ", ".join(
                f"{p} {e['mode']} {e['user']}:{e['group']}" if e else f"{p} is not there"
                for p, e in entries.items()
            )
        given = {flag: values_of(doc, control.process, flag) for flag in control.flags}
        return ", ".join(
            " ".join(f"--{flag}={value}" for value in values) or f"--{flag} not set"
            for flag, values in given.items()
        )
    except LookupError:
        return f"{control.process or 'what it is about'} was not found"


@extractor()
def cis_failing(inputs: Inputs, params: Params) -> float:
    """Return on how many nodes a control fails; ValueError where no node was asked."""
    docs = [json.loads(text) for text in inputs["nodes"]]
    if not docs:
        raise ValueError("no node was asked")
    control = controls()[str(params["control"])]
    return float(sum(not complies(control, doc) for doc in docs))
