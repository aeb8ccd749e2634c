"""Verification of a report: every hash, every measured value, every verdict, computed again from the raw files."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from pathlib import Path

from avadm_validation.protocol.criteria import Criteria
from avadm_validation.protocol.evidence import sha256
from avadm_validation.protocol.judge import check_verdict, deciding
from avadm_validation.protocol.load import FILE, between, parse
from avadm_validation.protocol.manifest import Manifest, around, digest
from avadm_validation.protocol.model import CheckResult, Metric, Report, Sample, Verdict
from avadm_validation.protocol.verdict import measured

Inputs = Mapping[str, list[str]]
UNMEASURED = (Verdict.BLOCKED, Verdict.NOT_RUN, Verdict.INCONCLUSIVE, Verdict.FAIL)
"""Verdicts that a check without metrics may have."""
Compute = Callable[[str, Inputs, Mapping[str, float | str]], float]
Facts = Callable[[str, Inputs, Mapping[str, float | str]], tuple[float, float | None]]


def verify(report: Report, folder: Path, compute: Compute, facts: Facts, criteria: Criteria) -> list[str]:
    """Return what does not agree, in sentences; empty for a report that proves itself.

    Args:
        report: what was claimed.
        folder: where it and its raw files lie.
        compute: the suite's function (name, texts, parameters) → number; KeyError for an unknown name.
        facts: the suite's function (the same arguments) → seconds measured, files that the sample is for or None.
        criteria: what this avadm ships for the report's class: a criterion that was edited shows.
    """
    try:
        manifest = Manifest.load(folder)
    except (OSError, ValueError) as e:
        why = f"there is no manifest of the run: {e} (removed, or written by an older avadm)"
        return [*_evidence(report, folder), why]
    return [
        *_evidence(report, folder),
        *_complete(report, folder, manifest),
        *(p for c in report.checks for m in c.metrics for p in _metric(c, m, folder, compute, facts)),
        *(p for check in report.checks for p in _check(check, manifest)),
        *_machine(report, folder),
        *_criteria(report, criteria),
        *_words(report, manifest),
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


def _complete(report: Report, folder: Path, manifest: Manifest) -> list[str]:
    """Every check of the run is in the report, in its place, and measured all that is there of it."""
    there, ran = [c.id for c in report.checks], [c.id for c in manifest.checks]
    problems = [f"{c}: was run, but is not in the report" for c in ran if c not in there]
    problems += [f"{c}: is in the report, but was not run" for c in there if c not in ran]
    if not problems and there != ran:
        problems.append(
            f"the checks are {', '.join(there)} in the report, {', '.join(ran)} in the run's manifest"
        )
    folders = {p.name for p in (folder / "raw").iterdir() if p.is_dir()} - {"guard", "machine"}
    problems += [f"{f}: has raw files, but is not in the report" for f in sorted(folders - set(there))]
    problems += [
        f"{c.id}: was measured, but has no raw files"
        for c in report.checks
        if c.metrics and c.id not in folders
    ]
    return problems


def _repeated(where: str, samples: list[Sample]) -> list[str]:
    """The same raw numbers cannot be two repetitions, and none may be picked."""
    seen = [(s.extract, s.inputs, {k: v for k, v in s.params.items() if k != "files"}) for s in samples]
    problems = [f"{where}: sample {i + 1} is there twice" for i, s in enumerate(seen) if s in seen[:i]]
    numbers = [s.params["repetition"] for s in samples if "repetition" in s.params]
    if numbers != sorted(numbers, key=float):
        problems.append(f"{where}: the repetitions are not in order")
    return problems


def _metric(check: CheckResult, metric: Metric, folder: Path, compute: Compute, facts: Facts) -> list[str]:
    where = f"{check.id}.{metric.name}"
    problems = _repeated(where, metric.samples)
    for i, sample in enumerate(metric.samples):
        strange = [p for ps in sample.inputs.values() for p in ps if not p.startswith(f"raw/{check.id}/")]
        problems += [
            f"{where}: sample {i + 1} is computed from {p}, which is not the check's" for p in strange
        ]
        try:
            texts = {
                group: [(folder / p).read_text(encoding="utf-8") for p in paths if _inside(folder, p)]
                for group, paths in sample.inputs.items()
            }
            value = compute(sample.extract, texts, sample.params)
            seconds, files = facts(sample.extract, texts, sample.params)
        except KeyError:
            problems.append(f"{where}: sample {i + 1} names an unknown function {sample.extract!r}")
            continue
        except (OSError, UnicodeDecodeError) as e:
            problems.append(f"{where}: sample {i + 1} cannot be computed: {e}")
            continue
        for what, claimed, found in (
            ("", sample.value, value),
            ("'s seconds", sample.seconds, seconds),
            ("'s files", sample.params.get("files"), files),
        ):
            if not _same(found, claimed):
                problems.append(
                    f"{where}: sample {i + 1}{what} is {claimed} in the report, {found} by its raw files"
                )
    again = measured(metric, metric.criterion, check.class_, check.machine)
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


def _check(check: CheckResult, manifest: Manifest) -> list[str]:
    """The verdict is the worst of the metrics' and the check's own, the headline that of the deciding metric."""
    computed = check_verdict(check.id, check.metrics, manifest.own(check.id))
    if check.verdict is not computed:
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


def _machine(report: Report, folder: Path) -> list[str]:
    """The load that a verdict allowed for is that of the raw file of the run."""
    claimed = [c for c in report.checks if c.machine]
    if not claimed:
        return []
    try:
        looks = parse((folder / FILE).read_text(encoding="ascii"))
    except (OSError, ValueError) as e:
        return [f"{FILE}: the load of the machine cannot be computed: {e}"]
    return [
        f"{c.id}: the load of the machine is another in the report than by its raw file"
        for c in claimed
        if c.machine and between(looks, c.machine.began, c.machine.ended) != c.machine
    ]


def _words(report: Report, manifest: Manifest) -> list[str]:
    """What no number tells (method, reasons, the specification's numbers, effort, class, notes) agrees with the manifest."""
    digests = {c.id: c.sha256 for c in manifest.checks}
    problems = [
        f"{c.id}: differs from what the run noted when it ended (method, reasons, any other field)"
        for c in report.checks
        if digests.get(c.id) not in (None, digest(c))
    ]
    if around(report) != manifest.report:
        problems.append("the report's head (site, class, effort, times, versions, notes) was edited")
    return problems


def _criteria(report: Report, criteria: Criteria) -> list[str]:
    problems = []
    if report.config_hash != criteria.digest():
        problems.append("config_hash is not that of this avadm's criteria")
    for check in report.checks:
        if not check.metrics and check.verdict in UNMEASURED:
            continue  # nothing was measured; that the check reported so itself is in the manifest
        used = {m.criterion.id: m.criterion for m in check.metrics if m.criterion}
        for wanted in criteria.needed(check.id):
            if wanted.id not in used:
                problems.append(f"{wanted.id}: was not judged; this avadm's criteria ask for it")
            elif used[wanted.id] != wanted:
                problems.append(
                    f"{wanted.id}: differs from this avadm's criteria ({wanted.op} {wanted.threshold:g})"
                )
    return problems
