"""A criterion: when is a metric good enough, and what its threshold is derived from."""

from __future__ import annotations

from typing import Literal

from pydantic import AliasChoices, BaseModel, ConfigDict, Field

Op = Literal[">=", "<=", "=="]
Rule = Literal["mean", "each", "projected"]
Class = Literal["site-full", "site-sampled", "lab", "simulated"]


class Model(BaseModel):
    """Base: unknown keys are errors, nothing changes after it was made."""

    model_config = ConfigDict(
        extra="forbid",
        frozen=True,
        populate_by_name=True,
        use_attribute_docstrings=True,
        ser_json_inf_nan="strings",
    )


class LabRange(Model):
    """What healthy labs measured, and what a planted fault leaves: a threshold of class lab lies between the two."""

    worst: float
    """The worst mean of a healthy lab's run (with rule ``each`` its worst value), a busy machine's included."""
    cov: float = 0.0
    """The largest coefficient of variation of such a run's repetitions; 0 where there are none."""
    faulty: float | None = None
    """The best that the metric's negative control lets through; None where there is none."""


class Criterion(Model):
    """One line of a criteria file: when is a metric good enough."""

    id: str
    """Identifier, ``CHECK.METRIC``, e.g. ``A-FS1.create``."""
    check: str
    """Check that it judges, e.g. ``A-FS1``."""
    metric: str
    """Metric of that check."""
    unit: str
    """Unit of metric and threshold, e.g. ``files/s``."""
    op: Op
    """How measured compares with the threshold; a closed set, nothing is evaluated."""
    threshold: float
    """The number."""
    rule: Rule = "mean"
    """``mean``: the 95 % confidence interval of the mean decides; ``each``: every sample must hold (counts);
    ``projected``: the samples are a growth series (``params["files"]`` = n), projected to the threshold."""
    scope: Literal["aggregate", "client", "cluster"]
    """Whether the number is of all clients together, of one client, or of the cluster."""
    method: str
    """How it is measured, in a phrase."""
    min_duration_s: float = 0.0
    """A sample shorter than this (seconds) does not count: the verdict is INCONCLUSIVE."""
    repetitions: int = Field(default=1, ge=1)
    """Samples needed; fewer: INCONCLUSIVE."""
    class_: Class = Field(validation_alias=AliasChoices("class", "class_"), serialization_alias="class")
    """Class of the criterion."""
    text: str = ""
    """The target in words."""
    text_zh: str = ""
    """The same in Chinese."""
    excepted: str = ""
    """Why it may fail here; empty where it may not: what is measured and fails is then EXCEPTED, never PASS."""
    load_dependent: bool = False
    """Whether a busy machine changes the number although its unit does not tell (a time divided by its limit)."""
    seen: LabRange | None = None
    """What the threshold is derived from; every criterion of class lab that a mean judges has it, and times that are measured."""

    @property
    def depends_on_load(self) -> bool:
        """Whether the number depends on how fast the lab's machine is; a site's limits are the specification's."""
        timed = self.unit in ("s", "ms") or self.unit.endswith("/s")
        return self.class_ == "lab" and self.op != "==" and (timed or self.load_dependent)
