"""Proposes lab thresholds from repeated runs: ``python -m avadm_validation.calibrate REPORT.json... [--factor 0.5]``.

For each criterion of the lab that is judged by a mean, it prints the mean over the runs, how much the runs vary, and
factor × mean (for ``<=``: mean / factor), rounded to two digits, with the comment that belongs beside the threshold.
Run it on at least five reports of one quiet machine (acceptance.md 2.3.6: mean of 5 runs), and write down which.
"""

from __future__ import annotations

import argparse
import math
import os
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

from avadm_validation.protocol import stats
from avadm_validation.protocol.criteria import parse, source
from avadm_validation.protocol.model import Criterion, Report


def means(reports: Sequence[Report]) -> dict[str, list[float]]:
    """Return each metric's mean of each run, by ``CHECK.METRIC``."""
    found: dict[str, list[float]] = defaultdict(list)
    for report in reports:
        for check in report.checks:
            for metric in check.metrics:
                if metric.mean is not None:
                    found[f"{check.id}.{metric.name}"].append(metric.mean)
    return found


def threshold(criterion: Criterion, values: Sequence[float], factor: float) -> float:
    """Return the proposed threshold, rounded to two digits to the lenient side."""
    at_least = criterion.op == ">="
    value = stats.mean(values) * factor if at_least else stats.mean(values) / factor
    scale = 10 ** (math.floor(math.log10(value)) - 1) if value > 0 else 1.0
    return float((math.floor if at_least else math.ceil)(value / scale) * scale)


def lines(reports: Sequence[Report], factor: float, machine: str) -> list[str]:
    """Return a line for each criterion that a mean judges."""
    found, out = means(reports), []
    for criterion in parse(source("lab"), "lab"):
        values = found.get(criterion.id, [])
        if criterion.rule != "mean":
            continue
        if len(values) < 2:
            out.append(f"{criterion.id}: measured {len(values)} times; two runs are the least")
            continue
        variation = (stats.cov(values) or 0.0) * 100
        out.append(
            f"{criterion.id}: threshold: {threshold(criterion, values, factor):g}"
            f"  # mean {stats.mean(values):.4g} of {len(values)} runs ± {variation:.0f} %, {machine}; × {factor:g}"
        )
    return out


def main() -> None:
    """Print the proposals."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("reports", nargs="+", type=Path, help="report.json files, or their folders")
    parser.add_argument("--factor", type=float, default=0.5, help="share of the mean that still passes")
    parser.add_argument(
        "--machine", default=f"{os.cpu_count()} cores", help="what kind of machine, for the comment"
    )
    args = parser.parse_args()
    for line in lines([Report.load(p) for p in args.reports], args.factor, args.machine):
        print(line)


if __name__ == "__main__":
    main()
