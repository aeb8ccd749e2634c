"""What the numbers depend on, read from the evidence of the preconditions."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from avadm_validation.measuring.extract import document
from avadm_validation.measuring.suite import Conditions
from avadm_validation.protocol.model import CheckResult


def _documents(checks: Sequence[CheckResult], folder: Path, name: str) -> list[Any]:
    """Return the JSON of the preconditions' raw files of a name, in order."""
    paths = [
        p
        for c in checks
        if c.id == "preconditions"
        for p in c.evidence
        if p.endswith(".out") and f"-{name}-" in p
    ]
    return [document((folder / p).read_text(encoding="utf-8")) for p in paths]


def _short(version: str) -> str:
    """Return 16.2.15 of "ceph version 16.2.15 (hash) pacific (stable)"."""
    words = version.split()
    return words[2] if len(words) > 2 else version


def _versions(checks: Sequence[CheckResult], folder: Path) -> dict[str, str]:
    """Return component to version, as the daemons and the clients reported."""
    found: dict[str, str] = {}
    for doc in _documents(checks, folder, "versions"):
        for kind, running in doc.items():
            if kind != "overall" and running:
                found[f"ceph-{kind}"] = ", ".join(sorted({_short(v) for v in running}))
    facts = _documents(checks, folder, "facts")
    if facts:
        found["ceph client"] = ", ".join(sorted({_short(str(f.get("version", ""))) for f in facts}))
        found["fio"] = ", ".join(sorted({str(f.get("fio", "")).removeprefix("fio-") for f in facts}))
        found["kernel"] = ", ".join(sorted({str(f.get("kernel", "")) for f in facts}))
    return found


def _environment(checks: Sequence[CheckResult], folder: Path) -> dict[str, str]:
    """Return the conditions of the measurement, in words."""
    found: dict[str, str] = {}
    facts = _documents(checks, folder, "facts")
    if facts:
        memory = min(int(f.get("memory_kib", 0)) for f in facts) / 2**20
        found["client cores"] = ", ".join(sorted({str(f.get("cores", "?")) for f in facts}))
        found["client memory"] = f"{memory:.1f} GiB"
        found["cephfs mount"] = ", ".join(sorted({str(f.get("mount", "")) for f in facts}))
    for doc in _documents(checks, folder, "status")[-1:]:
        osds = doc.get("osdmap", {})
        osds = osds.get("osdmap", osds)
        found["OSDs"] = str(osds.get("num_osds", "?"))
        health = doc.get("health", {})
        held = health.get("status") == "HEALTH_WARN" and set(health.get("checks", {})) == {"OSDMAP_FLAGS"}
        found["health before"] = (
            "HEALTH_OK but for held off scrubs" if held else str(health.get("status", "?"))
        )
    for c in checks:
        for m in c.metrics:
            if c.id == "preconditions" and m.name == "network" and m.mean:
                found["network baseline"] = f"{m.mean / 1e9:.2f} Gbit/s between two clients"
    return found


def conditions(results: Sequence[CheckResult], folder: Path) -> Conditions:
    """Return ceph's versions and what the preconditions saw of the clients and the cluster."""
    return Conditions(_versions(results, folder), _environment(results, folder))
