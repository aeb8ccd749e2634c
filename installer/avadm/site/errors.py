"""Pydantic's errors in words: what is expected is described in words, and every finding has its line."""

from __future__ import annotations

import re
import types
from difflib import get_close_matches
from ipaddress import IPv4Network
from typing import Annotated, Any, Union, get_args, get_origin

from pydantic import BaseModel, ValidationError
from pydantic.fields import FieldInfo
from pydantic_core import ErrorDetails

from avadm.catalogue import finding
from avadm.findings import Finding
from avadm.site.model import Site
from avadm.site.source import KeyPath, Source, dotted
from avadm.site.text import plain

VAULT_NAME = r"^vault_[a-z0-9_]+$"
"""Where the name of a secret is wanted, what stands there instead may be the secret itself."""
_HIDDEN = "something else, which is not shown"
PATTERNS = {
    r"^([01][0-9]|2[0-3]):[0-5][0-9]-([01][0-9]|2[0-3]):[0-5][0-9]$": "hours of the day, UTC, as 22:00-06:00",
    r"^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$": "lower-case letters, digits and inner hyphens, at most 63",
    r"^[a-z0-9]+(-[a-z0-9]+)*$": "lower-case letters and digits, in parts with single hyphens between them",
    r"^[a-z0-9][a-z0-9-]{1,61}[a-z0-9]$": "3 to 63 lower-case letters, digits and inner hyphens",
    VAULT_NAME: "the name of a vault variable: vault_ and lower-case letters, digits and '_'",
    r"^[a-z][a-z0-9_]{0,62}$": "a lower-case letter, then lower-case letters, digits and '_', at most 63",
    r"^/dev/disk/by-id/[^/]+$": "a path /dev/disk/by-id/NAME",
    r"^[A-Za-z0-9_.-]+$": "letters, digits, '_', '.' and '-'",
    r"^[A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?$": "letters, digits, inner '.', '_' and '-', at most 63",
    r"^/": "an absolute path",
    r"^[A-Za-z0-9_.*?-]+$": "letters, digits, '_', '.', '-', and '*' or '?' for what varies",
    r"^/[^\s,:]*[^\s,:/]$": "an absolute path without blanks, ',' and ':', that does not end in '/'",
    r"^/[^\s]*[^\s/]$": "an absolute path without blanks, that does not end in '/'",
    r"^/[A-Za-z0-9_][A-Za-z0-9_.-]*$": "'/' and one name of letters, digits, '_', '.' and '-', no '.' or '-' first",
    r"^[A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?(\.[A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?)*(:[1-9][0-9]{0,4})?$": (
        "HOST or HOST:PORT, without hdfs://"
    ),
    r"^[A-Za-z_][A-Za-z0-9_.-]{0,63}$": "a letter or '_', then letters, digits, '_', '.' and '-', at most 64",
    r"^[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)*$": "a host name in lower case, or an IPv4 address",
    r"^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$": "3 to 63 lower-case letters, digits, inner '.' and '-'",
    r"^([^/\s]+(/[^/\s]+)*)?$": "names with '/' between them",
    r"^(all|nodes|pods|outside|\d{1,3}(\.\d{1,3}){3}/\d{1,2})$": "all, nodes, pods, outside, or a network such as 10.1.2.0/24",
    r"^https?://[^\s/]+$": "http:// or https:// and a host, with a port or without, and no path",
    r"^[a-z0-9]+(_[a-z0-9]+)*$": "lower-case letters and digits, in parts with single '_' between them",
    r"^[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?(:[1-9][0-9]{0,4})?$": "HOST or HOST:PORT, in lower-case letters",
    r"^\s*-----BEGIN CERTIFICATE-----": "a certificate in PEM, which begins with -----BEGIN CERTIFICATE-----",
    r"^[^:\s]+$": "a name without ':' and blanks",
    r"^https?://[^\s]+$": "http:// or https:// and an address without blanks",
    r"^https://[^\s?#]+$": "https:// and an address without blanks, '?' and '#'",
    r"^ldaps?://[^\s/:]+(:[0-9]{1,5})?$": "ldap:// or ldaps:// and HOST or HOST:PORT",
    r"^[^\s].*\{name\}": "a name in the directory with {name} where the user's goes",
    r"^\(.*\{name\}.*\)$": "a filter in parentheses with {name} where the user's goes: (sAMAccountName={name})",
    r"^[^@\s]+@[^@\s]+$": "an address such as ops@example.org",
    r"\S": "some words",
    r"^(preflight|doctor):[a-z0-9]+(-[a-z0-9]+)*$": "a check's id with its scope, such as preflight:kernel or doctor:gpu-uvm",
    r"^[a-z]([-a-z0-9]{0,30}[a-z0-9])?$": "a letter, then lower-case letters, digits and inner hyphens, at most 32",
    r"^[a-z0-9]([-a-z0-9._]{0,98}[a-z0-9])?$": "lower-case letters, digits and inner '-', '.' and '_', at most 100",
    r"^(ssh-|ecdsa-|sk-)\S+ [A-Za-z0-9+/=]+( .*)?$": "a public key as in ~/.ssh/id_ed25519.pub, in one line",
    r"^(none|[0-9]{1,6})$": "a number of GPUs, or none: no limit",
    r"^(none|[0-9]{1,9}(\.[0-9]{1,3})?)$": "a number of cores, or none: no limit",
    r"^(none|0|[0-9]{1,9}(\.[0-9]{1,3})? ?[KMGTP]iB)$": "a size such as 512GiB or 1.5TiB, or none: no limit",
}
"""Each pattern of the model in words; a test sees to it that none is missing."""

