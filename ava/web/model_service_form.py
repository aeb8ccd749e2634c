"""What only the form of a service has: model, port, health, who may call, bounds of its replicas."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ava.web import forms

START = {"serving.port": "8080", "serving.health": "/", "serving.starts_in": "120", "serving.access": "group"}
"""What the form proposes."""


def serving_of(form: forms.Form) -> dict[str, Any]:
    """Return the part ``serving`` of a definition as plain data, for the API's model to judge; what is empty is left out."""
    scaling = {
        "least": forms.whole(form.text("scaling.least")),
        "most": forms.whole(form.text("scaling.most")),
        "requests": forms.real(form.text("scaling.requests")),
    }
    bounds = {key: value for key, value in scaling.items() if value is not None}
    found = {
        "model": form.text("serving.model"),
        "port": forms.whole(form.text("serving.port")),
        "health": form.given("serving.health"),
        "metrics": form.given("serving.metrics"),
        "starts_in": forms.whole(form.text("serving.starts_in")),
        "access": form.given("serving.access"),
        "scaling": bounds or None,
    }
    return {key: value for key, value in found.items() if value is not None}


def values(spec: Mapping[str, Any]) -> dict[str, str]:
    """Return what a stored definition says of it as the form's fields."""
    serving = spec.get("serving") or {}
    scaling = serving.get("scaling") or {}
    found = {f"serving.{key}": value for key, value in serving.items() if key != "scaling"}
    found |= {f"scaling.{key}": value for key, value in scaling.items()}
    return {key: "" if value is None else f"{value:g}" if isinstance(value, float) else str(value)
            for key, value in found.items()}  # fmt: skip


PLACES: tuple[tuple[str, str], ...] = (
    (r"serving\.scaling\.(\w+)", "scaling.{0}"),
    (r"serving\.scaling\b", "scaling.most"),
    (r"serving\.(\w+)", "serving.{0}"),
)
"""Places in a definition to the form's fields."""
