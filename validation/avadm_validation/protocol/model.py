"""The data that acceptance is made of: criteria, samples, metrics, checks, the report.

``report.json`` is ``Report.model_dump(by_alias=True)``; everything a reader or a renderer needs is in it, and
every path in it is relative to the folder that it lies in. Measured numbers can be computed again from the raw
files that a ``Sample`` names (``verify``), so the report proves itself.
"""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Literal

from pydantic import AliasChoices, Field

from avadm_validation.protocol.criterion import Class as Class
from avadm_validation.protocol.criterion import Criterion as Criterion
from avadm_validation.protocol.criterion import Model as Model
from avadm_validation.protocol.criterion import Op as Op
from avadm_validation.protocol.load import Machine


class Verdict(StrEnum):
    """What a check came to (acceptance.md 2.3.5); the value is what people are shown."""

    PASS = "PASS"  # noqa: S105
    FAIL = "FAIL"
    INCONCLUSIVE = "INCONCLUSIVE"
    BLOCKED = "BLOCKED"
    PROJECTED = "PROJECTED"
    EXCEPTED = "EXCEPTED"
    NOT_RUN = "NOT RUN"


GOOD = (Verdict.PASS, Verdict.PROJECTED, Verdict.EXCEPTED)
"""Verdicts that leave nothing to do."""


class Sample(Model):
    """One repetition's value of a metric, with where it came from."""

    value: float
    """The number, in the metric's unit; NaN where the raw data hold none."""
    seconds: float = 0.0
    """How long was measured, warm-up excluded."""
    started: float = 0.0
    """Epoch seconds, controller's clock."""
    extract: str
    """Name of the pure function (suites' ``EXTRACTORS``) that computed the value from the inputs."""
    inputs: dict[str, list[str]] = Field(default_factory=dict)
    """Raw files it was computed from, by group, relative to the report's folder."""
    params: dict[str, float | str] = Field(default_factory=dict)
    """Further arguments of the function."""


class Metric(Model):
    """All samples of one thing, with their statistics and (if a criterion names it) a verdict."""

    name: str
    """Name inside the check, e.g. ``create``."""
    title: str
    """For people."""
    title_zh: str = ""
    """The same in Chinese."""
    unit: str
    """Unit of every number here."""
    scope: str
    """aggregate, client or cluster."""
    samples: list[Sample] = Field(default_factory=list)
    """The repetitions, in order."""
    mean: float | None = None
    """Mean of the samples."""
    ci95: tuple[float, float] | None = None
    """95 % confidence interval of the mean (Student's t), None with fewer than two samples."""
    cov: float | None = None
    """Coefficient of variation (standard deviation / mean)."""
    flags: list[str] = Field(default_factory=list)
    """E.g. ``unstable`` (CoV above 10 %), ``too-short``."""
    criterion: Criterion | None = None
    """What judged it; None for a metric that only informs."""
    verdict: Verdict | None = None
    """None without a criterion."""
    reason: str = ""
    """Why that verdict, in a sentence with the numbers."""


class Series(Model):
    """Points for a plot: a course over time, or scaling with clients."""

    name: str
    """Name of the line; lines of one ``group`` belong in one picture."""
    group: str
    """Picture that the line belongs to, e.g. ``create throughput over time``."""
    kind: Literal["time", "scaling"]
    """What x is: seconds since the start, or a count of clients or files."""
    x_label: str
    """Label of x."""
    x_unit: str
    """Unit of x."""
    y_label: str
    """Label of y."""
    y_unit: str
    """Unit of y."""
    points: list[tuple[float, float]]
    """(x, y) in order of x."""
    log_x: bool = False
    """Whether x is best drawn logarithmically."""
    log_y: bool = False
    """Whether y is best drawn logarithmically."""


class Command(Model):
    """One command that ran on a node."""

    node: str
    """Where."""
    command: str
    """The shell command line."""
    started: float
    """Epoch seconds, controller's clock."""
    seconds: float
    """Wall time."""
    rc: int
    """Exit status."""
    stdout_path: str | None = None
    """Its standard output, relative to the report's folder; None where nothing was printed."""


class Stated(Model):
    """The specification's own number beside what was judged here."""

    threshold: float
    """The number."""
    unit: str
    """Its unit."""
    text: str
    """The target in words."""
    text_zh: str = ""
    """The same in Chinese."""
    judged: bool
    """Whether this run judged it; False in class lab ("not judged here")."""


