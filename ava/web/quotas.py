"""Quotas as people write them in forms: GPUs, cores, GiB; nothing written is no limit."""

from __future__ import annotations

from typing import Any

from ava.schemas.common import QuotaOut
from ava.web import forms

GIB = 2**30


def read(form: forms.Form) -> dict[str, Any]:
    """Return the API's quota of a form's fields."""
    return {
        "gpu": forms.whole(form.text("gpu")),
        "cpu": forms.scaled(form.text("cpu"), 1000),
        "memory": forms.scaled(form.text("memory"), GIB),
        "storage": forms.scaled(form.text("storage"), GIB),
        "disk": forms.scaled(form.text("disk"), GIB),
    }


def shown(quota: QuotaOut) -> dict[str, str]:
    """Return a quota as the form's fields have it."""
    return {
        "gpu": _plain(quota.gpu, 1),
        "cpu": _plain(quota.cpu, 1000),
        "memory": _plain(quota.memory, GIB),
        "storage": _plain(quota.storage, GIB),
        "disk": _plain(quota.disk, GIB),
    }


def _plain(value: int | None, factor: int) -> str:
    """Return a scaled amount without a trailing zero, never in powers of ten."""
    return "" if value is None else f"{value / factor:.6f}".rstrip("0").rstrip(".")
