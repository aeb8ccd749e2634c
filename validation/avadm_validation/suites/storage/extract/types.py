"""Types of the functions that turn raw text into numbers."""

from __future__ import annotations

from collections.abc import Callable, Mapping

Inputs = Mapping[str, list[str]]
"""Texts of raw files, by group."""
Params = Mapping[str, float | str]
"""Further arguments."""
Extractor = Callable[[Inputs, Params], float]
"""One number from raw texts; NaN where they hold no value, which never passes."""
