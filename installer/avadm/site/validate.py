"""All rules over a site file as a whole: RULES of the modules in rules/ and of each component's ``rules``."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from importlib import import_module
from pkgutil import iter_modules

from avadm.components import catalog
from avadm.findings import Finding
from avadm.site import rules
from avadm.site.draft import Draft

__all__ = ["Draft", "validate"]

Rule = Callable[[Draft], Iterator[Finding]]


def _found() -> list[Rule]:
    common = [import_module(f"{rules.__name__}.{one.name}") for one in iter_modules(rules.__path__)]
    return [rule for module in [*common, *catalog.modules("rules")] for rule in getattr(module, "RULES", ())]


RULES = _found()
"""Those of every module; a file's findings are told in the file's order, not in this one."""


def validate(draft: Draft) -> list[Finding]:
    """Return what every rule finds."""
    return [finding for rule in RULES for finding in rule(draft)]
