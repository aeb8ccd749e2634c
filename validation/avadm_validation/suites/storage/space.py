"""How much a run writes at most, so that it never fills the cluster that it measures."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from avadm_validation.measuring.context import Context
from avadm_validation.measuring.targets import Target
from avadm_validation.suites.storage.extract.series import ALLOCATED

SHARE = 1 / 8
"""Share of the free space that a check may fill with files, where that is more than the effort's ``file_bytes``."""
SLOW = 5e7
"""Bytes a second of the slowest cluster whose images are still filled in time."""


def size_of(text: str) -> int:
    """Return the bytes of a size as rbd takes it: 128M, 100G, 2T."""
    return int(text[:-1]) << {"M": 20, "G": 30, "T": 40}[text[-1]]


def bench_clients(target: Target, params: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the clients that measure images of their own: at most ``max_clients`` of the effort."""
    return target.clients[: int(params.get("max_clients", len(target.clients)))]


def needed(target: Target, params: Mapping[str, Mapping[str, Any]]) -> dict[str, float]:
    """Return the bytes that the checks will write, by what for; ``params`` are those of the checks that will run."""
    found: dict[str, float] = {}
    if target.pool:
        for check in ("A-BD1", "A-BD2"):
            if p := params.get(check):  # both use the same images
                n = len(bench_clients(target, p)) * int(p["images_per_client"])
                found["images of A-BD1 and A-BD2"] = float(n * size_of(str(p["image_size"])))
        for check in ("A-BD3", "A-BD4"):
            if p := params.get(check):
                files = max(p.get("series") or [p["files"]])
                found[f"files in {check}'s image"] = float(files * 2 * max(4096, int(p["size"])))
        if p := params.get("A-BD5"):
            found["image of A-BD5"] = float(size_of(str(p["image_size"])))
    files = [
        max(
            float(p["file_bytes"]),
            max([*p.get("series", []), p.get("files", 0)]) * float(max(ALLOCATED, int(p["size"]))),
        )
        for check, p in params.items()
        if check.startswith("A-FS")
    ]
    if target.mount and files:
        found["files on cephfs"] = max(files)
    return found


def save(ctx: Context) -> str:
    """Keep the bytes as a raw file; return its path."""
    return ctx.rec.save("writes.json", json.dumps(ctx.params["writes"], indent=1))


def words(free: float, writes: Mapping[str, float]) -> str:
    """Return found against wanted."""
    parts = ", ".join(f"{what} {n / 1e9:,.0f} GB" for what, n in writes.items())
    return (
        f"free space: {free / 1e9:,.0f} GB in the least pool, wanted twice the {sum(writes.values()) / 1e9:,.0f} GB that "
        f"this run writes ({parts}); give --only for a part of it"
    )


def most_files(ctx: Context, writers: int, windows: int, share: float = 1.0) -> int:
    """Return how many files a process may make in a window, so that a check stays within its share of the space.

    Args:
        ctx: the check.
        writers: clients that write at once.
        windows: windows that they write in.
        share: share of the check's bytes that these windows may fill.
    """
    p = ctx.params
    most = max(float(p.get("file_bytes", 1e12)), SHARE * float(ctx.shared.get("free", 0.0))) * share
    each = writers * int(p["procs"]) * windows * max(ALLOCATED, int(p["size"]))
    return max(1, min(int(p.get("max_files", 10_000_000)), int(most / each)))


def fill_limit(total: float) -> float:
    """Return how long filling images may take, seconds."""
    return 600 + total / SLOW
