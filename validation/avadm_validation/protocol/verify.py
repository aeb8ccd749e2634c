"""Verification of a report: every hash, every measured value, every verdict, computed again from the raw files."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from pathlib import Path

from avadm_validation.protocol.criteria import Criteria
from avadm_validation.protocol.evidence import sha256
from avadm_validation.protocol.judge import deciding, verdict_of
from avadm_validation.protocol.model import CheckResult, Metric, Report, Verdict
from avadm_validation.protocol.verdict import measured

Compute = Callable[[str, Mapping[str, list[str]], Mapping[str, float | str]], float]


def verify(report: Report, folder: Path, compute: Compute, criteria: Criteria) -> list[str]:
    """Return what does not agree, in sentences; empty for a report that proves itself.

    Args:
        report: what was claimed.
        folder: where it and its raw files lie.
        compute: the suite's function (name, texts, parameters) → number; KeyError for an unknown name.
        criteria: what this avadm ships for the report's class: a criterion that was edited shows.
    """
    return [
        *_evidence(report, folder),
        *(p for check in report.checks for m in check.metrics for p in _metric(check, m, folder, compute)),
        *(p for check in report.checks for p in _check(check)),
        *_criteria(report, criteria),
    ]


def _inside(folder: Path, relative: str) -> bool:
    return (folder / relative).resolve().is_relative_to(folder.resolve())


def _evidence(report: Report, folder: Path) -> list[str]:
    problems = []
    for relative, wanted in report.evidence.items():
        path = folder / relative
        if not _inside(folder, relative):
            problems.append(f"{relative}: lies outside the report's folder")
        elif not path.is_file():
            problems.append(f"{relative}: is missing")
        elif sha256(path) != wanted:
            problems.append(f"{relative}: was changed after it was written (sha256 differs)")
    raw = {p.relative_to(folder).as_posix() for p in (folder / "raw").rglob("*") if p.is_file()}
    problems += [f"{p}: is not named in the report" for p in sorted(raw - report.evidence.keys())]
    return problems


def _metric(check: CheckResult, metric: Metric, folder: Path, compute: Compute) -> list[str]:
    where = f"{check.id}.{metric.name}"
    problems = []
    for i, sample in enumerate(metric.samples):
        try:
            texts = {
                group: [(folder / p).read_text(encoding="utf-8") for p in paths if _inside(folder, p)]
                for group, paths in sample.inputs.items()
            }
            value = compute(sample.extract, texts, sample.params)
        except KeyError:
            problems.append(f"{where}: sample {i + 1} names an unknown function {sample.extract!r}")
            continue
        except (OSError, UnicodeDecodeError) as e:
            problems.append(f"{where}: sample {i + 1} cannot be computed: {e}")
            continue
        claimed = sample.value
        if not _same(value, claimed):
            problems.append(f"{where}: sample {i + 1} is {claimed} in the report, {value} by its raw files")
    again = measured(metric, metric.criterion)
    problems += [
        f"{where}: {name} is {getattr(metric, name)} in the report, {getattr(again, name)} when computed"
        for name in ("mean", "ci95", "cov", "verdict")
        if not _same(getattr(metric, name), getattr(again, name))
    ]
    return problems


def _same(a: object, b: object) -> bool:
    if isinstance(a, float) and isinstance(b, float):
        return math.isclose(a, b, rel_tol=1e-9, abs_tol=1e-12) or (math.isnan(a) and math.isnan(b))
    if isinstance(a, tuple) and isinstance(b, tuple):
        return len(a) == len(b) and all(_same(x, y) for x, y in zip(a, b, strict=True))
    return a == b


def _check(check: CheckResult) -> list[str]:
    """The headline must be that of the deciding metric; only a worse verdict than computed may be claimed."""
    computed = verdict_of(check.metrics)
    kept = (Verdict.BLOCKED, Verdict.NOT_RUN, Verdict.INCONCLUSIVE)
    if check.verdict is not computed and check.verdict not in kept:
        return [f"{check.id}: the verdict is {check.verdict} in the report, {computed} when computed"]
    head = deciding(check.metrics)
    if head is None:
        return []
    problems = []
    pairs = [
        ("measured", check.measured, head.mean),
        ("ci95", check.ci95, head.ci95),
        ("unit", check.unit, head.unit),
    ]
    if head.criterion:
        pairs += [
            ("threshold", check.threshold, head.criterion.threshold),
            ("op", check.op, head.criterion.op),
        ]
    for name, claimed, value in pairs:
        if not _same(claimed, value):
            problems.append(f"{check.id}: {name} is {claimed} in the report, {value} when computed")
    return problems


def _criteria(report: Report, criteria: Criteria) -> list[str]:
    problems = []
    for check in report.checks:
        if check.verdict in (Verdict.BLOCKED, Verdict.NOT_RUN) and not check.metrics:
            continue
        used = {m.criterion.id: m.criterion for m in check.metrics if m.criterion}
        for wanted in criteria.needed(check.id):
            if wanted.id not in used:
                problems.append(f"{wanted.id}: was not judged; this avadm's criteria ask for it")
            elif used[wanted.id] != wanted:
                problems.append(
                    f"{wanted.id}: differs from this avadm's criteria ({wanted.op} {wanted.threshold:g})"
                )
    return problems
