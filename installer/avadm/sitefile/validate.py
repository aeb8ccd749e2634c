"""All rules over a site file as a whole; each family of rules is a module in rules/ with its list RULES."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from importlib import import_module
from pkgutil import iter_modules

from avadm.findings import Finding
from avadm.sitefile import rules
from avadm.sitefile.rules.draft import Draft

__all__ = ["Draft", "validate"]

Rule = Callable[[Draft], Iterator[Finding]]


def _found() -> list[Rule]:
    modules = (import_module(f"{rules.__name__}.{one.name}") for one in iter_modules(rules.__path__))
    return [rule for module in modules for rule in getattr(module, "RULES", ())]


RULES = _found()
"""Those of every module; a file's findings are told in the file's order, not in this one."""


def validate(draft: Draft) -> list[Finding]:
    """Return what every rule finds."""
    return [finding for rule in RULES for finding in rule(draft)]