_TYPES = {
    "string": "text",
    "int": "a whole number",
    **dict.fromkeys(("float", "finite_number"), "a number"),
    "bool": "true or false",
    "list": "a list (lines that begin with '- ')",
    "dict": "a mapping (lines of 'key: value')",
    "model": "a mapping (lines of 'key: value')",
    **dict.fromkeys(
        ("date", "date_from_datetime", "date_from_datetime_inexact"), "a day, such as 2030-01-31"
    ),
    "ip_v4_address": "an IPv4 address such as 10.0.0.11",
    "ip_v4_network": "an IPv4 network such as 10.0.0.0/24",
}


_JUMP = "A jump host is written `ssh.jump: {address, user, host_key}`."
_NO_MAPPING: dict[type[BaseModel], str] = {Site: "Name a site file; `avadm site init` writes one."}
_NO_SECRETS = "Remove it: the file holds no secrets, and avadm logs in with its key (`avadm bootstrap` asks for the password)."


def explain(
    error: ValidationError, source: Source, root: type[BaseModel] = Site
) -> tuple[list[Finding], list[KeyPath]]:
    """Turn a validation error into findings, one for each place; ``root`` is the model of the whole file.

    Returns:
        The findings in the file's order, and the key paths that are wrong.
    """
    wrong: dict[KeyPath, Finding] = {}
    for detail in error.errors(include_url=False):
        path = _real(detail, source.data)
        if path not in wrong:
            wrong[path] = _finding(detail, path, source, root)
    return list(wrong.values()), list(wrong)


def nearest(word: str, known: list[str]) -> str:
    """Return the remedy for a word that is not known, naming the nearest one that is."""
    close = get_close_matches(word.lower(), [k.lower() for k in known], n=1, cutoff=0.6)
    if close:
        best = next(k for k in known if k.lower() == close[0])
        return f"Did you mean {best!r}?"
    return f"Known here: {', '.join(known)}."


def field_at(path: KeyPath, root: type[BaseModel] = Site) -> FieldInfo | None:
    """Return the model's field at a key path, None for a free mapping's keys and for list items."""
    model: type[BaseModel] | None = root
    info: FieldInfo | None = None
    for part in path:
        if isinstance(part, int):
            info = None
            continue
        if model is None or part not in model.model_fields:
            return None
        info = model.model_fields[part]
        model = model_of(info.annotation)
    return info


def model_of(annotation: object) -> type[BaseModel] | None:
    """Return the model inside an annotation such as ``list[Node]`` or ``Cephfs | None``."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    if get_origin(annotation) in (list, Union, types.UnionType, Annotated):
        for inner in get_args(annotation):
            if found := model_of(inner):
                return found
    return None


def known_keys(path: KeyPath, root: type[BaseModel] = Site) -> list[str]:
    """Return the keys that the mapping at a key path may have."""
    model: type[BaseModel] | None = root
    for part in path:
        if isinstance(part, str) and model is not None:
            info = model.model_fields.get(part)
            model = model_of(info.annotation) if info else None
    return list(model.model_fields) if model else []


def elsewhere(name: str, model: type[BaseModel] = Site, above: str = "") -> str | None:
    """Return the path of a key of this name somewhere in the file, None where there is none."""
    for key, info in model.model_fields.items():
        path = f"{above}{key}"
        if key == name:
            return path
        if (inner := model_of(info.annotation)) and (found := elsewhere(name, inner, f"{path}.")):
            return found
    return None


def _real(detail: ErrorDetails, data: object) -> KeyPath:
    """Return an error's place without the parts that name members of a union; a missing key stays."""
    path: list[str | int] = []
    here: Any = data
    for part in detail["loc"]:
        if type(here) not in (dict, list):
            break
        try:
            here = here[part]
        except (KeyError, IndexError, TypeError):
            if detail["type"] == "missing":
                path.append(part)
            break
        path.append(part)
    return tuple(path)


