"""How many placement groups each pool gets: pure arithmetic, after ceph's pgcalc."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

TARGET_PER_OSD = 100
"""Placement group copies on one OSD that pgcalc aims at for a cluster that is not going to grow soon."""
LIMIT_PER_OSD = 250
"""Default of mon_max_pg_per_osd from 13.2 to 18.2: ceph refuses pools beyond it."""
RESERVED_PER_OSD = 10
"""Kept free below the limit for pools that ceph makes by itself (.mgr, device_health_metrics)."""
FLOOR = 16
"""Fewest groups of a pool: below that, one group is a notable part of a small pool's work."""


def power_above(value: Fraction) -> int:
    """Return the smallest power of two that is not below the value (at least 1)."""
    power = 1
    while power < value:
        power *= 2
    return power


def nearest_power(value: Fraction) -> int:
    """Return the power of two that pgcalc rounds to: the one below, unless that is more than 25 % too low."""
    above = power_above(value)
    below = above if above == value else max(1, above // 2)
    return below if below >= value * Fraction(3, 4) else above


def pg_counts(
    shares: Mapping[str, float],
    osds: int,
    replicas: int,
    *,
    target: int = TARGET_PER_OSD,
    limit: int = LIMIT_PER_OSD - RESERVED_PER_OSD,
) -> dict[str, int]:
    """Return the number of placement groups of each pool, a power of two.

    The rule is that of pgcalc (docs.ceph.com, "Placement groups", and the PG calculator's notes): OSDs x
    target per OSD x share / replicas, rounded to the nearest power of two; never fewer than one copy of a
    group per OSD, nor than FLOOR. Where the floors together would pass the limit (few OSDs, many pools), the
    largest counts are halved until they fit.

    Args:
        shares: pool name to its expected share of the cluster's data, 0 to 1.
        osds: number of OSDs.
        replicas: copies of each object.
        target: wanted copies of groups on one OSD.
        limit: most copies of groups on one OSD.
    """
    osds = max(1, osds)
    floor = max(FLOOR, power_above(Fraction(osds, replicas)))
    counts = {
        name: max(floor, nearest_power(Fraction(share).limit_denominator(10**6) * osds * target / replicas))
        for name, share in shares.items()
    }
    while sum(counts.values()) * replicas > limit * osds and max(counts.values(), default=1) > 1:
        # Of equal counts the last in name order gives way, so that the result does not depend on the order.
        counts[max(counts, key=lambda name: (counts[name], name))] //= 2
    return counts
