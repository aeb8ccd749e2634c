"""Clocks agree: ceph's monitors need it (they warn above 50 ms), and so does every measured time series."""

from __future__ import annotations

from collections.abc import Mapping
from statistics import median_low

from avadm.catalogue import finding
from avadm.checks.evidence import Clock, PreflightContext
from avadm.checks.framework import Check
from avadm.findings import Finding, Severity

REMEDY = "Start a time service on it (the base phase sets up chrony), or set the clock; then look again."


def judge(context: PreflightContext) -> list[Finding]:
    """Return what is known of each node's difference to the middle clock: surely, or perhaps, too much."""
    clocks = context.clocks
    if len(clocks) < 2:
        return []
    limit = context.site.time.max_skew_ms
    # The middle of the true clocks lies between the middles of what they are at least and at most.
    low = median_low(c.offset_ms - c.error_ms for c in clocks.values())
    high = median_low(c.offset_ms + c.error_ms for c in clocks.values())
    found = []
    for node, clock in clocks.items():
        difference = clock.offset_ms - (low + high) / 2
        error = clock.error_ms + (high - low) / 2
        if abs(difference) - error > limit:
            found.append(_finding(node, difference, error, limit, Severity.ERROR))
        elif abs(difference) + error > limit:
            found.append(_finding(node, difference, error, limit, Severity.WARNING))
    if any(f.severity is Severity.ERROR for f in found):
        return found
    return found + _spread(clocks, limit)


def _spread(clocks: Mapping[str, Clock], limit: float) -> list[Finding]:
    """Return an error where the two clocks that are surely farthest apart differ by too much."""
    # By what each is at least and at most: a vague clock hides no two sure ones.
    early = min(clocks, key=lambda n: clocks[n].offset_ms + clocks[n].error_ms)
    late = max(clocks, key=lambda n: clocks[n].offset_ms - clocks[n].error_ms)
    first, last = clocks[early], clocks[late]
    apart, error = last.offset_ms - first.offset_ms, first.error_ms + last.error_ms
    if apart - error <= limit:
        return []
    return [
        finding(
            "clocks",
            found=f"{early} and {late} are {apart:.0f} ms apart (± {error:.0f} ms)",
            wanted=f"at most {limit:g} ms (time.max_skew_ms)",
            remedy=REMEDY,
        )
    ]


def _finding(node: str, difference: float, error: float, limit: float, severity: Severity) -> Finding:
    return finding(
        "clocks-node" if severity is Severity.ERROR else "clocks-unsure",
        found=f"{difference:+.0f} ms (± {error:.0f} ms)",
        wanted=f"at most {limit:g} ms (time.max_skew_ms)",
        host=node,
        remedy=REMEDY,
    )


CHECK = Check("clocks", "clocks agree", ("clock",), judge, scope="all")