class CheckResult(Model):
    """One check of the report. The fields up to ``ci95`` are those of the metric that decided."""

    id: str
    """Requirement id, e.g. ``A-FS1``, or ``preconditions``."""
    title: str
    """For people."""
    title_zh: str = ""
    """The same in Chinese."""
    verdict: Verdict
    """The worst of its metrics' verdicts."""
    measured: float | None = None
    """Mean of the deciding metric."""
    unit: str = ""
    """Unit of measured, threshold and ci95."""
    threshold: float | None = None
    """Threshold of the deciding criterion."""
    op: Op | None = None
    """Operator of the deciding criterion."""
    scope: str = ""
    """Scope of the deciding criterion."""
    ci95: tuple[float, float] | None = None
    """95 % confidence interval of measured (a prediction interval where the verdict is PROJECTED)."""
    method: str = ""
    """How it was measured: tool, sizes, clients, seconds, repetitions, caches."""
    class_: Class = Field(validation_alias=AliasChoices("class", "class_"), serialization_alias="class")
    """Class of the numbers."""
    stated: Stated | None = None
    """The specification's number."""
    metrics: list[Metric] = Field(default_factory=list)
    """Everything measured, judged ones first."""
    series: list[Series] = Field(default_factory=list)
    """Points for plots."""
    commands: list[Command] = Field(default_factory=list)
    """Every command that ran for it."""
    evidence: list[str] = Field(default_factory=list)
    """Raw files, relative to the report's folder."""
    reasons: list[str] = Field(default_factory=list)
    """Why this verdict; what was left out and why."""
    remedy: str = ""
    """What to do when it is not PASS."""
    started: str = ""
    """ISO 8601, UTC."""
    seconds: float = 0.0
    """Wall time of the check."""
    machine: Machine | None = None
    """Load of the controller's machine meanwhile; None where the check did not measure."""


class Report(Model):
    """A whole acceptance run: ``report.json``."""

    version: Literal[1] = 1
    """Version of this format."""
    site: str
    """Name of the site."""
    profile: str
    """Version profile of the site."""
    suite: str = "storage"
    """Suite that ran."""
    effort: str = "full"
    """``quick`` or ``full``."""
    class_: Class = Field(validation_alias=AliasChoices("class", "class_"), serialization_alias="class")
    """Class of the run's numbers."""
    started: str
    """ISO 8601, UTC."""
    finished: str
    """ISO 8601, UTC."""
    seed: int
    """Seed of every random choice of the run."""
    versions: dict[str, str]
    """Component to version, as read from what runs."""
    git_commit: str
    """Commit of avadm that measured ("" where unknown; ends in ``-dirty`` with local changes)."""
    config_hash: str
    """sha256 of the criteria that judged."""
    inventory_hash: str
    """sha256 of the site file."""
    environment: dict[str, str]
    """What the numbers depend on: clients, cores, memory, kernel, OSDs, replicas, network."""
    notes: list[str]
    """What a reader must know, e.g. the risk of min_size 1."""
    checks: list[CheckResult]
    """In the suite's order, preconditions first."""
    evidence: dict[str, str] = Field(default_factory=dict)
    """sha256 of every raw file, by path relative to the report's folder."""

    @property
    def counts(self) -> dict[Verdict, int]:
        """Number of checks per verdict, every verdict present."""
        return {v: sum(c.verdict is v for c in self.checks) for v in Verdict}

    @property
    def good(self) -> bool:
        """Whether every check passed, was projected to pass, or fails only where that is excepted."""
        return bool(self.checks) and all(c.verdict in GOOD for c in self.checks)

    def dump(self, folder: Path) -> Path:
        """Write ``report.json`` into a folder and return its path."""
        path = folder / "report.json"
        path.write_text(self.model_dump_json(by_alias=True, indent=1) + "\n", encoding="utf-8")
        return path

    @classmethod
    def load(cls, path: Path) -> Report:
        """Read a report.json, or the folder holding one.

        Raises:
            OSError: it cannot be read.
            pydantic.ValidationError: it is not a report.
        """
        if path.is_dir():
            path = path / "report.json"
        return cls.model_validate_json(path.read_text(encoding="utf-8"))
