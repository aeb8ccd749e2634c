"""From raw tool output to numbers: pure functions by name, used when measuring and again by ``verify``."""

from __future__ import annotations

import math

from avadm_validation.suites.alluxio.extract import EXTRACTORS as CACHE
from avadm_validation.suites.cis.extract import EXTRACTORS as CIS
from avadm_validation.suites.kubernetes.extract import EXTRACTORS as KUBERNETES
from avadm_validation.suites.kubernetes.extract_limits import EXTRACTORS as LIMITS
from avadm_validation.suites.kubernetes.extract_volumes import EXTRACTORS as VOLUMES
from avadm_validation.suites.logs.extract import EXTRACTORS as LOGS
from avadm_validation.suites.objects.extract import EXTRACTORS as OBJECTS
from avadm_validation.suites.objects.extract import s3_seconds
from avadm_validation.suites.storage.extract.cluster import (
    busy_pgs,
    healthy,
    least_avail,
    osds_down,
    ready,
    skew,
    versions,
)
from avadm_validation.suites.storage.extract.fio import fio, fio_latency, fio_seconds
from avadm_validation.suites.storage.extract.raw import contains, equals, length, number
from avadm_validation.suites.storage.extract.series import (
    counted,
    dumped,
    files_that_fit,
    growth,
    held_out,
    held_out_used,
    inodes_fit,
)
from avadm_validation.suites.storage.extract.types import Extractor, Inputs, Params
from avadm_validation.suites.storage.extract.windows import (
    errors,
    lasted,
    latency,
    latency_ratio,
    least_share,
    made,
    made_share,
    missing,
    rate,
    scaling,
)

EXTRACTORS: dict[str, Extractor] = (
    {
        f.__name__: f
        for f in (
            number,
            equals,
            contains,
            length,
            rate,
            least_share,
            scaling,
            latency,
            latency_ratio,
            errors,
            made,
            made_share,
            missing,
            growth,
            held_out,
            files_that_fit,
            dumped,
            inodes_fit,
            held_out_used,
            busy_pgs,
            healthy,
            osds_down,
            versions,
            skew,
            least_avail,
            ready,
            fio,
            fio_latency,
            fio_seconds,
        )
    }
    | KUBERNETES
    | VOLUMES
    | LIMITS
    | CIS
    | OBJECTS
    | LOGS
    | CACHE
)


def compute(name: str, inputs: Inputs, params: Params) -> float:
    """Return a function's number; NaN where the raw texts are not what it reads; KeyError for an unknown name."""
    function = EXTRACTORS[name]
    try:
        return function(inputs, params)
    except (ArithmeticError, LookupError, TypeError, ValueError, AttributeError):
        return math.nan


def facts(name: str, inputs: Inputs, params: Params) -> tuple[float, float | None]:
    """Return what a sample's raw files say beside its value: seconds measured, and files that it is for (a series).

    Seconds are 0 and files None where a function knows of none.
    """
    try:
        if name in ("rate", "least_share", "scaling", "latency", "latency_ratio"):
            return min(lasted(texts, int(params.get("repetition", 0))) for texts in inputs.values()), None
        if name in ("fio", "fio_latency"):
            return fio_seconds(inputs, params), None
        if name == "s3_rate":
            return s3_seconds(inputs), None
        if "made" in inputs:
            return 0.0, counted(inputs)[-1]
    except (ArithmeticError, LookupError, TypeError, ValueError, AttributeError):
        return math.nan, None
    return 0.0, None
