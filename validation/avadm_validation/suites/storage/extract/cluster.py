"""Numbers of the preconditions: health, placement groups, versions, clocks, space, clients."""

from __future__ import annotations

import math

from avadm_validation.measuring.extract import Inputs, Params, at, document, extractor

SCRUB_FLAGS = ("noscrub", "nodeep-scrub")
"""OSD flags that hold scrubs off: a run sets them, and a site may have its own."""


@extractor()
def healthy(inputs: Inputs, params: Params) -> float:
    """Return 1 if ``ceph status`` says HEALTH_OK, or warns of nothing but held off scrubs; else 0."""
    health = document((inputs.get("doc") or [""])[0]).get("health") or {}
    if health.get("status") != "HEALTH_WARN":
        return float(health.get("status") == "HEALTH_OK")
    checks = health.get("checks") or {}
    # "noscrub,nodeep-scrub flag(s) set"
    flags = str(at(checks, "OSDMAP_FLAGS.summary.message")).partition(" flag")[0].split(",")
    return float(set(checks) == {"OSDMAP_FLAGS"} and set(flags) <= set(SCRUB_FLAGS))


@extractor()
def busy_pgs(inputs: Inputs, params: Params) -> float:
    """Return how many placement groups of ``ceph status`` are not exactly active+clean (scrubs count as busy)."""
    doc = document((inputs.get("doc") or [""])[0])
    if "pgmap" not in doc:
        return math.nan
    states = doc["pgmap"].get("pgs_by_state", [])
    return float(sum(int(s["count"]) for s in states if s["state_name"] != "active+clean"))


@extractor()
def osds_down(inputs: Inputs, params: Params) -> float:
    """Return how many OSDs of ``ceph status`` are not both up and in (13.2 nests the map once more)."""
    osds = at(document((inputs.get("doc") or [""])[0]), "osdmap") or {}
    osds = osds.get("osdmap", osds)
    if "num_osds" not in osds:
        return math.nan
    return float(int(osds["num_osds"]) - min(int(osds["num_up_osds"]), int(osds["num_in_osds"])))


@extractor()
def versions(inputs: Inputs, params: Params) -> float:
    """Return the number of different ceph versions among daemons (``ceph versions``) and clients."""
    found = set(document((inputs.get("doc") or [""])[0]).get("overall", {}))
    found |= {str(document(t).get("version")) for t in inputs.get("clients", [])}
    # "ceph version 16.2.15 (hash) pacific (stable)": the number and the commit decide.
    return float(len({" ".join(v.split()[:4]) for v in found})) if found else math.nan


@extractor()
def skew(inputs: Inputs, params: Params) -> float:
    """Return the largest difference between two clocks that their intervals leave certain, milliseconds."""
    readings = document((inputs.get("doc") or [""])[0]).values()
    if not readings:
        return math.nan
    low, high = max(float(r["low"]) for r in readings), min(float(r["high"]) for r in readings)
    return max(0.0, low - high) * 1000


@extractor()
def least_avail(inputs: Inputs, params: Params) -> float:
    """Return the least pool's free bytes over the bytes that the run ``writes``."""
    needed = sum(document((inputs.get("writes") or [""])[0]).values())
    free = [p["stats"]["max_avail"] for p in document((inputs.get("doc") or [""])[0]).get("pools", [])]
    return float(min(free)) / needed if free and needed else math.inf if free else math.nan


@extractor()
def ready(inputs: Inputs, params: Params) -> float:
    """Return the share of clients with fio, the bindings (where there is a ``pool``) and the ``mount``."""
    found = [document(t) for t in inputs.get("clients", [])]
    good = [
        bool(d.get("fio"))
        and (not params["pool"] or d.get("bindings"))
        and (not params["mount"] or d.get("mount") in ("fuse.ceph-fuse", "ceph", "fuse.ceph"))
        for d in found
    ]
    return sum(map(bool, good)) / len(good) if good else math.nan
