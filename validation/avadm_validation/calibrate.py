"""Proposes lab thresholds from repeated runs: ``python -m avadm_validation.calibrate REPORT.json... [--factor 0.35]``.

For each criterion of the lab that is judged by a mean, it prints what belongs under ``seen`` (the worst run's mean, the largest
variation of a run's repetitions), and factor × that mean (for ``<=``: mean / factor), rounded to two digits. For each time of
which every sample must hold it prints the worst, and twice that.
Run it on at least five reports, some of a busy machine: a limit of a quiet one is no limit of the lab's. Write down which.
"""

from __future__ import annotations

import argparse
import math
import os
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from statistics import fmean

from avadm_validation.protocol.criteria import parse, source
from avadm_validation.protocol.model import Criterion, Report


def runs(reports: Sequence[Report]) -> dict[str, list[tuple[float, float]]]:
    """Return each metric's mean and variation of each run, by ``CHECK.METRIC``."""
    found: dict[str, list[tuple[float, float]]] = defaultdict(list)
    for report in reports:
        for check in report.checks:
            for metric in check.metrics:
                if metric.mean is not None:
                    found[f"{check.id}.{metric.name}"].append((metric.mean, metric.cov or 0.0))
    return found


def threshold(criterion: Criterion, worst: float, factor: float) -> float:
    """Return the proposed threshold, rounded to two digits to the lenient side."""
    at_least = criterion.op == ">="
    value = worst * factor if at_least else worst / factor
    scale = 10 ** (math.floor(math.log10(value)) - 1) if value > 0 else 1.0
    return float((math.floor if at_least else math.ceil)(value / scale) * scale)


def is_time(criterion: Criterion) -> bool:
    """Tell whether a criterion is of a time that no sample may exceed."""
    return criterion.rule == "each" and criterion.op == "<=" and criterion.unit in ("s", "ms")


def lines(reports: Sequence[Report], factor: float, machine: str) -> list[str]:
    """Return a line for each criterion that a mean judges, and for each time that no sample may exceed."""
    found, out = runs(reports), []
    for criterion in parse(source("lab"), "lab"):
        seen = found.get(criterion.id, [])
        if criterion.rule != "mean" and not is_time(criterion):
            continue
        if len(seen) < 2:
            out.append(f"{criterion.id}: measured {len(seen)} times; two runs are the least")
            continue
        values = [mean for mean, _ in seen]
        worst, cov = (min if criterion.op == ">=" else max)(values), max(c for _, c in seen)
        share, more = (0.5, "") if is_time(criterion) else (factor, f", cov: {cov:.2f}")
        out.append(
            f"{criterion.id}: threshold: {threshold(criterion, worst, share):g}, seen: {{worst: {worst:.3g}{more}}}"
            f"  # {len(seen)} runs, mean {fmean(values):.4g}, {machine}; × {share:g}"
        )
    return out


def main() -> None:
    """Print the proposals."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("reports", nargs="+", type=Path, help="report.json files, or their folders")
    parser.add_argument(
        "--factor", type=float, default=0.35, help="share of the worst mean that still passes"
    )
    parser.add_argument(
        "--machine", default=f"{os.cpu_count()} cores", help="what kind of machine, for the comment"
    )
    args = parser.parse_args()
    for line in lines([Report.load(p) for p in args.reports], args.factor, args.machine):
        print(line)


if __name__ == "__main__":
    main()
