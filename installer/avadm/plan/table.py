"""The phases: what is installed where, after what (docs/architecture.md); each component brings its own."""

from __future__ import annotations

from avadm.components import COMPONENTS
from avadm.components.model import Phase

__all__ = ["PHASES", "Phase"]

PHASES: tuple[Phase, ...] = tuple(component.phase for component in COMPONENTS)