def _finding(detail: ErrorDetails, path: KeyPath, source: Source, root: type[BaseModel]) -> Finding:
    kind, value = detail["type"], detail["input"]
    key, name = dotted(path), str(path[-1]) if path else "the file"
    where = source.place(path)
    info = field_at(path, root)
    if kind == "extra_forbidden":
        known = known_keys(path[:-1], root)
        secrets = _NO_SECRETS if root is Site else "Remove it: the file holds no secrets."
        remedy = secrets if secret_name(name) else nearest(name, known)
        if path[:1] == ("ssh",) and re.search("jump|bastion|gateway|proxy", name.lower()):
            remedy = _JUMP
        if remedy.startswith("Known") and (home := elsewhere(name, root)):
            remedy = f"Did you mean {home!r}?"
        return finding("unknown-key", where=where, found=key, wanted="a known key", name=name, remedy=remedy)
    about = f" ({info.description.rstrip('.')})" if info and info.description else ""
    if kind == "missing":
        return finding(
            "missing-key",
            where=f"{source.where(path[:-1])} {key}",
            found="nothing",
            wanted=f"{name}{about}",
            key=key,
            name=name,
        )
    wanted, remedy = _wanted(detail, value)
    return finding(
        "wrong-value-key" if path else "wrong-value-file",
        where=where,
        found=_HIDDEN if (detail.get("ctx") or {}).get("pattern") == VAULT_NAME else shown(value),
        wanted=wanted + about,
        key=key,
        remedy=remedy or (_otherwise(info, value) if path else _NO_MAPPING.get(root, "Name another file.")),
    )


def _otherwise(info: FieldInfo | None, value: object) -> str:
    """Return what can be done about any wrong value."""
    verb = "Write a value" if value is None else "Correct it"
    if info is None or info.is_required() or isinstance(info.default, BaseModel | list | dict):
        return f"{verb}."
    default = "" if info.default is None else f": it is then {shown(info.default)}"
    return f"{verb}, or leave the key out{default}."


def secret_name(name: str) -> bool:
    """Whether a key's name says that its value is a secret."""
    return (
        re.search(
            r"(passw(or)?d|passphrase|secret|token|private_?key|api_?key|become_pass|ssh_pass)$", name.lower()
        )
        is not None
    )


def shown(value: object) -> str:
    """Return a value as a finding shows it: short, on one line, in YAML's words."""
    if value is None:
        return "nothing"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, dict):
        return f"a mapping with {', '.join(map(str, list(value)[:3])) or 'no keys'}"
    if isinstance(value, list):
        return f"a list of {len(value)}"
    text = plain(str(value))
    return text if len(text) <= 80 else text[:77] + "…"


def _wanted(detail: ErrorDetails, value: object) -> tuple[str, str]:
    """Return what was wanted, and a specific remedy where there is one."""
    kind: str = detail["type"]
    context = detail.get("ctx", {})
    if kind == "literal_error":
        options = [o.strip().strip("'") for o in str(context["expected"]).replace(" or ", ", ").split(", ")]
        if isinstance(value, str) and value in options:
            return f"the number {value}", f"Write {value} without quotes."
        near = nearest(value, options) if isinstance(value, str) else ""
        remedy = near if near.startswith("Did") else "Choose one of them."
        return ("one of " if options[1:] else "") + ", ".join(options), remedy
    if kind == "string_pattern_mismatch":
        remedy = ""
        if isinstance(value, str) and re.fullmatch(context["pattern"], value.lower()):
            remedy = f"Write {value.lower()!r}."
        return PATTERNS.get(context["pattern"], f"text like {context['pattern']}"), remedy
    if kind in ("greater_than_equal", "less_than_equal", "greater_than", "less_than"):
        words = {"ge": "at least", "le": "at most", "gt": "more than", "lt": "less than"}
        return next(f"{words[k]} {v:.12g}" for k, v in context.items() if k in words), ""
    if kind == "too_short":
        return f"at least {context['min_length']}", "Add one."
    if kind == "too_long":
        return f"at most {context['max_length']}", ""
    base = kind.removesuffix("_type").removesuffix("_parsing").removesuffix("_from_float")
    if kind == "value_error":
        return str(context.get("error", detail["msg"])), "Write it in dotted form: 10.0.0.11, or 10.0.0.0/24."
    if base == "ip_v4_network" and isinstance(value, str) and "/" in value:
        try:
            return "a network's first address and its length", f"Write {IPv4Network(value, strict=False)}."
        except ValueError:
            pass
    if base in ("int", "float") and isinstance(value, str) and value.isascii() and value.isdigit():
        start = "without quotes" if value == str(int(value)) else "without a zero in front"
        return _TYPES[base], f"Write {int(value)}, {start}."
    if base == "string" and isinstance(value, int | float | bool):
        return "text", f'Put it in quotes: "{shown(value)}".'
    return _TYPES.get(base, detail["msg"]), ""
