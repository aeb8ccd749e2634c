"""The form of a training or workbench, and the definition that it stands for, in both directions."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping
from typing import Any

import yaml
from pydantic import ValidationError

from ava.domain.spec import Spec
from ava.web import forms, model_service_form

GIB = 2**30
TRUE_BY_DEFAULT = frozenset({"chief"})
"""Fields of a definition that are left out where they are true."""
SHELL = re.compile(r"[|&;<>()$`*?\[\]{}~#\n\\]")
"""What only a shell understands: then one runs the command."""
ROLES = {
    "single": ("worker",),
    "tensorflow": ("ps", "chief", "worker"),
    "mpi": ("launcher", "worker"),
}
"""Roles of each kind of training that the form knows, in the order of the page."""
DISTRIBUTED = {"single": "none", "tensorflow": "tensorflow", "mpi": "mpi"}
START: dict[str, dict[str, str]] = {
    "single": {"worker.replicas": "1", "worker.gpu": "1", "worker.cpu": "4", "worker.memory": "16"},
    "tensorflow": {
        "ps.replicas": "1",
        "ps.gpu": "0",
        "ps.cpu": "2",
        "ps.memory": "8",
        "chief.replicas": "0",
        "chief.gpu": "1",
        "chief.cpu": "4",
        "chief.memory": "16",
        "worker.replicas": "2",
        "worker.gpu": "1",
        "worker.cpu": "4",
        "worker.memory": "16",
    },
    "mpi": {
        "launcher.replicas": "1",
        "launcher.gpu": "0",
        "launcher.cpu": "1",
        "launcher.memory": "2",
        "worker.replicas": "2",
        "worker.gpu": "1",
        "worker.cpu": "4",
        "worker.memory": "16",
    },
    "workbench": {"worker.replicas": "1", "worker.gpu": "0", "worker.cpu": "2", "worker.memory": "8"},
    "service": {"worker.replicas": "1", "worker.gpu": "0", "worker.cpu": "2", "worker.memory": "4"}
    | model_service_form.START,
}
"""What the form proposes."""


def command(text: str) -> list[str]:
    """Return a command line as its words; one that only a shell understands is run by bash."""
    if not text:
        return []
    if not SHELL.search(text):
        try:
            return shlex.split(text)
        except ValueError:
            pass  # A quotation mark without its other one: bash says so in the log.
    return ["bash", "-c", text]


def line(words: list[str] | tuple[str, ...] | None) -> str:
    """Return the command line of a definition's words."""
    if not words:
        return ""
    if len(words) == 3 and tuple(words[:2]) == ("bash", "-c"):
        return words[2]
    return shlex.join(words)


def spec_of(form: forms.Form, kind: str, like: str) -> dict[str, Any]:
    """Return the definition of a form as plain data, for the API's model to judge; what is empty is left out.

    Raises:
        ApiError: 422 for lines of variables that are none.
    """
    roles = [role for name in ROLES[like] if (role := _role(form, name, like)) is not None]
    found: dict[str, Any] = {
        "kind": kind,
        "image": form.text("image"),
        "command": command(form.text("command")) or None,
        "env": forms.pairs(form.text("env"), "env") or None,
        "roles": roles or None,
        "distributed": DISTRIBUTED[like],
        "git": _git(form),
        "data_sets": _data_sets(form) or None,
        "gpu_model": form.given("gpu_model"),
        "node": form.given("node"),
        "cluster": form.given("cluster"),
        "queue": form.given("queue"),
        "priority": forms.whole(form.text("priority")),
        "retries": forms.whole(form.text("retries")),
        "time_limit": forms.scaled(form.text("hours"), 3600),
        "tensorboard": True if form.get("tensorboard") == "1" else None,
        "serving": model_service_form.serving_of(form) if kind == "service" else None,
        "disk": forms.scaled(form.text("disk"), GIB) if kind == "workbench" else None,
    }
    return {key: value for key, value in found.items() if value is not None}


def _role(form: forms.Form, name: str, like: str) -> dict[str, Any] | None:
    replicas = forms.whole(form.text(f"{name}.replicas") or "1")
    if replicas == 0:
        return None
    each = {
        "gpu": forms.whole(form.text(f"{name}.gpu")),
        "cpu": forms.scaled(form.text(f"{name}.cpu"), 1000),
        "memory": forms.scaled(form.text(f"{name}.memory"), GIB),
        "cpu_limit": forms.scaled(form.text(f"{name}.cpu_limit"), 1000),
        "memory_limit": forms.scaled(form.text(f"{name}.memory_limit"), GIB),
    }
    return {
        "name": name,
        "replicas": replicas,
        "each": {key: value for key, value in each.items() if value is not None},
        "policy": form.text(f"{name}.policy") or "restart-run",
        "ends_run": like == "mpi" and name == "launcher",
    }


def _git(form: forms.Form) -> dict[str, str] | None:
    given = {
        "url": form.text("git_url"),
        "commit": form.text("git_commit").lower(),
        "key": form.text("git_key"),
    }
    found = {key: value for key, value in given.items() if value}
    return found or None


