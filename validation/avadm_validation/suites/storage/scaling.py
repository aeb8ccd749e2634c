"""What more clients at once do to throughput, fairness and latency: at each number of clients, the worst counts."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from statistics import fmean

from avadm_validation.measuring.context import Context
from avadm_validation.protocol.model import Sample, Series
from avadm_validation.suites.storage.measure import samples

Groups = Mapping[str, list[str]]
"""Raw files of the clients that worked at once, by their number, from one to all."""


def steps(clients: Sequence[str]) -> list[int]:
    """Return how many clients work at once, step by step; all of them at last."""
    n = len(clients)
    return [*(c for c in (1, 2, 3, 4, 8, 16, 32, 64, 128) if c < n), n]


def scaling(ctx: Context, groups: Groups, repetitions: int) -> list[Sample]:
    """Return aggregate(C) over the best of fewer clients, of each repetition the least."""
    names = list(groups)
    inputs = [{k: groups[k] for k in names[: i + 1]} for i in range(1, len(names))]
    return _worst(ctx, "scaling", inputs, repetitions, 1)


def share(ctx: Context, groups: Groups, repetitions: int) -> list[Sample]:
    """Return the slowest client's rate over the mean of those at work, of each repetition the least."""
    inputs = [{"clients": paths} for paths in list(groups.values())[1:]]
    return _worst(ctx, "least_share", inputs, repetitions, 1)


def tail(ctx: Context, groups: Groups, repetitions: int) -> list[Sample]:
    """Return p99 with C clients over p99 with one, of each repetition the largest."""
    first, *more = groups
    inputs = [{k: groups[k] for k in (first, name)} for name in more]
    return _worst(ctx, "latency_ratio", inputs, repetitions, -1)


def throughput(ctx: Context, name: str, group: str, unit: str, groups: Groups, scale: float = 1.0) -> Series:
    """Return throughput by clients; a step in which a client ran out of work is left out."""
    found = {c: [s.value for s in samples(ctx, "rate", paths)] for c, paths in groups.items()}
    return Series(
        name=name,
        group=group,
        kind="scaling",
        x_label="clients",
        x_unit="count",
        y_label="throughput",
        y_unit=unit,
        points=[(float(c), fmean(values) * scale) for c, values in found.items() if values],
    )


def _worst(
    ctx: Context, extract: str, steps: Sequence[Mapping[str, list[str]]], repetitions: int, sign: int
) -> list[Sample]:
    """Return of each repetition the step with the least ``sign`` × value.

    A repetition in which a client had nothing left to do at some step says nothing, and is then missing.
    """
    found = []
    for i in range(repetitions):
        of_steps = [ctx.sample(extract, inputs, repetition=float(i)) for inputs in steps]
        if not any(math.isnan(s.value) for s in of_steps):
            found.append(min(of_steps, key=lambda s: sign * s.value))
    return found