def _data_sets(form: forms.Form) -> list[dict[str, Any]]:
    writes = set(form.every("data_write"))
    return [{"name": name, "write": name in writes} for name in form.every("data_set") if name]


def values(spec: Mapping[str, Any], name: str) -> tuple[dict[str, str], str]:
    """Return a stored definition as the form's fields, and which kind of training it is."""
    back = {v: k for k, v in DISTRIBUTED.items()}
    like = back.get(str(spec.get("distributed", "none")), "single")
    git = spec.get("git") or {}
    found = {
        "name": name,
        "image": spec.get("image", ""),
        "command": line(spec.get("command")),
        "env": "\n".join(f"{k}={v}" for k, v in (spec.get("env") or {}).items()),
        "git_url": git.get("url", ""),
        "git_commit": git.get("commit", ""),
        "git_key": git.get("key") or "",
        "hours": _scaled(spec.get("time_limit"), 3600),
        "disk": _scaled(spec.get("disk"), GIB),
        "data_set": " ".join(d["name"] for d in spec.get("data_sets") or ()),
        "data_write": " ".join(d["name"] for d in spec.get("data_sets") or () if d.get("write")),
        "tensorboard": "1" if spec.get("tensorboard") else "",
        **{
            key: str(value) if (value := spec.get(key)) is not None else ""
            for key in ("gpu_model", "node", "cluster", "queue", "priority", "retries")
        },
        **model_service_form.values(spec),
        # A role that the definition has not.
        **{f"{role}.replicas": "0" for role in ROLES[like]},
    }
    for role in spec.get("roles") or [{"name": "worker"}]:
        at, each = role.get("name", "worker"), role.get("each") or {}
        found |= {
            f"{at}.replicas": str(role.get("replicas", 1)),
            f"{at}.policy": str(role.get("policy", "restart-run")),
            f"{at}.gpu": str(each.get("gpu", 0)),
            f"{at}.cpu": _scaled(each.get("cpu"), 1000),
            f"{at}.memory": _scaled(each.get("memory"), GIB),
            f"{at}.cpu_limit": _scaled(each.get("cpu_limit"), 1000),
            f"{at}.memory_limit": _scaled(each.get("memory_limit"), GIB),
        }
    return found, like


def _scaled(value: int | None, factor: int) -> str:
    return "" if value is None else f"{value / factor:.6f}".rstrip("0").rstrip(".")


def written(spec: Mapping[str, Any]) -> str:
    """Return a definition as its file has it; what it leaves open is left out."""
    return str(yaml.safe_dump(_as_text(dict(spec)), sort_keys=False, allow_unicode=True))


def _as_text(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {
            k: _as_text(_cores(v) if k in ("cpu", "cpu_limit") else v)
            for k, v in value.items()
            if v is not None and v != {} and v != [] and v is not (k in TRUE_BY_DEFAULT)
        }
    return [_as_text(one) for one in value] if isinstance(value, (list, tuple)) else value


def _cores(value: Any) -> Any:
    """Return thousandths of a core as a file has them: cores."""
    if not isinstance(value, int):
        return value
    return value // 1000 if value % 1000 == 0 else value / 1000


def covers(spec: Mapping[str, Any], kind: str) -> bool:
    """Whether the form of a kind says all that a definition says; else changing it there would lose something."""
    shown, like = values(spec, "any")
    sets = [("data_set", d["name"]) for d in spec.get("data_sets") or ()]
    sets += [("data_write", d["name"]) for d in spec.get("data_sets") or () if d.get("write")]
    fields = [(k, v) for k, v in shown.items() if k not in ("data_set", "data_write")]
    again = _plain(spec_of(forms.Form([*fields, *sets]), kind, like))
    return again is not None and again == _plain(spec)


def _plain(spec: Mapping[str, Any]) -> Spec | None:
    try:
        return Spec.model_validate(dict(spec))
    except ValidationError:
        return None


PLACES: tuple[tuple[str, str], ...] = (
    (r"roles\[(\d+)\]\.each\.(\w+)", "{role}.{1}"),
    (r"roles\[(\d+)\]\.replicas", "{role}.replicas"),
    (r"roles\[(\d+)\]\.policy", "{role}.policy"),
    (r"git\.(\w+)", "git_{0}"),
    *model_service_form.PLACES,
    (r"env\b", "env"),
    (r"command\b", "command"),
    (r"time_limit", "hours"),
    (r"disk\b", "disk"),
    (r"(gpu_model|node|cluster|queue|priority|retries|image|tensorboard)\b", "{0}"),
    (r"data_sets\b", "data_set"),
)
"""Places in a definition to the form's fields."""


def field_of(where: str, like: str, form: forms.Form) -> str:
    """Return which field of the form a problem's place is; "" where it is none."""
    text = where.removeprefix("body.").removeprefix("spec.")
    if text == "name":
        return "name"
    there = [name for name in ROLES[like] if (form.text(f"{name}.replicas") or "1") != "0"]
    for pattern, name in PLACES:
        if found := re.match(pattern, text):
            parts = found.groups()
            if "{role}" in name:
                number = int(parts[0])
                role = there[number] if number < len(there) else ""
                return name.format(*parts, role=role) if role else ""
            return name.format(*parts)
    return ""
